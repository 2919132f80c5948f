//! Slots in lines, and the windows of two adjacent slots that flows are found in.
//!
//! A line has the same number of slots everywhere, and as many windows: one starts at each slot,
//! and that of the last slot goes on with the first. So windows overlap, and none leaves its line.
//!
//! `line_format` says where the parts of a line are.
//!
//! A slot that was not touched in time reads as empty, whether a sweep has cleared it or not.

use super::line_format::{Format, Slot, Window, mark, touched};
use crate::aging::{Age, Epoch, ShortMark, Stamp};
use crate::error::StoreError;
use crate::line::{Line, LineArray, LineTable, OwnedLines, Usage};
use crate::memory::Arena;
use crate::snapshot::{Decoder, Encoder, SnapshotError};
use crate::spec::FCF_WINDOW_SLOTS;

/// A fixed array of slots. With `TIMED` slots age.
pub(super) struct Slots<const TIMED: bool, L = OwnedLines> {
    table: LineTable<L>,
    format: Format,
    /// No line with slots in use has a mark from before this epoch. Not known at first of borrowed
    /// bytes.
    marks_from: Option<Epoch>,
}

/// Which slots of a line were touched, and when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ages {
    /// In this epoch or the one before.
    pub(super) alive: u64,
    /// In this epoch.
    pub(super) fresh: u64,
}

impl<const TIMED: bool> Slots<TIMED> {
    /// At least `slots` empty slots of this width.
    pub(super) fn new_in(arena: &Arena, slots: usize, slot_bits: u32) -> Result<Self, StoreError> {
        let format = Format::new(slot_bits, TIMED);
        let table = LineTable::new_in(arena, format.lines(slots))?;
        Ok(Slots { table, format, marks_from: Some(Epoch(0)) })
    }
}

impl Slots<false> {
    /// At least `slots` slots of this width, as they are in `bytes`, which are copied.
    pub(super) fn copied(bytes: &[u8], slots: usize, slot_bits: u32) -> Result<Self, StoreError> {
        let format = Format::new(slot_bits, false);
        let table = LineTable::copied(bytes, format.lines(slots), |lines| format.usage_of(lines))?;
        Ok(Slots { table, format, marks_from: None })
    }
}

impl<'a, const TIMED: bool> Slots<TIMED, &'a mut [Line]> {
    /// At least `slots` slots of this width, as they are in `bytes`.
    pub(super) fn over(
        bytes: &'a mut [u8],
        slots: usize,
        slot_bits: u32,
    ) -> Result<Self, StoreError> {
        let format = Format::new(slot_bits, TIMED);
        let table = LineTable::over(bytes, format.lines(slots), |lines| format.usage_of(lines))?;
        Ok(Slots { table, format, marks_from: None })
    }
}

impl<const TIMED: bool, L: LineArray> Slots<TIMED, L> {
    pub(super) fn lines(&self) -> u32 {
        self.table.len() as u32
    }

    pub(super) fn slots_per_line(&self) -> u32 {
        self.format.slots
    }

    pub(super) fn as_lines(&self) -> &[Line] {
        self.table.as_lines()
    }

    /// Slots in use and slots that aged.
    pub(super) fn usage(&self) -> Usage {
        self.table.usage()
    }

