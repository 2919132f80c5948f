//! A line of the pending table: twelve slots in order of use, and how many of them are in use.
//!
//! From its start, in bits:
//!
//! | part | size |
//! |---|---|
//! | slots, the flow used last in front: tag 22, sum 12, ends noted 2, state 4 | 12 × 40 |
//! | header: the mark, which is the epoch of the last write | 24 |
//! | how many slots were used in the epoch of the mark | 4 |
//! | how many slots were used in that epoch or the one before | 4 |
//!
//! Where directions are flows of their own, a slot holds [both](super::directions): tag 17, sum 12, ends
//! noted 2, states 9.
//!
//! Because slots are in order of use, those of the current epoch come first, then those of the epoch
//! before, and stale ones last. Two counts per line say what a stamp of two bits per slot would say,
//! and save 16 bits. Slots beyond these counts are free, whatever they hold, so that clearing stale
//! slots is a change of the counts.

use super::evidence::Evidence;
use crate::aging::{Age, Epoch};
use crate::line::{Line, bits_from, set_bits_from};
use crate::spec::LINE_BYTES;
use crate::state::State;

/// Slots of a line.
pub(super) const SLOTS: usize = 12;
/// The bits of a tag.
pub(super) const TAG_MASK: u32 = (1 << TAG_BITS) - 1;

pub(super) const SLOT_BITS: usize = 40;
const SLOT_MASK: u64 = (1 << SLOT_BITS) - 1;
const STATE_BITS: u32 = State::LIMIT.ilog2();
/// What state and evidence leave of a slot.
const TAG_BITS: u32 = SLOT_BITS as u32 - Evidence::BITS - STATE_BITS;

const HEADER_BIT: usize = SLOTS * SLOT_BITS;
/// In epochs of 30 seconds a mark repeats after 16 years without a pause.
const MARK_BITS: u32 = 24;
const MARK_MASK: u32 = (1 << MARK_BITS) - 1;
const COUNT_BITS: u32 = 4;
const COUNT_MASK: u32 = (1 << COUNT_BITS) - 1;

const _: () = assert!(SLOTS <= COUNT_MASK as usize);
const _: () = assert!(HEADER_BIT + (MARK_BITS + 2 * COUNT_BITS) as usize == 8 * LINE_BYTES);

/// A pending flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingFlow {
    /// The state of its machine.
    pub state: State,
    /// Which of its ends have been heard.
    pub evidence: Evidence,
}

impl PendingFlow {
    /// The bits of a slot with this tag.
    #[inline]
    pub(super) const fn to_slot(self, tag: u32) -> u64 {
        let bits = (self.state.index() as u64) << Evidence::BITS | self.evidence.to_bits();
        bits << TAG_BITS | tag as u64
    }

    /// From the bits of a slot.
    #[inline]
    pub(super) fn from_slot(slot: u64) -> PendingFlow {
        let bits = slot >> TAG_BITS;
        let state = State::new((bits >> Evidence::BITS) as usize % State::LIMIT);
        PendingFlow { state: state.unwrap_or(State::FIRST), evidence: Evidence::from_bits(bits) }
    }
}

/// How many slots of a line are in use, in some epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Usage {
    /// Used in this epoch.
    pub(super) fresh: u8,
    /// Used in this epoch or the one before.
    pub(super) live: u8,
}

impl Usage {
    /// The usage in the epoch `now`, which is not before the last write.
    #[inline]
    pub(super) fn of(line: &Line, now: Epoch) -> Usage {
        let header = bits_from(line, HEADER_BIT) as u32;
        let fresh = (header >> MARK_BITS & COUNT_MASK) as u8;
        let live = (header >> (MARK_BITS + COUNT_BITS)) as u8;
        let epochs_since = now.0.wrapping_sub(header) & MARK_MASK;
        match Epoch(0).age(Epoch(epochs_since)) {
            Age::Current => Usage { fresh, live },
            Age::Previous => Usage { fresh: 0, live: fresh },
            Age::Stale => Usage { fresh: 0, live: 0 },
        }
    }

