//! The cuckoo table of an fcf without aging, for any number of values: what [`kv`](crate::kv) uses.

use super::cuckoo::{FcfPlace, Places, Search, SearchAllowance};
use super::line_format::Slot;
use super::windows::Slots;
use crate::aging::Epoch;
use crate::digest::FlowId;
use crate::error::StoreError;
use crate::line::{Line, OwnedLines};
use crate::memory::Arena;
use crate::spec::fcf_fingerprints;

/// Nothing ages.
const NOW: Epoch = Epoch(0);

/// A table of fingerprints and values.
pub(crate) struct FcfTable {
    places: Places,
    slots: Slots<false, OwnedLines>,
    allowance: SearchAllowance,
}

impl FcfTable {
    /// At least `slots` empty slots of `slot_bits`, at most 56, for `values` values.
    pub(crate) fn new(slots: usize, slot_bits: u32, values: usize) -> Result<FcfTable, StoreError> {
        let slots = Slots::new_in(&Arena::default(), slots, slot_bits)?;
        Ok(FcfTable::of(slots, slot_bits, values))
    }

    /// The same with a copy of these [lines](Self::lines).
    pub(crate) fn from_bytes(
        bytes: &[u8],
        slots: usize,
        slot_bits: u32,
        values: usize,
    ) -> Result<FcfTable, StoreError> {
        Ok(FcfTable::of(Slots::copied(bytes, slots, slot_bits)?, slot_bits, values))
    }

    fn of(slots: Slots<false>, slot_bits: u32, values: usize) -> FcfTable {
        let places = Places {
            states: values.max(1) as u64,
            fingerprints: fcf_fingerprints(slot_bits, values.max(1)),
            lines: slots.lines(),
            slots_per_line: slots.slots_per_line(),
        };
        FcfTable { places, slots, allowance: SearchAllowance::FULL }
    }

    /// Slots in use.
    pub(crate) fn occupied(&self) -> u64 {
        self.slots.usage().occupied
    }

    /// All slots.
    pub(crate) fn len(&self) -> u64 {
        u64::from(self.slots.lines()) * u64::from(self.slots.slots_per_line())
    }

    pub(crate) fn lines(&self) -> &[Line] {
        self.slots.as_lines()
    }

    /// Starts loading both windows of a key.
    #[inline]
    pub(crate) fn prefetch(&self, digest: u128) {
        self.place(digest).homes.into_iter().for_each(|window| self.slots.prefetch(window));
    }

    /// The values of all slots that match a key.
    #[inline]
    pub(crate) fn matches(&self, digest: u128) -> impl Iterator<Item = u32> {
        let place = self.place(digest);
        let slots = self.slots.slots_of(place.homes);
        slots.into_iter().filter_map(move |(slot, offset)| {
            // An empty slot is below the first value of every key.
            let first = self.places.value(&place, offset, 0);
            let value = self.slots.value(slot).wrapping_sub(first);
            (value < self.places.states).then_some(value as u32)
        })
    }

    /// Fills a slot, and moves others if necessary. Returns whether there was room.
    pub(crate) fn insert(&mut self, digest: u128, value: u32) -> bool {
        let place = self.place(digest);
        let mut search = Search { slots: &mut self.slots, places: &self.places, now: NOW };
        let Some((free, offset)) = search.free_slot(place.homes, &mut self.allowance) else {
            return false;
        };
        let content = self.places.value(&place, offset, value as usize);
        self.slots.fill(free, content, NOW.stamp());
        true
    }

    /// Changes the value of one slot that matches and has the old one.
    pub(crate) fn update(&mut self, digest: u128, old: u32, new: u32) {
        let place = self.place(digest);
        if let Some((slot, offset)) = self.find(&place, old) {
            self.slots.set_value(slot, self.places.value(&place, offset, new as usize));
        }
    }

    /// Empties one slot that matches and has this value.
    pub(crate) fn delete(&mut self, digest: u128, value: u32) {
        if let Some((slot, _)) = self.find(&self.place(digest), value) {
            self.slots.empty(slot);
        }
    }

    fn find(&self, place: &FcfPlace, value: u32) -> Option<(Slot, u8)> {
        let slots = self.slots.slots_of(place.homes);
        slots.into_iter().find(|&(slot, offset)| {
            self.slots.value(slot) == self.places.value(place, offset, value as usize)
        })
    }

    #[inline]
    fn place(&self, digest: u128) -> FcfPlace {
        self.places.of(FlowId(digest))
    }
}
