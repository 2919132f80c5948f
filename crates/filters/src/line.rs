//! The format of a line of cells, 64 bytes with stamps and a mark; and tables of lines.
//!
//! From its start, in bits, where fields have stamps or never age:
//!
//! | part | size |
//! |---|---|
//! | fields: cells or slots, `field_bits` each | up to a whole byte |
//! | with the timer: the lower bits of all stamps | one per field, up to a whole byte where that fits |
//! | the upper bits of all stamps | the same |
//! | unused | |
//! | the mark, little-endian | the last 32 |
//!
//! Where fields age by halves: those of one half, those of the other from a whole byte on, and the
//! mark.
//!
//! A field, its stamp or its other half, and the mark share one cache line, so aging costs no memory
//! access of its own. A field is empty if it is 0; the stamp of an empty field means nothing.

mod saved;
mod usage;

use std::ops::DerefMut;

use crate::aging::{Epoch, StampPlanes, is_all_stale, is_in_window};
use crate::digest::FlowId;
use crate::error::StoreError;
use crate::memory::prefetch;
use crate::memory::{Arena, Table, allocate_in};
use crate::spec::{LINE_BYTES, Sizing};

pub(crate) use saved::{decode_lines, encode_lines};
pub(crate) use usage::Usage;

/// The bytes of a line. No alignment is required; in an [`Arena`] each line is one cache line.
pub type Line = [u8; LINE_BYTES];

/// Lines that a store has allocated for itself.
pub type OwnedLines = Table<Line>;

/// The lines of a store: owned, or borrowed as `&mut [Line]`.
pub trait LineArray: DerefMut<Target = [Line]> + Send {}

impl<L: DerefMut<Target = [Line]> + Send> LineArray for L {}

/// All fields empty.
const EMPTY: Line = [0; LINE_BYTES];
const WORD_BYTES: usize = size_of::<u64>();
const MARK_BIT: usize = 8 * LINE_BYTES - u32::BITS as usize;

/// How many fields one word of stamps is for.
pub(crate) const BANK_FIELDS: usize = u64::BITS as usize;

/// The bytes of one array of lines of this size: what a store over borrowed bytes takes. There is
/// one array per shard, or two in two phases.
pub fn array_bytes(sizing: &Sizing) -> usize {
    let arrays = FlowId::SHARDS as u64 * sizing.phases.max(1);
    (sizing.bits / 8 / arrays) as usize
}

/// Where the parts of a line are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Format {
    fields: usize,
    /// The first bit of the lower bits of all stamps, which is where the fields end.
    low: usize,
    /// The first bit of the upper bits.
    high: usize,
    /// Words of stamps, for 64 fields each: none without a timer.
    banks: usize,
}

impl Format {
    /// The format of a line with this many fields.
    pub(crate) const fn new(fields: usize, field_bits: u32, timed: bool) -> Format {
        let low = (fields * field_bits as usize).next_multiple_of(8);
        let whole_bytes = fields.next_multiple_of(8);
        let plane = if low + 2 * whole_bytes <= MARK_BIT { whole_bytes } else { fields };
        let banks = if timed { fields.div_ceil(BANK_FIELDS) } else { 0 };
        Format { fields, low, high: low + plane, banks }
    }

    /// How many words the stamps of a line take.
    #[inline(always)]
    pub(crate) const fn banks(&self) -> usize {
        self.banks
    }

    /// Of 64 fields, those touched in this epoch.
    #[inline(always)]
    pub(crate) fn fresh(&self, line: &Line, bank: usize, now: Epoch) -> u64 {
        self.stamps(line, bank).fresh(mark(line), now)
    }

    /// Of 64 fields, those touched in this epoch or the one before.
    #[inline(always)]
    pub(crate) fn alive(&self, line: &Line, bank: usize, now: Epoch) -> u64 {
        self.stamps(line, bank).alive(mark(line), now)
    }

    /// Stamps some of 64 fields with an epoch.
    #[inline(always)]
    pub(crate) fn stamp(&self, line: &mut Line, bank: usize, fields: u64, epoch: Epoch) {
        self.set_stamps(line, bank, self.stamps(line, bank).with(fields, epoch));
    }

    /// Empties the stale fields and marks the line with `now`. `clear` gets the line, the number of
    /// the first of 64 fields and which of them are stale; it returns how many of these were in
    /// use, as does this.
    #[inline(always)]
    pub(crate) fn clear_stale(
        &self,
        line: &mut Line,
        now: Epoch,
        clear: impl Fn(&mut Line, usize, u64) -> u64,
    ) -> u64 {
        let before = mark(line);
        set_mark(line, now);
        if self.seems_empty(line) {
            return 0;
        }
        // Most lines are all stale by then: a separate path, which reads no stamps.
        match is_all_stale(before, now) {
            true => self.clear_where(line, now, |_| u64::MAX, clear),
            false => self.clear_where(line, now, |stamps| !stamps.alive(before, now), clear),
        }
    }

