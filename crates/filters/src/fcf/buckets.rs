//! Buckets of four slots, each bucket within one [line](crate::line).
//!
//! A slot is a field of 7 to 36 bits: 0 if it is empty. A slot that was not touched in time reads
//! as empty, whether a sweep has cleared it or not.

use crate::aging::{Age, Epoch, Stamp};
use crate::error::StoreError;
use crate::line::{
    Format, Line, LineArray, LineTable, OwnedLines, Usage, bits_from, set_bits_from,
};
use crate::memory::Arena;
use crate::spec::{Expire, FCF_BUCKET_SLOTS, fcf_buckets_per_line};

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

/// A fixed array of buckets. With `TIMED` slots age.
pub(super) struct Buckets<const TIMED: bool, L = OwnedLines> {
    table: LineTable<L>,
    shape: Shape,
}

/// How lines are divided into buckets and slots.
#[derive(Debug, Clone, Copy)]
struct Shape {
    format: Format,
    slot_bits: u32,
    buckets_per_line: u32,
}

impl Bucket {
    /// Its slots.
    #[inline]
    pub(super) fn slots(self) -> impl Iterator<Item = Slot> {
        (0..FCF_BUCKET_SLOTS as u32).map(move |index| Slot { bucket: self, index })
    }
}

impl Slot {
    /// Its number among the slots of its line.
    #[inline]
    fn in_line(self) -> usize {
        self.bucket.in_line as usize * FCF_BUCKET_SLOTS + self.index as usize
    }
}

impl Shape {
    fn new(slot_bits: u32, timed: bool) -> Shape {
        let expire = if timed { Expire::Timer } else { Expire::None };
        let per_line = fcf_buckets_per_line(slot_bits, expire);
        let format = Format::new(per_line * FCF_BUCKET_SLOTS, slot_bits, timed);
        Shape { format, slot_bits, buckets_per_line: per_line as u32 }
    }

    #[inline]
    fn slots_per_line(&self) -> usize {
        self.buckets_per_line as usize * FCF_BUCKET_SLOTS
    }

    /// The number of lines for this many slots.
    fn lines(&self, slots: usize) -> usize {
        slots.div_ceil(self.slots_per_line()).max(1)
    }

    #[inline]
    fn mask(&self) -> u64 {
        (1 << self.slot_bits) - 1
    }

    /// What the slot with this number in its line holds, stale or not.
    #[inline]
    fn value(&self, line: &Line, slot: usize) -> u64 {
        bits_from(line, slot * self.slot_bits as usize) & self.mask()
    }

    #[inline]
    fn set_value(&self, line: &mut Line, slot: usize, value: u64) {
        set_bits_from(line, slot * self.slot_bits as usize, self.mask(), value);
    }

    /// How many slots are in use, stale ones included.
    fn in_use(&self, line: &Line) -> u64 {
        (0..self.slots_per_line()).filter(|&slot| self.value(line, slot) != 0).count() as u64
    }

    /// Empties the stale slots; returns how many were in use. Not inlined: few writes need it.
    #[inline(never)]
    fn clear_stale(&self, line: &mut Line, now: Epoch) -> u64 {
        self.format.clear_stale(line, now, |line, first, mut stale| {
            let mut cleared = 0;
            while stale != 0 {
                let slot = first + stale.trailing_zeros() as usize;
                stale &= stale - 1;
                if self.value(line, slot) != 0 {
                    self.set_value(line, slot, 0);
                    cleared += 1;
                }
            }
            cleared
        })
    }
}

impl<const TIMED: bool> Buckets<TIMED> {
    /// At least `slots` empty slots of this width.
    pub(super) fn new_in(arena: &Arena, slots: usize, slot_bits: u32) -> Result<Self, StoreError> {
        let shape = Shape::new(slot_bits, TIMED);
        Ok(Buckets { table: LineTable::new_in(arena, shape.lines(slots))?, shape })
    }
}

impl<'a, const TIMED: bool> Buckets<TIMED, &'a mut [Line]> {
    /// At least `slots` slots of this width, as they are in `bytes`.
    pub(super) fn over(
        bytes: &'a mut [u8],
        slots: usize,
        slot_bits: u32,
    ) -> Result<Self, StoreError> {
        let shape = Shape::new(slot_bits, TIMED);
        let table = LineTable::over(bytes, shape.lines(slots), |lines| {
            Usage::of(lines.iter().map(|line| shape.in_use(line)).sum())
        })?;
        Ok(Buckets { table, shape })
    }
}

impl<const TIMED: bool, L: LineArray> Buckets<TIMED, L> {
    pub(super) fn buckets_per_line(&self) -> u32 {
        self.shape.buckets_per_line
    }

    pub(super) fn buckets(&self) -> u32 {
        self.table.len() as u32 * self.shape.buckets_per_line
    }

    /// Slots in use and slots that aged.
    pub(super) fn usage(&self) -> Usage {
        self.table.usage()
    }

    /// Starts loading a bucket.
    #[inline]
    pub(super) fn prefetch(&self, bucket: Bucket) {
        self.table.prefetch(bucket.line as usize);
    }

    /// What the slots of a bucket hold, stale ones included.
    #[inline]
    pub(super) fn values(&self, bucket: Bucket) -> [u64; FCF_BUCKET_SLOTS] {
        let line = self.line(bucket);
        let first = bucket.in_line as usize * FCF_BUCKET_SLOTS;
        [0, 1, 2, 3].map(|index| self.shape.value(line, first + index))
    }

