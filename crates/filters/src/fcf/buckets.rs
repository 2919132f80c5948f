//! Buckets of four bit-packed slots, each bucket within a line of 64 bytes.
//!
//! A line is, from its start: the slots of its buckets; with the timer, at its end, a byte of four
//! 2-bit stamps for each bucket, and the line's mark in the last 4 bytes. A slot is 0 if it is
//! empty. One that was not touched in time reads as empty, whether a sweep came by or not.

use crate::aging::{Epoch, STAMPS_PER_WORD, Stamp, age_of, is_in_window, repeated, stale_stamps};
use crate::error::{StoreError, allocate_in};
use crate::memory::{Arena, Table};
use crate::prefetch::prefetch;
use crate::spec::{Expire, FCF_BUCKET_SLOTS, LINE_BYTES, fcf_buckets_per_line};

/// Where a bucket is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bucket {
    pub(super) line: u32,
    pub(super) in_line: u32,
}

/// Where a slot is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) bucket: Bucket,
    pub(super) index: u32,
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u8; LINE_BYTES]);

/// A fixed array of buckets. With `TIMED` slots age.
pub(super) struct Buckets<const TIMED: bool> {
    lines: Table<Line>,
    slot_bits: u32,
    per_line: u32,
    occupied: u64,
    aged: u64,
    swept_lines: usize,
    swept_epoch: Epoch,
}

const MARK: usize = LINE_BYTES - 4;
const WORD: usize = size_of::<u64>();

impl Bucket {
    /// Its slots.
    #[inline]
    pub(super) fn slots(self) -> impl Iterator<Item = Slot> {
        (0..FCF_BUCKET_SLOTS as u32).map(move |index| Slot { bucket: self, index })
    }
}

impl<const TIMED: bool> Buckets<TIMED> {
    /// At least `slots` empty slots of this width, at most 36 bits.
    pub(super) fn new_in(arena: &Arena, slots: usize, slot_bits: u32) -> Result<Self, StoreError> {
        let expire = if TIMED { Expire::Timer } else { Expire::None };
        let per_line = fcf_buckets_per_line(slot_bits, expire);
        let lines = slots.div_ceil(per_line * FCF_BUCKET_SLOTS).max(1);
        Ok(Buckets {
            lines: allocate_in(arena, lines, Line([0; LINE_BYTES]))?,
            slot_bits,
            per_line: per_line as u32,
            occupied: 0,
            aged: 0,
            swept_lines: 0,
            swept_epoch: Epoch(0),
        })
    }

    pub(super) fn buckets_per_line(&self) -> u32 {
        self.per_line
    }

    pub(super) fn buckets(&self) -> u32 {
        self.lines.len() as u32 * self.per_line
    }

    /// Slots that are not empty, those included that are stale but not yet cleared.
    pub(super) fn occupied(&self) -> u64 {
        self.occupied
    }

    /// Slots cleared for age so far.
    pub(super) fn aged(&self) -> u64 {
        self.aged
    }

    /// Begins to load a bucket.
    #[inline]
    pub(super) fn prefetch(&self, bucket: Bucket) {
        prefetch(self.lines.get(bucket.line as usize));
    }

    /// What the slots of a bucket hold, stale ones included.
    #[inline]
    pub(super) fn values(&self, bucket: Bucket) -> [u64; FCF_BUCKET_SLOTS] {
        let line = &self.lines[bucket.line as usize];
        let first = self.first_bit(bucket);
        let mask = self.mask();
        [0, 1, 2, 3].map(|index| line.bits_from(first + index * self.slot_bits) & mask)
    }

    /// What a slot holds, stale or not.
    #[inline]
    pub(super) fn value(&self, slot: Slot) -> u64 {
        let bit = self.first_bit(slot.bucket) + slot.index * self.slot_bits;
        self.lines[slot.bucket.line as usize].bits_from(bit) & self.mask()
    }

    /// How many epochs ago a slot was touched: more than one, and it is stale.
    #[inline]
    pub(super) fn age(&self, slot: Slot, now: Epoch) -> u32 {
        if !TIMED {
            return 0;
        }
        age_of(self.stamp_bits(slot), self.lines[slot.bucket.line as usize].mark(), now)
    }

