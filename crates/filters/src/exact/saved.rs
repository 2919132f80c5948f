//! An exact table in a snapshot: its entries, in the order in which they would be evicted.
//!
//! That is all there is to it. The slots of entries differ afterwards, and no answer depends on them; a
//! growing table takes as much memory as its flows, not as it once had.

use super::idle_lists::{IdleLists, Links};
use super::{Entry, Exact, NONE};
use crate::aging::Epoch;
use crate::snapshot::{Decoder, Encoder, Persist, SnapshotError};
use crate::state::State;

impl<K: Copy + Eq + Default + Persist> Persist for Exact<K> {
    fn encode<'a>(&'a self, out: &mut Encoder<'a>) {
        self.counts.encode(out);
        out.u32(self.idle.now().0);
        out.u64(self.idle.occupied());
        for entry in self.idle.in_order(&self.entries) {
            entry.key.encode(out);
            out.u32(entry.tag);
            out.u32(entry.stamp.0);
            out.u8(entry.state.index() as u8);
        }
    }

    fn decode(&mut self, input: &mut Decoder<'_>) -> Result<(), SnapshotError> {
        self.counts.decode(input)?;
        let now = Epoch(input.u32()?);
        self.entries.clear();
        self.index.clear();
        self.idle = IdleLists::at(now);
        let most = if self.capped { self.capacity as u64 } else { u64::from(NONE) - 1 };
        let flows = input.checked("the number of flows", Decoder::u64, |&flows| flows <= most)?;
        for slot in 0..flows as u32 {
            let entry = decode_entry(input, now)?;
            self.entries.push(entry);
            self.index.reserve(self.entries.len());
            self.index.insert(entry.tag, slot);
            self.idle.push(&mut self.entries, slot, entry.stamp);
        }
        Ok(())
    }
}

fn decode_entry<K: Default + Persist>(
    input: &mut Decoder<'_>,
    now: Epoch,
) -> Result<Entry<K>, SnapshotError> {
    let mut key = K::default();
    key.decode(input)?;
    let tag = input.u32()?;
    // Not later than now; −1 comes before 0.
    let is_past = |&stamp: &u32| now.0.wrapping_sub(stamp) <= now.0.saturating_add(1);
    let stamp = Epoch(input.checked("the stamp of a flow", Decoder::u32, is_past)?);
    let is_state = |&state: &u8| State::new(state.into()).is_some();
    let state = input.checked("the state of a flow", Decoder::u8, is_state)?;
    let state = State::new(state.into()).unwrap_or(State::FIRST);
    Ok(Entry { key, state, stamp, links: Links { older: NONE, newer: NONE }, tag })
}
