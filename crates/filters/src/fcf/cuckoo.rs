//! The two windows of a flow, and the search that makes room in them.
//!
//! A flow has a fingerprint and two windows w₁ + w₂ ≡ h(fingerprint), added line by line and slot
//! by slot: lines modulo the number of lines, first slots modulo the slots of a line. A slot holds
//! the fingerprint of its flow, which of the window's two slots it is, and the state. So what is in
//! a slot determines both windows of its flow, for any number of lines. It also follows that two
//! flows with one fingerprint that share a window share both: to the store they are the same flow.
//!
//! A flow whose four slots are taken moves others. The search goes breadth first from these slots
//! to the nearest free one, and only then moves anything: along the shortest path, each flow to
//! another of its own four slots. Without a path nothing changes.
//!
//! A full table must not become slow under a flood of new flows. Every insertion may examine the
//! four slots of its flow and the twelve other slots of the flows in them. To search further takes
//! an allowance, which every success refills and a failure sets to zero. While it lasts, a small
//! table is searched completely, so that "full" means that no arrangement of its flows has room; and
//! a large one up to a number of slots that is far more than it takes at the planned load.

use super::line_format::{Slot, Window};
use super::windows::Slots;
use crate::aging::Epoch;
use crate::digest::FlowId;
use crate::digest::mix;
use crate::line::LineArray;
use crate::snapshot::{Decoder, Encoder, SnapshotError};
use crate::spec::FCF_WINDOW_SLOTS;

/// Where a flow can be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FcfPlace {
    /// What the first slot of a window holds for this flow in the first state; the other states
    /// follow, then those of the second slot.
    pub(super) base: u64,
    /// Its two windows; rarely the same one twice.
    pub(super) homes: [Window; 2],
}

/// What places are computed from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    pub(super) states: u64,
    pub(super) fingerprints: u64,
    pub(super) lines: u32,
    pub(super) slots_per_line: u32,
}

impl Places {
    #[inline]
    pub(super) fn of(&self, id: FlowId) -> FcfPlace {
        let fingerprint = (u64::from(id.fingerprint()) * self.fingerprints) >> 32;
        let first = self.window(id.position_bits());
        let base = 1 + fingerprint * FCF_WINDOW_SLOTS as u64 * self.states;
        FcfPlace { base, homes: [first, self.partner(fingerprint, first)] }
    }

    /// What a slot holds for a flow in the state with this index, by its number in its window.
    #[inline]
    pub(super) fn value(&self, place: &FcfPlace, offset: u8, state: usize) -> u64 {
        place.base + u64::from(offset) * self.states + state as u64
    }

    /// The same flow in the same state, in the slot with this number of a window.
    #[inline]
    fn moved(&self, value: u64, offset: u8) -> u64 {
        let (_, old) = self.parts(value);
        value - u64::from(old) * self.states + u64::from(offset) * self.states
    }

    /// The fingerprint in a slot that is in use, and its number in its window.
    #[inline]
    fn parts(&self, value: u64) -> (u64, u8) {
        let without_state = value.saturating_sub(1) / self.states;
        (without_state / FCF_WINDOW_SLOTS as u64, (without_state % FCF_WINDOW_SLOTS as u64) as u8)
    }

    /// The other window of a flow with this fingerprint.
    #[inline]
    fn partner(&self, fingerprint: u64, window: Window) -> Window {
        let sum = self.window(mix(fingerprint));
        Window {
            line: difference(sum.line, window.line, self.lines),
            first: difference(sum.first, window.first, self.slots_per_line),
        }
    }

    /// Scales 64 random bits to a window without a division: its line, and the first slot from what
    /// is left over.
    #[inline]
    fn window(&self, bits: u64) -> Window {
        let line = u128::from(bits) * u128::from(self.lines);
        let first = u128::from(line as u64) * u128::from(self.slots_per_line);
        Window { line: (line >> 64) as u32, first: (first >> 64) as u32 }
    }
}

/// a − b modulo n, for a, b < n.
#[inline]
const fn difference(a: u32, b: u32, n: u32) -> u32 {
    if a >= b { a - b } else { a + (n - b) }
}