    /// A slot of the bucket that is empty or stale.
    #[inline]
    pub(super) fn free_slot(&self, bucket: Bucket, now: Epoch) -> Option<Slot> {
        let values = self.values(bucket);
        let is_free = |slot: &Slot| values[slot.index as usize] == 0 || self.age(*slot, now) > 1;
        bucket.slots().find(is_free)
    }

    /// Fills a slot that is free.
    pub(super) fn fill(&mut self, slot: Slot, value: u64, stamp: Stamp) {
        self.fill_with(slot, value, stamp.bits(), stamp.now());
    }

    /// Moves what is in a live slot to one that is free, with its stamp.
    pub(super) fn relocate(&mut self, from: Slot, to: Slot, now: Epoch) {
        let stamp_bits = if TIMED { self.stamp_bits(from) } else { 0 };
        self.fill_with(to, self.value(from), stamp_bits, now);
        self.empty(from);
    }

    fn fill_with(&mut self, slot: Slot, value: u64, stamp_bits: u8, now: Epoch) {
        self.freshen(slot.bucket.line, now);
        let stale = self.value(slot) != 0;
        self.aged += u64::from(stale);
        self.occupied += u64::from(!stale);
        self.set_value(slot, value);
        self.set_stamp_bits(slot, stamp_bits);
    }

    /// Empties a slot that is in use.
    pub(super) fn empty(&mut self, slot: Slot) {
        self.set_value(slot, 0);
        self.occupied -= 1;
    }

    /// Changes what a slot in use holds.
    pub(super) fn set_value(&mut self, slot: Slot, value: u64) {
        let bit = self.first_bit(slot.bucket) + slot.index * self.slot_bits;
        let mask = self.mask();
        self.lines[slot.bucket.line as usize].set_bits_from(bit, mask, value);
    }

    /// Touches a live slot.
    #[inline]
    pub(super) fn touch(&mut self, slot: Slot, stamp: Stamp) {
        // A live slot is stamped with this epoch or the last: half a touch adds nothing.
        if TIMED && !stamp.half {
            self.freshen(slot.bucket.line, stamp.now());
            self.set_stamp_bits(slot, stamp.bits());
        }
    }

    /// Clears the next lines of stale slots; returns how many slots it looked at.
    pub(super) fn sweep(&mut self, now: Epoch, budget_slots: usize) -> usize {
        if !TIMED {
            return 0;
        }
        if self.swept_epoch != now {
            (self.swept_epoch, self.swept_lines) = (now, 0);
        }
        let slots_per_line = self.per_line as usize * FCF_BUCKET_SLOTS;
        let begin = self.swept_lines;
        let end = self.lines.len().min(begin + budget_slots.div_ceil(slots_per_line));
        for line in begin..end {
            self.clear_stale(line as u32, now);
        }
        self.swept_lines = end;
        (end - begin) * slots_per_line
    }

    /// Makes sure that the line can take stamps of `now`.
    #[inline]
    fn freshen(&mut self, line: u32, now: Epoch) {
        if TIMED && !is_in_window(now, self.lines[line as usize].mark()) {
            self.clear_stale(line, now);
        }
    }

    /// Clears the stale slots of a line, and marks it with `now`.
    fn clear_stale(&mut self, line: u32, now: Epoch) {
        let stamps = self.stamps_at();
        let mark = self.lines[line as usize].mark();
        for at in (stamps..MARK).step_by(WORD) {
            let end = MARK.min(at + WORD);
            let mut word = [0; WORD];
            word[..end - at].copy_from_slice(&self.lines[line as usize].0[at..end]);
            let here = STAMPS_PER_WORD.min((end - at) * FCF_BUCKET_SLOTS);
            let stale = stale_stamps(u64::from_le_bytes(word), mark, now, here);
            let mut left = stale;
            while left != 0 {
                let index = left.trailing_zeros() / 2;
                left &= left - 1;
                let in_line = (at - stamps) as u32 + index / 4;
                self.clear_if_used(Slot { bucket: Bucket { line, in_line }, index: index % 4 });
            }
            // What is empty now gets a stamp that the next sweep need not stop at.
            let lanes = stale * 3;
            let restamped = u64::from_le_bytes(word) & !lanes | repeated(now) & lanes;
            let bytes = &mut self.lines[line as usize].0;
            bytes[at..end].copy_from_slice(&restamped.to_le_bytes()[..end - at]);
        }
        self.lines[line as usize].0[MARK..].copy_from_slice(&now.0.to_le_bytes());
    }

