//! What a shard is asked and told about single flows, past the loop and the machine.

use super::batch::Event;
use super::shard::{PacketKey, ShardWork};
use super::shard_loop::StoreShard;
use crate::flow::{FlowId, FlowKey};
use acsm_filters::{Epoch, Lookup, Stamp, State, Store};

impl<S: Store<Key: PacketKey>> StoreShard<S> {
    /// Whether the flow of an event is in the store in this epoch.
    pub fn has(&mut self, work: &ShardWork<'_>, event: &Event, now: Epoch) -> bool {
        work.packets.get(event.index as usize).is_some_and(|packet| {
            let place = self.store.locate(event.id, S::Key::of(&work.rules.keyer, packet));
            self.store.has(&place, now)
        })
    }

    /// Adds the flow of an event in a state, past the machine.
    pub fn insert(&mut self, work: &ShardWork<'_>, event: &Event, state: State, stamp: Stamp) {
        if let Some(packet) = work.packets.get(event.index as usize) {
            let place = self.store.locate(event.id, S::Key::of(&work.rules.keyer, packet));
            self.store.insert(&place, state, stamp);
        }
    }

    /// What the store answers about a flow; nothing is touched or counted.
    pub(super) fn answer_about(&mut self, id: FlowId, key: FlowKey, now: Epoch) -> Lookup {
        let place = self.store.locate(id, S::Key::of_flow(key));
        self.store.lookup(&place, now).answer
    }

    /// Puts a flow into the store.
    pub(super) fn put_in(&mut self, id: FlowId, key: FlowKey, state: State, now: Epoch) {
        let place = self.store.locate(id, S::Key::of_flow(key));
        self.store.insert(&place, state, now.stamp());
    }
}
