//! The latest packets of a kind that is counted, such as first packets that failed: when a count is reached,
//! they tell who sent them, and which ports and hosts were tried before.

use crate::flow::Packet;

/// A ring of the latest packets of a kind.
#[derive(Debug)]
pub(super) struct RecentPackets {
    packets: Vec<Packet>,
    next: usize,
    kept: usize,
}

impl RecentPackets {
    /// Room for this many.
    pub fn new(kept: usize) -> Self {
        RecentPackets { packets: Vec::with_capacity(kept), next: 0, kept: kept.max(1) }
    }

    /// Adds one; the oldest is forgotten.
    #[inline]
    pub fn push(&mut self, packet: &Packet) {
        match self.packets.get_mut(self.next) {
            Some(place) => *place = *packet,
            None => self.packets.push(*packet), // within the capacity
        }
        self.next = (self.next + 1) % self.kept;
    }

    /// Those that are not older than `since_nanos`.
    pub fn since(&self, since_nanos: u64) -> impl Iterator<Item = &Packet> {
        self.packets.iter().filter(move |packet| packet.time.as_nanos() >= since_nanos)
    }

    pub fn memory_bytes(&self) -> usize {
        self.kept * size_of::<Packet>()
    }
}