    fn clear_if_used(&mut self, slot: Slot) {
        if self.value(slot) != 0 {
            self.empty(slot);
            self.aged += 1;
        }
    }

    #[inline]
    fn mask(&self) -> u64 {
        (1 << self.slot_bits) - 1
    }

    #[inline]
    fn first_bit(&self, bucket: Bucket) -> u32 {
        bucket.in_line * FCF_BUCKET_SLOTS as u32 * self.slot_bits
    }

    /// Where in a line the stamps begin.
    #[inline]
    fn stamps_at(&self) -> usize {
        MARK - self.per_line as usize
    }

    #[inline]
    fn stamp_bits(&self, slot: Slot) -> u8 {
        let at = self.stamps_at() + slot.bucket.in_line as usize;
        self.lines[slot.bucket.line as usize].0[at] >> (2 * slot.index) & 3
    }

    #[inline]
    fn set_stamp_bits(&mut self, slot: Slot, bits: u8) {
        if TIMED {
            let at = self.stamps_at() + slot.bucket.in_line as usize;
            let byte = &mut self.lines[slot.bucket.line as usize].0[at];
            *byte = *byte & !(3 << (2 * slot.index)) | bits << (2 * slot.index);
        }
    }
}

impl Line {
    #[inline]
    fn mark(&self) -> Epoch {
        let [.., a, b, c, d] = self.0;
        Epoch(u32::from_le_bytes([a, b, c, d]))
    }

    /// The word that has this bit and the 35 after it, and how far to shift it. A slot that lies in
    /// the line's last word is found from there, so that no load leaves the line.
    #[inline]
    fn word_at(bit: u32) -> (usize, u32) {
        let byte = (bit / 8).min((LINE_BYTES - WORD) as u32);
        (byte as usize, bit - 8 * byte)
    }

    #[inline]
    fn word(&self, byte: usize) -> u64 {
        let mut word = [0; WORD];
        word.copy_from_slice(&self.0[byte..byte + WORD]);
        u64::from_le_bytes(word)
    }

    #[inline]
    fn bits_from(&self, bit: u32) -> u64 {
        let (byte, shift) = Self::word_at(bit);
        self.word(byte) >> shift
    }

    #[inline]
    fn set_bits_from(&mut self, bit: u32, mask: u64, value: u64) {
        let (byte, shift) = Self::word_at(bit);
        let word = self.word(byte) & !(mask << shift) | (value & mask) << shift;
        self.0[byte..byte + WORD].copy_from_slice(&word.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Random;

    /// Every slot of a line takes every value, and disturbs no other, nor the stamps.
    #[test]
    fn slots_of_any_width_are_apart() {
        for slot_bits in 7..=36 {
            let mut buckets = Buckets::<true>::new_in(&Arena::default(), 1, slot_bits).unwrap();
            let mut random = Random::new(slot_bits.into());
            let now = Epoch(6);
            let all: Vec<Slot> = (0..buckets.per_line)
                .flat_map(|in_line| Bucket { line: 0, in_line }.slots())
                .collect();
            let mut values = vec![0; all.len()];
            for _ in 0..500 {
                let at = random.below(all.len() as u64) as usize;
                let value = 1 + random.below(buckets.mask());
                match values[at] {
                    0 => buckets.fill(all[at], value, now.half_stamp()),
                    _ => buckets.set_value(all[at], value),
                }
                values[at] = value;
                for (slot, value) in all.iter().zip(&values) {
                    assert_eq!(buckets.value(*slot), *value);
                    assert_eq!(buckets.values(slot.bucket)[slot.index as usize], *value);
                    assert!(*value == 0 || buckets.age(*slot, now) == 1);
                }
            }
            assert_eq!(buckets.occupied(), all.len() as u64);
            assert_eq!(buckets.sweep(now, 1), all.len());
            assert_eq!((buckets.occupied(), buckets.aged()), (all.len() as u64, 0));
            buckets.sweep(Epoch(7), usize::MAX);
            assert_eq!((buckets.occupied(), buckets.aged()), (0, all.len() as u64));
        }
    }
}