    #[inline(always)]
    fn clear_where(
        &self,
        line: &mut Line,
        now: Epoch,
        stale: impl Fn(StampPlanes) -> u64,
        clear: impl Fn(&mut Line, usize, u64) -> u64,
    ) -> u64 {
        let mut cleared = 0;
        for bank in 0..self.banks {
            let stamps = self.stamps(line, bank);
            let stale = stale(stamps) & self.fields_of(bank);
            if stale != 0 {
                // Stamped as fresh, the empty fields are skipped by the next sweep.
                self.set_stamps(line, bank, stamps.with(stale, now));
                cleared += clear(line, bank * BANK_FIELDS, stale);
            }
        }
        cleared
    }

    /// The stamps of up to 64 fields, and whatever bits come after them.
    #[inline(always)]
    fn stamps(&self, line: &Line, bank: usize) -> StampPlanes {
        let plane = |from: usize| bits_from(line, from + bank * BANK_FIELDS);
        StampPlanes { low: plane(self.low), high: plane(self.high) }
    }

    /// Writes the stamps of up to 64 fields back, with whatever bits come after them. The upper
    /// bits come after the lower ones, so they are written last.
    #[inline(always)]
    fn set_stamps(&self, line: &mut Line, bank: usize, stamps: StampPlanes) {
        set_bits_from(line, self.low + bank * BANK_FIELDS, u64::MAX, stamps.low);
        set_bits_from(line, self.high + bank * BANK_FIELDS, u64::MAX, stamps.high);
    }

    /// Those of the 64 fields of a bank that exist.
    #[inline(always)]
    const fn fields_of(&self, bank: usize) -> u64 {
        match self.fields - bank * BANK_FIELDS {
            fields @ ..BANK_FIELDS => (1 << fields) - 1,
            _ => u64::MAX,
        }
    }

    /// Whether no field is in use; may be false for an empty line if stamps share a word with
    /// fields.
    #[inline(always)]
    fn seems_empty(&self, line: &Line) -> bool {
        let (words, _) = line.as_chunks();
        let of_fields = words.iter().take(self.low.div_ceil(8 * WORD_BYTES));
        of_fields.fold(0, |any, &word| any | u64::from_le_bytes(word)) == 0
    }
}

/// The epoch in which a line was last cleared of stale fields; of halves: in which it was last
/// written.
#[inline(always)]
pub(crate) fn mark(line: &Line) -> Epoch {
    Epoch(line.last_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)))
}

#[inline(always)]
pub(crate) fn set_mark(line: &mut Line, epoch: Epoch) {
    line[MARK_BIT / 8..].copy_from_slice(&epoch.0.to_le_bytes());
}

/// The bits of a line from `bit` on: 57 or more, or all that are left.
#[inline(always)]
pub(crate) fn bits_from(line: &Line, bit: usize) -> u64 {
    let (byte, shift) = word_around(bit);
    let word = line.get(byte..).and_then(<[u8]>::first_chunk);
    word.map_or(0, |bytes| u64::from_le_bytes(*bytes)) >> shift
}

/// Replaces those of the bits from `bit` on that are set in `mask`.
#[inline(always)]
pub(crate) fn set_bits_from(line: &mut Line, bit: usize, mask: u64, bits: u64) {
    let (byte, shift) = word_around(bit);
    if let Some(bytes) = line.get_mut(byte..).and_then(<[u8]>::first_chunk_mut) {
        let kept = u64::from_le_bytes(*bytes) & !(mask << shift);
        *bytes = (kept | (bits & mask) << shift).to_le_bytes();
    }
}

/// Where in a line a word starts that has the bits from `bit` on, and how many bits come before.
/// It never reaches beyond the end of the line.
#[inline(always)]
const fn word_around(bit: usize) -> (usize, usize) {
    let last = LINE_BYTES - WORD_BYTES;
    let byte = if bit / 8 < last { bit / 8 } else { last };
    (byte, bit - 8 * byte)
}

/// Lines, with a count of their fields in use and the position of the sweep.
pub(crate) struct LineTable<L> {
    lines: L,
    usage: Usage,
    swept_lines: usize,
    swept_epoch: Epoch,
}

impl LineTable<OwnedLines> {
    /// Empty lines.
    pub(crate) fn new_in(arena: &Arena, lines: usize) -> Result<Self, StoreError> {
        Ok(LineTable::of(allocate_in(arena, lines, EMPTY)?, Usage::default()))
    }