    /// Writes the content of a snapshot.
    pub(super) fn encode<'a>(&'a self, out: &mut Encoder<'a>) {
        out.u8(self.marks_from.is_some().into());
        out.u32(self.marks_from.unwrap_or_default().0);
        self.table.encode(out);
    }

    /// Replaces all slots by those of a snapshot.
    pub(super) fn decode(&mut self, input: &mut Decoder<'_>) -> Result<(), SnapshotError> {
        let what = "whether the age of marks is known";
        let is_known = input.checked(what, Decoder::u8, |&known| known <= 1)? == 1;
        let oldest = Epoch(input.u32()?);
        self.marks_from = is_known.then_some(oldest);
        let format = self.format;
        self.table.decode(input, |lines, _| format.usage_of(lines))
    }

    /// Starts loading a window.
    #[inline]
    pub(super) fn prefetch(&self, window: Window) {
        self.table.prefetch(window.line as usize);
    }

    /// The slot with this number of a window.
    #[inline]
    pub(super) fn slot(&self, window: Window, offset: u8) -> Slot {
        self.format.slot(window, offset)
    }

    /// The slots of two windows, each with its number in its window.
    #[inline]
    pub(super) fn slots_of(&self, windows: [Window; 2]) -> [(Slot, u8); 2 * FCF_WINDOW_SLOTS] {
        let [one, other] = windows;
        [(one, 0), (one, 1), (other, 0), (other, 1)]
            .map(|(window, offset)| (self.slot(window, offset), offset))
    }

    /// The window in which a slot has this number.
    #[inline]
    pub(super) fn window(&self, slot: Slot, offset: u8) -> Window {
        self.format.window(slot, offset)
    }

    /// What the slots of a window hold, stale ones included.
    #[inline]
    pub(super) fn values(&self, window: Window) -> [u64; FCF_WINDOW_SLOTS] {
        self.format.values(self.line(window.line), window.first)
    }

    /// What a slot holds, stale or not.
    #[inline]
    pub(super) fn value(&self, slot: Slot) -> u64 {
        self.format.value(self.line(slot.line), slot.index)
    }

    /// When the slots of a line were last touched.
    #[inline]
    pub(super) fn ages(&self, line: u32, now: Epoch) -> Ages {
        if !TIMED {
            return Ages { alive: u64::MAX, fresh: u64::MAX };
        }
        let line = self.line(line);
        let (touched, mark) = (touched(line), mark(line));
        Ages { alive: touched.alive(mark, now), fresh: touched.fresh(mark, now) }
    }

    /// When a slot was last touched.
    #[inline]
    pub(super) fn age(&self, slot: Slot, now: Epoch) -> Age {
        let ages = self.ages(slot.line, now);
        match (ages.fresh >> slot.index & 1, ages.alive >> slot.index & 1) {
            (1, _) => Age::Current,
            (_, 1) => Age::Previous,
            _ => Age::Stale,
        }
    }

    /// Whether a slot is empty or stale.
    #[inline]
    pub(super) fn is_free(&self, slot: Slot, now: Epoch) -> bool {
        self.value(slot) == 0 || self.ages(slot.line, now).alive >> slot.index & 1 == 0
    }

    /// Fills a slot that is free.
    pub(super) fn fill(&mut self, slot: Slot, value: u64, stamp: Stamp) {
        let format = self.format;
        let (line, usage) = self.line_mut(slot.line, stamp.now());
        usage.occupied += 1;
        format.set_value(line, slot.index, value);
        if TIMED {
            let touched = if stamp.is_half() { 0 } else { u64::MAX };
            format.touch(line, 1 << slot.index, touched);
        }
    }

    /// Moves what is in a live slot to one that is free, with its stamp, as `value`.
    pub(super) fn relocate(&mut self, from: Slot, to: Slot, value: u64, now: Epoch) {
        let stamp = match self.age(from, now) {
            Age::Current => now.stamp(),
            _ => now.half_stamp(),
        };
        self.fill(to, value, stamp);
        self.empty(from);
    }

    /// Empties a slot that is in use.
    pub(super) fn empty(&mut self, slot: Slot) {
        self.set_value(slot, 0);
        self.table.line_mut(slot.line as usize).1.occupied -= 1;
    }

    /// Changes what a slot in use holds.
    pub(super) fn set_value(&mut self, slot: Slot, value: u64) {
        let (line, _) = self.table.line_mut(slot.line as usize);
        self.format.set_value(line, slot.index, value);
    }

    /// Touches a live slot.
    #[inline]
    pub(super) fn touch(&mut self, slot: Slot, stamp: Stamp) {
        if TIMED && stamp.renews() {
            let format = self.format;
            let (line, _) = self.line_mut(slot.line, stamp.now());
            format.touch(line, 1 << slot.index, u64::MAX);
        }
    }

    /// Clears the next lines of stale slots; returns how many slots it examined.
    pub(super) fn sweep(&mut self, now: Epoch, budget_slots: usize) -> usize {
        if !TIMED {
            return 0;
        }
        self.renew_marks(now);
        let examined = self.sweep_marked(now, budget_slots);
        if self.table.is_swept() {
            self.marks_from = Some(now);
        }
        examined
    }

    /// The same while no mark is old.
    fn sweep_marked(&mut self, now: Epoch, budget_slots: usize) -> usize {
        let format = self.format;
        let clear_stale = |line: &mut Line| match mark(line).age(now) {
            Age::Current => 0,
            _ => format.clear_stale(line, now),
        };
        self.table.sweep(now, budget_slots, format.slots as usize, clear_stale)
    }

    /// Renews all marks if some may be old. To be called before anything is read or written at
    /// `now`: a mark has few bits.
    #[inline]
    pub(super) fn renew_marks(&mut self, now: Epoch) {
        if TIMED && self.marks_from.is_none_or(|oldest| ShortMark::is_due(oldest, now)) {
            self.renew_all_marks(now);
        }
    }

    #[cold]
    fn renew_all_marks(&mut self, now: Epoch) {
        match self.marks_from {
            // They were not due when the last slot was touched, so that was long ago.
            Some(oldest) if ShortMark::has_come_round(oldest, now) => self.table.erase_stale(),
            _ => while self.sweep_marked(now, usize::MAX) > 0 {},
        }
        self.marks_from = Some(now);
    }

    #[inline]
    fn line(&self, line: u32) -> &Line {
        self.table.line(line as usize)
    }

    /// A line that can take stamps of `now`.
    #[inline]
    fn line_mut(&mut self, line: u32, now: Epoch) -> (&mut Line, &mut Usage) {
        let format = self.format;
        let (line, usage) = self.table.line_mut(line as usize);
        if TIMED && mark(line).age(now) != Age::Current {
            usage.clear(format.clear_stale(line, now));
        }
        (line, usage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Random;

    /// Every slot of a line takes every value and changes no other slot, stamp or mark.
    #[test]
    fn slots_of_any_width_are_apart() {
        for slot_bits in 8..=37 {
            let mut slots = Slots::<true>::new_in(&Arena::default(), 1, slot_bits).unwrap();
            let mut random = Random::new(slot_bits.into());
            let now = Epoch(6);
            let all: Vec<Slot> =
                (0..slots.slots_per_line()).map(|index| Slot { line: 0, index }).collect();
            let mut values = vec![0; all.len()];
            for _ in 0..500 {
                let at = random.below(all.len() as u64) as usize;
                let value = 1 + random.below(slots.format.mask());
                match values[at] {
                    0 => slots.fill(all[at], value, now.half_stamp()),
                    _ => slots.set_value(all[at], value),
                }
                values[at] = value;
                for (slot, value) in all.iter().zip(&values) {
                    assert_eq!(slots.value(*slot), *value);
                    assert!(*value == 0 || slots.age(*slot, now) == Age::Previous);
                    for offset in [0, 1] {
                        let window = slots.window(*slot, offset);
                        assert_eq!(slots.slot(window, offset), *slot);
                        assert_eq!(slots.values(window)[usize::from(offset)], *value);
                    }
                }
            }
            let in_use = values.iter().filter(|value| **value != 0).count() as u64;
            assert_eq!(slots.usage().occupied, in_use);
            assert_eq!(slots.sweep(now, 1), all.len());
            assert_eq!((slots.usage().occupied, slots.usage().aged), (in_use, 0));
            slots.sweep(Epoch(7), usize::MAX);
            assert_eq!((slots.usage().occupied, slots.usage().aged), (0, in_use));
        }
    }

    /// A mark repeats after 4,096 epochs. A slot from before is not alive again.
    #[test]
    fn a_slot_stays_stale_however_time_jumps() {
        for jump in [2, 3, 4095, 4096, 4097, 8192, 1 << 20, u32::MAX] {
            let mut slots = Slots::<true>::new_in(&Arena::default(), 1, 20).unwrap();
            let slot = Slot { line: 0, index: 3 };
            slots.fill(slot, 5, Epoch(0).stamp());
            slots.renew_marks(Epoch(jump));
            assert!(slots.is_free(slot, Epoch(jump)), "{jump}");
        }
    }
}
