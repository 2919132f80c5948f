//! Which 5-tuples were seen lately: two generations of a Bloom filter, one word a key.
//!
//! A key is in the younger generation or the older one. When the younger is full or has had its
//! time, the older is emptied and takes its place. Both words of a key lie side by side, so that a
//! packet costs one memory access. A key is remembered for one to two periods, or while one to
//! two times the capacity of other keys come by. It is kept small enough for a second-level cache:
//! a flow that is forgotten costs time, not alerts, as its next answer clears it. A false "seen"
//! (3 to 7 %, the older or both generations full) makes a probe go uncounted.

use acsm_filters::memory::prefetch;
use acsm_filters::memory::{Arena, Table};

/// A generation is full with so many keys per 64-bit word on average.
const KEYS_PER_BLOCK: usize = 8;

/// So many hashes are kept as settled: what is under way at a time, not what there is.
const SETTLED: usize = 1024;

/// The words of both generations.
#[derive(Debug, Clone, Copy, Default)]
struct Block {
    young: u64,
    old: u64,
}

/// A memory of hashes, of fixed size.
#[derive(Debug)]
pub(super) struct Recent {
    blocks: Table<Block>,
    /// Some hashes of the young generation of which nothing else is to be known, each in its one
    /// place; a place of none has a hash of another place.
    settled: Box<[u64; SETTLED]>,
    /// Their number less 1.
    block_mask: usize,
    keys_in_young: usize,
    period_nanos: u64,
    rotate_at_nanos: u64,
}

impl Recent {
    /// A memory for `keys` per generation of at most `period_nanos`.
    pub fn new_in(arena: &Arena, keys: usize, period_nanos: u64) -> Self {
        let blocks = keys.div_ceil(KEYS_PER_BLOCK).next_power_of_two();
        Recent {
            blocks: arena.small_table(blocks, Block::default()),
            settled: Box::new(NONE_SETTLED),
            block_mask: blocks - 1,
            keys_in_young: 0,
            period_nanos: period_nanos.max(1),
            rotate_at_nanos: 0,
        }
    }

    /// When [`Recent::rotate`] is due next.
    #[inline]
    pub fn rotate_at_nanos(&self) -> u64 {
        self.rotate_at_nanos
    }

    /// Forgets what has had its time. A gap of two periods or more forgets everything.
    #[cold]
    pub fn rotate(&mut self, now_nanos: u64) {
        let late = now_nanos.saturating_sub(self.rotate_at_nanos) >= self.period_nanos;
        self.turn();
        if late {
            self.turn();
        }
        self.rotate_at_nanos = now_nanos.saturating_add(self.period_nanos);
    }

    /// Remembers a hash; true if it was remembered already.
    #[inline(always)] // every packet's
    pub fn touch(&mut self, hash: u64) -> bool {
        let at = self.block_of(hash);
        let Some(block) = self.blocks.get_mut(at) else { return false };
        let bits = word_of(hash);
        if block.young & bits == bits {
            return true;
        }
        let known = block.old & bits == bits;
        block.young |= bits;
        self.keys_in_young += 1;
        if self.keys_in_young > self.blocks.len() * KEYS_PER_BLOCK {
            self.turn();
        }
        known
    }

    /// Whether a hash was settled, and nothing came since that unsettles it. To touch it would change
    /// nothing, and would say that it is known.
    #[inline(always)]
    pub fn is_settled(&self, hash: u64) -> bool {
        self.settled[hash as usize % SETTLED] == hash
    }

    /// Takes note that nothing else is to be known of a hash that was just touched.
    #[inline(always)]
    pub fn settle(&mut self, hash: u64) {
        let bits = word_of(hash);
        // The touch may have been a generation's last.
        if self.blocks.get(self.block_of(hash)).is_some_and(|block| block.young & bits == bits) {
            self.settled[hash as usize % SETTLED] = hash;
        }
    }

    /// Takes note that something is, from here on.
    pub fn unsettle(&mut self, hash: u64) {
        self.settled[hash as usize % SETTLED] = !hash;
    }

    /// Takes note of nothing that is settled: for tests of what that changes.
    #[cfg(test)]
    pub fn unsettle_all(&mut self) {
        *self.settled = NONE_SETTLED;
    }

