//! The handshakes seen last: what an incident looks back to when it opens.
//!
//! An alert comes seconds after what it is about: a scan is over before its first probe has timed out.
//! So the latest SYNs and SYN+ACKs are kept, [`CAPACITY`] of them, in capture order.

use std::net::IpAddr;

use crate::flow::{Packet, TcpFlags};
use crate::time::{NANOS_PER_SEC, Timestamp};

/// Handshake packets that are kept.
const CAPACITY: usize = 1 << 16;

/// How far back SYNs matter that a connection has not got beyond.
const PAST_NANOS: u64 = 120 * NANOS_PER_SEC;

/// Who of the ends of a connection has sent a SYN lately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PastSyns {
    /// The sender of the packet.
    pub of_sender: bool,
    /// Its receiver.
    pub of_other: bool,
    /// Whether all SYNs of that time are known.
    pub is_complete: bool,
}

/// What is kept of a SYN or SYN+ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handshake {
    /// When it was seen.
    pub time: Timestamp,
    /// Its ends.
    pub src: IpAddr,
    pub dst: IpAddr,
    pub src_port: u16,
    pub dst_port: u16,
    /// Sequence number of a SYN.
    pub sequence: u32,
    /// It is a SYN+ACK.
    pub is_answer: bool,
}

impl Handshake {
    /// Of this packet, if it is a SYN or a SYN+ACK.
    #[inline]
    pub fn of(packet: &Packet) -> Option<Handshake> {
        const RELEVANT: u8 = TcpFlags::SYN.0 | TcpFlags::FIN.0 | TcpFlags::RST.0;
        (packet.flags.0 & RELEVANT == TcpFlags::SYN.0).then(|| Handshake {
            time: packet.time,
            src: packet.src,
            dst: packet.dst,
            src_port: packet.src_port,
            dst_port: packet.dst_port,
            sequence: packet.sequence_sum,
            is_answer: packet.flags.has(TcpFlags::ACK),
        })
    }
}

/// A ring buffer of handshakes.
#[derive(Debug)]
pub struct RecentHandshakes {
    ring: Vec<Handshake>,
    /// Where the next one goes once the ring is full: the oldest one.
    next: usize,
}

impl RecentHandshakes {
    /// An empty ring; all its memory is reserved.
    pub fn new() -> RecentHandshakes {
        RecentHandshakes { ring: Vec::with_capacity(CAPACITY), next: 0 }
    }

    /// Adds one, in place of the oldest if there is no room.
    #[inline]
    pub fn add(&mut self, handshake: Handshake) {
        if self.ring.len() < CAPACITY {
            self.ring.push(handshake);
        } else if let Some(oldest) = self.ring.get_mut(self.next) {
            *oldest = handshake;
            self.next = (self.next + 1) % CAPACITY;
        }
    }

    /// Those kept, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Handshake> {
        let (later, earlier) = self.ring.split_at(self.next.min(self.ring.len()));
        earlier.iter().chain(later)
    }

    /// Which ends of a packet's connection have sent a SYN within two minutes before it.
    pub fn past_syns(&self, packet: &Packet) -> PastSyns {
        let from = Timestamp::from_nanos(packet.time.as_nanos().saturating_sub(PAST_NANOS));
        let mut past = PastSyns {
            is_complete: self.ring.len() < CAPACITY
                || self.iter().next().is_some_and(|oldest| oldest.time <= from),
            ..PastSyns::default()
        };
        let (src, dst) = ((packet.src, packet.src_port), (packet.dst, packet.dst_port));
        let latest = self.iter().rev().take_while(|seen| seen.time >= from);
        for seen in latest.filter(|seen| !seen.is_answer) {
            let ends = ((seen.src, seen.src_port), (seen.dst, seen.dst_port));
            past.of_sender |= ends == (src, dst);
            past.of_other |= ends == (dst, src);
            if past.of_sender && past.of_other {
                break;
            }
        }
        past
    }

    /// Those kept that are not older than `from`, oldest first.
    pub fn since(&self, from: Timestamp) -> impl DoubleEndedIterator<Item = &Handshake> {
        self.iter().filter(move |handshake| handshake.time >= from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_kept_in_order() {
        let mut recent = RecentHandshakes::new();
        let packet = Packet { flags: TcpFlags::SYN, ..Packet::UNSPECIFIED };
        let total = CAPACITY as u64 + 1000;
        for nanos in 0..total {
            let packet = Packet { time: Timestamp::from_nanos(nanos), ..packet };
            recent.add(Handshake::of(&packet).unwrap());
        }
        let kept: Vec<u64> = recent.iter().map(|seen| seen.time.as_nanos()).collect();
        assert!(kept.iter().copied().eq(1000..total));
        assert_eq!(recent.since(Timestamp::from_nanos(total - 5)).count(), 5);
    }

    #[test]
    fn only_packets_of_a_handshake_are_kept() {
        for (flags, kept) in
            [(0x02, true), (0x12, true), (0xc2, true), (0x10, false), (0x07, false)]
        {
            let packet = Packet { flags: TcpFlags(flags), ..Packet::UNSPECIFIED };
            assert_eq!(Handshake::of(&packet).is_some(), kept, "{flags:#x}");
        }
    }
}