    /// The same of a line from elsewhere; `None` if no line has such counts.
    pub(super) fn checked(line: &Line, now: Epoch) -> Option<Usage> {
        let usage = Usage::of(line, now);
        (usage.fresh <= usage.live && usage.live <= SLOTS as u8).then_some(usage)
    }

    /// The header of a line with this usage in the epoch `now`.
    #[inline]
    pub(super) const fn header(self, now: Epoch) -> u32 {
        let counts = (self.live as u32) << COUNT_BITS | self.fresh as u32;
        counts << MARK_BITS | now.0 & MARK_MASK
    }
}

/// The slot with this tag, whose bits are those of `mask`, among the first `live`.
#[inline]
pub(super) fn find(line: &Line, tag: u32, mask: u32, live: u8) -> Option<u8> {
    // Without a flood, lines hold one or two flows.
    if live > 0 && bits(line, 0) as u32 & mask == tag {
        return Some(0);
    }
    if live <= 1 {
        return None;
    }
    let mut matches = 0u32;
    for slot in 0..SLOTS {
        matches |= u32::from(bits(line, slot) as u32 & mask == tag) << slot;
    }
    matches &= (1 << live) - 1;
    (matches != 0).then_some(matches.trailing_zeros() as u8)
}

/// The bits of a slot, and those of others above.
#[inline]
pub(super) fn bits(line: &Line, slot: usize) -> u64 {
    bits_from(line, slot * SLOT_BITS)
}

/// Writes the bits of a slot.
#[inline]
pub(super) fn set_bits(line: &mut Line, slot: usize, bits: u64) {
    set_bits_from(line, slot * SLOT_BITS, SLOT_MASK, bits);
}

/// Writes these bits into the first slot, after moving the slots before `free` one further.
#[inline]
pub(super) fn put_front(line: &mut Line, free: usize, bits: u64, header: u32) {
    // In registers: moved as bytes, the line would be read before its writes are complete.
    let mut words = words_of(line);
    let changed = &FIRST_SLOTS[free + 1];
    for n in (0..WORDS).rev() {
        let carried = if n > 0 { words[n - 1] >> (WORD_BITS - SLOT_BITS) } else { 0 };
        let moved = words[n] << SLOT_BITS | carried;
        words[n] = words[n] & !changed[n] | moved & changed[n];
    }
    words[0] = words[0] & !SLOT_MASK | bits;
    set_words(line, words, header);
}

/// Removes the flow in a slot: those after it move one forward.
#[inline]
pub(super) fn take_out(line: &mut Line, slot: usize, header: u32) {
    let mut words = words_of(line);
    let kept = &FIRST_SLOTS[slot];
    for n in 0..WORDS {
        let carried = if n + 1 < WORDS { words[n + 1] << (WORD_BITS - SLOT_BITS) } else { 0 };
        let moved = words[n] >> SLOT_BITS | carried;
        words[n] = words[n] & kept[n] | moved & !kept[n];
    }
    set_words(line, words, header);
}

const WORD_BITS: usize = u64::BITS as usize;
const WORDS: usize = 8 * LINE_BYTES / WORD_BITS;

/// The bits of the first n slots, for each n.
static FIRST_SLOTS: [[u64; WORDS]; SLOTS + 1] = {
    let mut masks = [[0; WORDS]; SLOTS + 1];
    let mut n = 0;
    while n <= SLOTS {
        let mut bit = 0;
        while bit < n * SLOT_BITS {
            masks[n][bit / WORD_BITS] |= 1 << (bit % WORD_BITS);
            bit += 1;
        }
        n += 1;
    }
    masks
};

#[inline]
fn words_of(line: &Line) -> [u64; WORDS] {
    let (words, _) = line.as_chunks();
    std::array::from_fn(|n| u64::from_le_bytes(words[n]))
}

#[inline]
fn set_words(line: &mut Line, mut words: [u64; WORDS], header: u32) {
    let in_last = HEADER_BIT % WORD_BITS;
    words[WORDS - 1] = words[WORDS - 1] & ((1 << in_last) - 1) | u64::from(header) << in_last;
    let (bytes, _) = line.as_chunks_mut();
    for (bytes, word) in bytes.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
}