/// The most slots in use that most searches examine…
const NODES_FEW: usize = 128;
/// …and the most that one does: at the planned load it takes 80 on average, at 95 % 400.
const NODES_MAX: usize = 2048;
/// The slots that each success adds to the allowance…
const EARNED: usize = 192;
/// …and the most that is saved up.
const SAVED_MAX: usize = 1 << 17;

/// How many slots in use searches may still go on from, beside the four that each begins with.
#[derive(Debug, Clone, Copy)]
pub(super) struct SearchAllowance(usize);

impl SearchAllowance {
    pub(super) const FULL: SearchAllowance = SearchAllowance(SAVED_MAX);

    pub(super) fn encode(self, out: &mut Encoder<'_>) {
        out.u32(self.0 as u32);
    }

    pub(super) fn decode(input: &mut Decoder<'_>) -> Result<SearchAllowance, SnapshotError> {
        let saved = |&slots: &u32| slots as usize <= SAVED_MAX;
        let slots = input.checked("the allowance of searches", Decoder::u32, saved)?;
        Ok(SearchAllowance(slots as usize))
    }

    /// The most slots in use that a search may examine, if N is what it has room for.
    fn limit<const N: usize>(self) -> usize {
        N.min(2 * FCF_WINDOW_SLOTS + self.0)
    }

    /// Deducts the slots in use that a search examined.
    fn spend(&mut self, examined: usize) {
        self.0 = self.0.saturating_sub(examined.saturating_sub(2 * FCF_WINDOW_SLOTS));
    }

    /// Notes an insertion, and whether it found room.
    #[inline]
    fn note(&mut self, found_room: bool) {
        self.0 = if found_room { SAVED_MAX.min(self.0 + EARNED) } else { 0 };
    }
}

/// A slot that could be freed.
#[derive(Debug, Clone, Copy)]
struct Node {
    slot: Slot,
    /// Its number in the window of the flow that would move here.
    offset: u8,
    /// The node, by its position in the queue, of the slot that the flow would leave.
    from: u16,
}

/// The origin of the slots that a search starts from.
const ROOT: u16 = u16::MAX;

/// The slots in use found so far, in this order.
struct SearchQueue<const N: usize> {
    nodes: [Node; N],
    len: usize,
    /// Which slots these are. A large table has several slots for each bit: then the search misses
    /// a few.
    seen: [u64; SEEN_WORDS],
    slots_per_line: u32,
}

const SEEN_WORDS: usize = 128;

impl<const N: usize> SearchQueue<N> {
    fn new(slots_per_line: u32) -> Self {
        let node = Node { slot: Slot { line: 0, index: 0 }, offset: 0, from: ROOT };
        SearchQueue { nodes: [node; N], len: 0, seen: [0; SEEN_WORDS], slots_per_line }
    }

    /// Adds a slot that is new, unless there are `len_max`.
    #[inline]
    fn push(&mut self, node: Node, len_max: usize) {
        let number = node.slot.line.wrapping_mul(self.slots_per_line) + node.slot.index;
        let word = &mut self.seen[number as usize / 64 % SEEN_WORDS];
        let is_new = *word >> (number % 64) & 1 == 0;
        if is_new && self.len < len_max {
            *word |= 1 << (number % 64);
            self.nodes[self.len] = node;
            self.len += 1;
        }
    }
}

/// A search for a free slot: in this table, at this time.
pub(super) struct Search<'a, const TIMED: bool, L> {
    pub(super) slots: &'a mut Slots<TIMED, L>,
    pub(super) places: &'a Places,
    pub(super) now: Epoch,
}

