//! A hash table in parts that grow one at a time, each by half: growing takes little more memory than
//! the table itself. Parts begin with different numbers of slots, so that some have just grown and some
//! are nearly full at any time: about two slots in three are used.
//!
//! A part is an array of slots with linear probing. The place of a slot is proportional to its hash,
//! so that a part that grows is read and written in order. Hashes are keyed: keys cannot be
//! crafted to collide.

use acsm_filters::memory::prefetch;

/// What a [`Table`] holds: a key, and what is known of it.
pub trait Slot: Copy {
    /// What tells slots apart.
    type Key: Copy + Eq;
    /// A slot without a key.
    const VACANT: Self;

    /// Whether there is no key in it.
    fn is_vacant(&self) -> bool;
    /// Its key, if there is one.
    fn key(&self) -> Self::Key;
}

/// Slots by key.
#[derive(Debug)]
pub struct Table<S> {
    parts: Vec<Part<S>>,
}

#[derive(Debug)]
struct Part<S> {
    slots: Vec<S>,
    used: usize,
    /// How many slots it has once it has any.
    first_slots: usize,
}

const PARTS: usize = 1 << PART_BITS;
const PART_BITS: u32 = 6;

impl<S> Default for Table<S> {
    fn default() -> Self {
        let part = |n| Part { slots: Vec::new(), used: 0, first_slots: PARTS + n / 2 };
        Table { parts: (0..PARTS).map(part).collect() }
    }
}

impl<S: Slot> Table<S> {
    /// The slots that have a key, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &S> {
        self.parts.iter().flat_map(|part| &part.slots).filter(|slot| !slot.is_vacant())
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.used).sum()
    }

    /// Starts loading the slot of the key with this hash.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        if let Some(part) = self.parts.get(part_of(hash)) {
            prefetch(part.slots.get(part.home(hash)));
        }
    }

    /// The slot of `key`, which has this hash; `new` if it is not in the table yet. `hash_of` gives
    /// the hashes of other keys, if slots must be moved.
    #[inline]
    pub fn get_or_insert(
        &mut self,
        hash: u64,
        key: S::Key,
        new: S,
        hash_of: impl Fn(S::Key) -> u64,
    ) -> Option<&mut S> {
        self.parts.get_mut(part_of(hash))?.get_or_insert(hash, key, new, hash_of)
    }
}

#[inline]
fn part_of(hash: u64) -> usize {
    (hash >> (u64::BITS - PART_BITS)) as usize
}

impl<S: Slot> Part<S> {
    /// Where the search for a key with this hash begins.
    #[inline]
    fn home(&self, hash: u64) -> usize {
        let fraction = hash << PART_BITS >> 32;
        ((fraction * self.slots.len() as u64) >> 32) as usize
    }

    #[inline]
    fn get_or_insert(
        &mut self,
        hash: u64,
        key: S::Key,
        new: S,
        hash_of: impl Fn(S::Key) -> u64,
    ) -> Option<&mut S> {
        let mut found = self.find(hash, key);
        if self.slots.get(found).is_none_or(Slot::is_vacant) {
            if self.used >= self.slots.len() / 5 * 4 {
                self.grow(hash_of);
                found = self.find(hash, key);
            }
            self.used += 1;
            *self.slots.get_mut(found)? = new;
        }
        self.slots.get_mut(found)
    }

    /// The slot of a key, or the vacant one to put it in. Of a part without slots, the first.
    #[inline]
    fn find(&self, hash: u64, key: S::Key) -> usize {
        let mut n = self.home(hash);
        // It ends: a part that has slots has a vacant one.
        while let Some(slot) = self.slots.get(n) {
            if slot.is_vacant() || slot.key() == key {
                break;
            }
            n = if n + 1 < self.slots.len() { n + 1 } else { 0 };
        }
        n
    }

    /// Makes room for half as many slots again.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, hash_of: impl Fn(S::Key) -> u64) {
        let len = (self.slots.len() + self.slots.len() / 2).max(self.first_slots);
        let old = std::mem::replace(&mut self.slots, vec![S::VACANT; len]);
        for slot in old.iter().filter(|slot| !slot.is_vacant()) {
            let place = self.find(hash_of(slot.key()), slot.key());
            if let Some(to) = self.slots.get_mut(place) {
                *to = *slot;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acsm_filters::digest::HashKey;

    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Count(u64, u32);

    impl Slot for Count {
        type Key = u64;
        const VACANT: Count = Count(0, 0);
        fn is_vacant(&self) -> bool {
            self.1 == 0
        }
        fn key(&self) -> u64 {
            self.0
        }
    }

    fn check(hash_of: impl Fn(u64) -> u64 + Copy, keys: u64) {
        let mut table = Table::default();
        for n in (0..keys).chain(0..keys / 3) {
            table.prefetch(hash_of(n));
            let new = Count(n, 1);
            let slot = table.get_or_insert(hash_of(n), n, new, hash_of).unwrap();
            assert_eq!(slot.0, n);
            slot.1 += 1;
        }
        let mut found: Vec<Count> = table.iter().copied().collect();
        found.sort_unstable_by_key(|count| count.0);
        let expected: Vec<Count> =
            (0..keys).map(|n| Count(n, 2 + u32::from(n < keys / 3))).collect();
        assert_eq!(found, expected);
        assert_eq!(table.len() as u64, keys);
        let slots: usize = table.parts.iter().map(|part| part.slots.len()).sum();
        assert!(keys < 5000 || slots as u64 <= keys * 7 / 4, "{slots} slots for {keys} keys");
    }

    #[test]
    fn every_key_has_one_slot() {
        let key = HashKey::from_seed(3);
        for keys in [0, 1, 7, 100, 20_000] {
            check(|n| key.digest([n]) as u64, keys);
        }
    }

    #[test]
    fn keys_with_one_hash_have_slots_of_their_own() {
        for hash in [0, u64::MAX, 1 << 57] {
            check(|_| hash, 300);
        }
    }
}