    /// Begins to load what [`touch`](Self::touch) will need.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        prefetch(self.blocks.get(self.block_of(hash)));
    }

    #[inline(always)]
    fn block_of(&self, hash: u64) -> usize {
        (hash >> 32) as usize & self.block_mask
    }

    /// Bytes allocated.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.blocks) + size_of_val(&*self.settled)
    }

    #[cold]
    fn turn(&mut self) {
        self.keys_in_young = 0;
        *self.settled = NONE_SETTLED;
        for block in self.blocks.iter_mut() {
            *block = Block { young: 0, old: block.young };
        }
    }
}

/// Each place holds a hash that belongs in another.
const NONE_SETTLED: [u64; SETTLED] = {
    let mut none = [0; SETTLED];
    none[0] = 1;
    none
};

/// Four of the 64 bits.
#[inline]
fn word_of(hash: u64) -> u64 {
    1 << (hash & 63) | 1 << (hash >> 6 & 63) | 1 << (hash >> 12 & 63) | 1 << (hash >> 18 & 63)
}

#[cfg(test)]
mod tests {
    use super::*;
    use acsm_filters::rng::Random;

    #[test]
    fn what_was_seen_within_a_period_is_known() {
        let mut recent = Recent::new_in(&Arena::default(), 1000, 10);
        let mut random = Random::new(1);
        let keys: Vec<u64> = (0..500).map(|_| random.next_u64()).collect();
        recent.rotate(0);
        for &key in &keys {
            recent.touch(key);
        }
        assert!(keys.iter().all(|&key| recent.touch(key)));
        recent.rotate(10);
        assert!(keys.iter().all(|&key| recent.touch(key)), "touched again: young again");
        recent.rotate(20);
        recent.rotate(30);
        let still = keys.iter().filter(|&&key| recent.touch(key)).count();
        assert!(still < 35, "{still} of 500 outlived two rotations");
    }

    #[test]
    fn what_is_settled_need_not_be_touched() {
        skips_what_need_not_be_touched(100);
        // Generations turn when they are full.
        skips_what_need_not_be_touched(u64::MAX);
    }

    /// A memory that skips what is settled, beside one that touches everything.
    fn skips_what_need_not_be_touched(period_nanos: u64) {
        let new = || Recent::new_in(&Arena::default(), 500, period_nanos);
        let (mut skipping, mut touching) = (new(), new());
        let mut random = Random::new(2);
        let keys: Vec<u64> = (0..3000).map(|_| random.next_u64()).collect();
        let (mut skipped, mut unsettled) = (0, 0);
        for now in 0..200_000 {
            // Trains of few keys at a time, and now and then one from anywhere.
            let near = now / 50 + random.below(20);
            let at = if random.below(10) == 0 { random.below(3000) } else { near % 3000 };
            let key = keys[at as usize];
            if now >= touching.rotate_at_nanos() {
                skipping.rotate(now);
                touching.rotate(now);
            }
            let known = touching.touch(key);
            if random.below(50) == 0 {
                skipping.unsettle(key);
                unsettled += 1;
                assert!(!skipping.is_settled(key));
            }
            if skipping.is_settled(key) {
                assert!(known, "{now}");
                skipped += 1;
            } else {
                assert_eq!(skipping.touch(key), known, "{now}");
                skipping.settle(key);
            }
            assert_eq!(skipping.keys_in_young, touching.keys_in_young, "{now}");
        }
        assert!(skipped > 20_000 && unsettled > 1000, "{skipped} {unsettled}");
    }

    #[test]
    fn a_gap_of_years_forgets_all_at_once() {
        let mut recent = Recent::new_in(&Arena::default(), 1000, 10);
        recent.rotate(0);
        recent.touch(42);
        recent.rotate(u64::MAX);
        assert!(!recent.touch(42));
    }

    /// The younger generation full on average half, the older full: with c keys in a word,
    /// Poisson of mean 8, a stranger's four bits are set with probability (1 − (63/64)^4c)^4, on
    /// average 3.3 %; the younger one, averaged over its filling, adds 0.9 %.
    #[test]
    fn strangers_are_rarely_taken_for_known() {
        let mut recent = Recent::new_in(&Arena::default(), 1 << 16, 1);
        let mut random = Random::new(2);
        let trials = 1 << 18;
        let wrong = (0..trials).filter(|_| recent.touch(random.next_u64())).count();
        let rate = wrong as f64 / f64::from(trials);
        assert!((0.03..0.06).contains(&rate), "{rate}");
    }
}