    /// Lines with a copy of these bytes, whose fields `usage` counts.
    pub(crate) fn copied(
        bytes: &[u8],
        lines: usize,
        usage: impl FnOnce(&[Line]) -> Usage,
    ) -> Result<Self, StoreError> {
        check_length(bytes, lines)?;
        let mut copy = allocate_in(&Arena::default(), lines, EMPTY)?;
        copy.as_flattened_mut().copy_from_slice(bytes);
        let usage = usage(&copy);
        Ok(LineTable::of(copy, usage))
    }
}

impl<'a> LineTable<&'a mut [Line]> {
    /// Lines in borrowed bytes, whose fields `usage` counts.
    pub(crate) fn over(
        bytes: &'a mut [u8],
        lines: usize,
        usage: impl FnOnce(&[Line]) -> Usage,
    ) -> Result<Self, StoreError> {
        check_length(bytes, lines)?;
        let (lines, _) = bytes.as_chunks_mut();
        let usage = usage(lines);
        Ok(LineTable::of(lines, usage))
    }
}

/// Whether the bytes are those of this number of lines.
fn check_length(bytes: &[u8], lines: usize) -> Result<(), StoreError> {
    match (lines.saturating_mul(LINE_BYTES), bytes.len()) {
        (needed, given) if needed != given => Err(StoreError::WrongLength { needed, given }),
        _ => Ok(()),
    }
}

impl<L> LineTable<L> {
    fn of(lines: L, usage: Usage) -> Self {
        LineTable { lines, usage, swept_lines: 0, swept_epoch: Epoch(0) }
    }

    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }

    pub(crate) fn usage_mut(&mut self) -> &mut Usage {
        &mut self.usage
    }
}

impl<L: LineArray> LineTable<L> {
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(crate) fn as_lines(&self) -> &[Line] {
        &self.lines
    }

    /// Starts loading a line.
    #[inline]
    pub(crate) fn prefetch(&self, line: usize) {
        prefetch(self.lines.get(line));
    }

    #[inline]
    pub(crate) fn line(&self, line: usize) -> &Line {
        &self.lines[line]
    }

    #[inline]
    pub(crate) fn line_mut(&mut self, line: usize) -> (&mut Line, &mut Usage) {
        (&mut self.lines[line], &mut self.usage)
    }

    /// A line that can take stamps of `now`: if it is outside its window, it is cleared of stale
    /// fields by `clear_stale`, which returns how many were in use.
    #[inline(always)]
    pub(crate) fn fresh_line_mut(
        &mut self,
        line: usize,
        now: Epoch,
        clear_stale: impl FnOnce(&mut Line) -> u64,
    ) -> (&mut Line, &mut Usage) {
        let line = &mut self.lines[line];
        if !is_in_window(mark(line), now) {
            self.usage.clear(clear_stale(line));
        }
        (line, &mut self.usage)
    }

    /// A line whose halves are those of `now`: if it was not yet written in this epoch, what is
    /// stale in it is cleared by `clear_stale`, which marks it.
    #[inline(always)]
    pub(crate) fn current_line_mut(
        &mut self,
        line: usize,
        now: Epoch,
        clear_stale: impl FnOnce(&mut Line),
    ) -> (&mut Line, &mut Usage) {
        self.usage.pass_to(now);
        let line = &mut self.lines[line];
        if mark(line) != now {
            clear_stale(line);
        }
        (line, &mut self.usage)
    }

    /// Whether all lines have been swept in the epoch of the last sweep.
    pub(crate) fn is_swept(&self) -> bool {
        self.swept_lines == self.lines.len()
    }

    /// Empties all lines, whose fields are all stale.
    pub(crate) fn erase_stale(&mut self) {
        self.usage.clear(self.usage.occupied);
        self.erase();
    }

    /// Empties all lines.
    pub(crate) fn erase(&mut self) {
        self.lines.fill(EMPTY);
        self.usage.occupied = 0;
    }

    /// Clears the next lines of stale fields, with `clear_stale`; returns how many fields these
    /// lines have: 0 when all lines have been swept in this epoch.
    pub(crate) fn sweep(
        &mut self,
        now: Epoch,
        budget_fields: usize,
        fields_per_line: usize,
        clear_stale: impl Fn(&mut Line) -> u64,
    ) -> usize {
        if self.swept_epoch != now {
            (self.swept_epoch, self.swept_lines) = (now, 0);
        }
        let begin = self.swept_lines;
        let end = self.lines.len().min(begin + budget_fields.div_ceil(fields_per_line));
        for line in self.lines.iter_mut().take(end).skip(begin) {
            self.usage.clear(clear_stale(line));
        }
        self.swept_lines = end;
        // Loaded by the time the next sweep needs them.
        for next in end..end + (end - begin) {
            self.prefetch(next);
        }
        (end - begin) * fields_per_line
    }
}