    /// What a slot holds, stale or not.
    #[inline]
    pub(super) fn value(&self, slot: Slot) -> u64 {
        self.shape.value(self.line(slot.bucket), slot.in_line())
    }

    /// When a slot was last touched.
    #[inline]
    pub(super) fn age(&self, slot: Slot, now: Epoch) -> Age {
        match TIMED {
            true => self.shape.format.age(self.line(slot.bucket), slot.in_line(), now),
            false => Age::Current,
        }
    }

    /// A slot of the bucket that is empty or stale.
    #[inline]
    pub(super) fn free_slot(&self, bucket: Bucket, now: Epoch) -> Option<Slot> {
        let (line, first) = (self.line(bucket), bucket.in_line as usize * FCF_BUCKET_SLOTS);
        let alive = if TIMED { self.shape.format.alive(line, 0, now) >> first } else { u64::MAX };
        let is_free = |slot: &Slot| {
            alive >> slot.index & 1 == 0 || self.shape.value(line, first + slot.index as usize) == 0
        };
        bucket.slots().find(is_free)
    }

    /// Fills a slot that is free.
    pub(super) fn fill(&mut self, slot: Slot, value: u64, stamp: Stamp) {
        let shape = self.shape;
        let (line, usage) = self.line_mut(slot.bucket, stamp.now());
        let stale = shape.value(line, slot.in_line()) != 0;
        usage.aged += u64::from(stale);
        usage.occupied += u64::from(!stale);
        shape.set_value(line, slot.in_line(), value);
        if TIMED {
            shape.format.stamp(line, 0, 1 << slot.in_line(), stamp.epoch());
        }
    }

    /// Moves what is in a live slot to one that is free, with its stamp.
    pub(super) fn relocate(&mut self, from: Slot, to: Slot, now: Epoch) {
        let stamp = match self.age(from, now) {
            Age::Current => now.stamp(),
            _ => now.half_stamp(),
        };
        self.fill(to, self.value(from), stamp);
        self.empty(from);
    }

    /// Empties a slot that is in use.
    pub(super) fn empty(&mut self, slot: Slot) {
        self.set_value(slot, 0);
        self.table.line_mut(slot.bucket.line as usize).1.occupied -= 1;
    }

    /// Changes what a slot in use holds.
    pub(super) fn set_value(&mut self, slot: Slot, value: u64) {
        let (line, _) = self.table.line_mut(slot.bucket.line as usize);
        self.shape.set_value(line, slot.in_line(), value);
    }

    /// Touches a live slot.
    #[inline]
    pub(super) fn touch(&mut self, slot: Slot, stamp: Stamp) {
        if TIMED && stamp.renews() {
            let format = self.shape.format;
            let (line, _) = self.line_mut(slot.bucket, stamp.now());
            format.stamp(line, 0, 1 << slot.in_line(), stamp.epoch());
        }
    }

    /// Clears the next lines of stale slots; returns how many slots it examined.
    pub(super) fn sweep(&mut self, now: Epoch, budget_slots: usize) -> usize {
        if !TIMED {
            return 0;
        }
        let shape = self.shape;
        let clear_stale = |line: &mut Line| shape.clear_stale(line, now);
        self.table.sweep(now, budget_slots, shape.slots_per_line(), clear_stale)
    }

    #[inline]
    fn line(&self, bucket: Bucket) -> &Line {
        self.table.line(bucket.line as usize)
    }

    /// The line of a bucket, which can take stamps of `now`.
    #[inline]
    fn line_mut(&mut self, bucket: Bucket, now: Epoch) -> (&mut Line, &mut Usage) {
        let shape = self.shape;
        let line = bucket.line as usize;
        match TIMED {
            true => self.table.fresh_line_mut(line, now, |line| shape.clear_stale(line, now)),
            false => self.table.line_mut(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Random;

    /// Every slot of a line takes every value and changes no other slot nor the stamps.
    #[test]
    fn slots_of_any_width_are_apart() {
        for slot_bits in 7..=36 {
            let mut buckets = Buckets::<true>::new_in(&Arena::default(), 1, slot_bits).unwrap();
            let mut random = Random::new(slot_bits.into());
            let now = Epoch(6);
            let all: Vec<Slot> = (0..buckets.buckets_per_line())
                .flat_map(|in_line| Bucket { line: 0, in_line }.slots())
                .collect();
            let mut values = vec![0; all.len()];
            for _ in 0..500 {
                let at = random.below(all.len() as u64) as usize;
                let value = 1 + random.below(buckets.shape.mask());
                match values[at] {
                    0 => buckets.fill(all[at], value, now.half_stamp()),
                    _ => buckets.set_value(all[at], value),
                }
                values[at] = value;
                for (slot, value) in all.iter().zip(&values) {
                    assert_eq!(buckets.value(*slot), *value);
                    assert_eq!(buckets.values(slot.bucket)[slot.index as usize], *value);
                    assert!(*value == 0 || buckets.age(*slot, now) == Age::Previous);
                }
            }
            let in_use = all.len() as u64;
            assert_eq!(buckets.usage().occupied, in_use);
            assert_eq!(buckets.sweep(now, 1), all.len());
            assert_eq!((buckets.usage().occupied, buckets.usage().aged), (in_use, 0));
            buckets.sweep(Epoch(7), usize::MAX);
            assert_eq!((buckets.usage().occupied, buckets.usage().aged), (0, in_use));
        }
    }
}
