//! The latest first packets that failed: when a count is reached, they tell which ports and hosts
//! were tried before.

use crate::flow::Packet;

/// How many are kept.
const KEPT: usize = 2048;

/// A ring of the latest failed first packets.
#[derive(Debug)]
pub(super) struct RecentFailures {
    packets: Vec<Packet>,
    next: usize,
}

impl RecentFailures {
    pub fn new() -> Self {
        RecentFailures { packets: Vec::with_capacity(KEPT), next: 0 }
    }

    /// Adds one; the oldest is forgotten.
    #[inline]
    pub fn push(&mut self, packet: &Packet) {
        match self.packets.get_mut(self.next) {
            Some(place) => *place = *packet,
            None => self.packets.push(*packet), // within the capacity
        }
        self.next = (self.next + 1) % KEPT;
    }

    /// Those that are not older than `since_nanos`.
    pub fn since(&self, since_nanos: u64) -> impl Iterator<Item = &Packet> {
        self.packets.iter().filter(move |packet| packet.time.as_nanos() >= since_nanos)
    }

    pub fn memory_bytes(&self) -> usize {
        KEPT * size_of::<Packet>()
    }
}