impl<const TIMED: bool, L: LineArray> Search<'_, TIMED, L> {
    /// A free slot in one of two windows, with its number in its window. Other flows are moved if
    /// necessary.
    pub(super) fn free_slot(
        &mut self,
        homes: [Window; 2],
        allowance: &mut SearchAllowance,
    ) -> Option<(Slot, u8)> {
        let is_free = |(slot, _): &(Slot, u8)| self.slots.is_free(*slot, self.now);
        let free = self.slots.slots_of(homes).into_iter().find(is_free);
        let free = free.or_else(|| self.make_room(homes, allowance));
        allowance.note(free.is_some());
        free
    }

    /// Frees one of four slots in use, if the allowance suffices to find a path to a free slot. The
    /// long queue takes time to set up: few searches need it, and none in a table that has been full
    /// for some time.
    fn make_room(
        &mut self,
        homes: [Window; 2],
        allowance: &mut SearchAllowance,
    ) -> Option<(Slot, u8)> {
        let free = self.make_room_within::<NODES_FEW>(homes, allowance);
        match free.is_none() && allowance.limit::<NODES_MAX>() > NODES_FEW {
            true => self.make_room_within::<NODES_MAX>(homes, allowance),
            false => free,
        }
    }

    /// The same, examining at most N slots in use.
    fn make_room_within<const N: usize>(
        &mut self,
        homes: [Window; 2],
        allowance: &mut SearchAllowance,
    ) -> Option<(Slot, u8)> {
        let len_max = allowance.limit::<N>();
        let mut queue = SearchQueue::<N>::new(self.places.slots_per_line);
        for (slot, offset) in self.slots.slots_of(homes) {
            queue.push(Node { slot, offset, from: ROOT }, len_max);
        }
        let mut next = 0;
        let mut path_end = None;
        while next < queue.len && path_end.is_none() {
            path_end = self.search_from(&mut queue, next, len_max);
            next += 1;
        }
        allowance.spend(queue.len);
        Some(self.shift(&queue, path_end?))
    }

    /// Examines where the flow in a slot could go. Returns a free slot, or queues the slots.
    fn search_from<const N: usize>(
        &self,
        queue: &mut SearchQueue<N>,
        at: usize,
        len_max: usize,
    ) -> Option<Node> {
        let slot = queue.nodes[at].slot;
        let (fingerprint, offset) = self.places.parts(self.slots.value(slot));
        let own = self.slots.window(slot, offset);
        let other = self.places.partner(fingerprint, own);
        for (slot, offset) in self.slots.slots_of([own, other]) {
            let node = Node { slot, offset, from: at as u16 };
            if self.slots.is_free(slot, self.now) {
                return Some(node);
            }
            queue.push(node, len_max);
        }
        None
    }

    /// Moves the last flow of a path to the free slot at its end, the one before it to where that
    /// was, and so on. Returns the slot that this frees at the start of the path.
    fn shift<const N: usize>(&mut self, queue: &SearchQueue<N>, end: Node) -> (Slot, u8) {
        let mut free = end;
        while let Some(node) = queue.nodes.get(usize::from(free.from)) {
            let value = self.places.moved(self.slots.value(node.slot), free.offset);
            self.slots.relocate(node.slot, free.slot, value, self.now);
            free = *node;
        }
        (free.slot, free.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Random;

    #[test]
    fn a_slot_determines_the_other_window_of_its_flow() {
        let mut random = Random::new(1);
        for (lines, slots_per_line) in [(1, 2), (3, 13), (12, 25), (1001, 62), (1 << 26, 29)] {
            let places = Places { states: 6, fingerprints: 10_922, lines, slots_per_line };
            for _ in 0..1000 {
                let id = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
                let place = places.of(FlowId(id));
                let FcfPlace { base, homes: [one, other] } = place;
                for (state, offset) in (0..6).flat_map(|state| [(state, 0), (state, 1)]) {
                    let value = places.value(&place, offset, state);
                    let (fingerprint, found) = places.parts(value);
                    assert_eq!(found, offset);
                    assert_eq!(places.moved(places.moved(value, 1 - offset), offset), value);
                    assert_eq!(places.partner(fingerprint, one), other);
                    assert_eq!(places.partner(fingerprint, other), one);
                }
                assert!((1..=2 * 6 * 10_922).contains(&base));
                for window in [one, other] {
                    assert!(window.line < lines && window.first < slots_per_line);
                }
            }
        }
    }
}
