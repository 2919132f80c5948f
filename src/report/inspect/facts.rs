//! Counting, frame by frame. Memory follows the number of flows, not of packets.

use super::digested::{Digester, FlowMap, FlowSet};
use crate::capture::FrameCounts;
use crate::capture::parse::Skip;
use crate::flow::{FlowKeyKind, Packet, TcpFlags};
use crate::time::Timestamp;

const SYN_FIN: TcpFlags = TcpFlags::SYN.with(TcpFlags::FIN);
const XMAS: TcpFlags = TcpFlags::FIN.with(TcpFlags::PSH).with(TcpFlags::URG);

/// Everything that is counted about a trace.
#[derive(Debug)]
pub struct Facts {
    /// Frames, TCP packets, what was skipped, the time span.
    pub frames: FrameCounts,
    /// TCP packets over IPv6.
    pub ipv6_tcp_packets: u64,
    /// TCP packets that carry each flag, in the order of [`TcpFlags::NAMED`].
    pub flag_packets: [u64; 8],
    /// TCP packets without any flag.
    pub null_packets: u64,
    /// Per directed address pair.
    pub flows: FlowMap<FlowFacts>,
    /// Directed 5-tuples.
    pub five_tuples: FlowSet,
    by_pair: Digester,
    by_five_tuple: Digester,
}

impl Default for Facts {
    fn default() -> Self {
        Facts {
            frames: FrameCounts::default(),
            ipv6_tcp_packets: 0,
            flag_packets: [0; 8],
            null_packets: 0,
            flows: FlowMap::default(),
            five_tuples: FlowSet::default(),
            by_pair: Digester::new(FlowKeyKind::Pair),
            by_five_tuple: Digester::new(FlowKeyKind::FiveTuple),
        }
    }
}

/// What is counted about one flow (a directed address pair).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowFacts {
    /// TCP packets.
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
    /// Packets with SYN and without ACK.
    openings: u64,
    flags_seen: TcpFlags,
    syn_fin: bool,
    null: bool,
    xmas: bool,
}

impl Facts {
    /// Counts one frame and what the parser made of it.
    pub fn add(&mut self, time: Timestamp, parsed: &Result<Packet, Skip>) {
        match parsed {
            Ok(packet) => {
                self.frames.add(time, Ok(packet.wire_bytes));
                self.add_tcp(packet);
            }
            Err(skip) => self.frames.add(time, Err(*skip)),
        }
    }

    fn add_tcp(&mut self, packet: &Packet) {
        self.ipv6_tcp_packets += u64::from(packet.src.is_ipv6());
        self.null_packets += u64::from(packet.flags == TcpFlags::default());
        for ((flag, _), count) in TcpFlags::NAMED.iter().zip(&mut self.flag_packets) {
            *count += u64::from(packet.flags.has(*flag));
        }
        self.five_tuples.insert(self.by_five_tuple.flow(packet));
        self.flows.entry(self.by_pair.flow(packet)).or_default().add(packet);
    }

    /// How many flows are as `is` says.
    pub fn count_flows(&self, is: impl Fn(&FlowFacts) -> bool) -> u64 {
        self.flows.values().filter(|flow| is(flow)).count() as u64
    }
}

impl FlowFacts {
    fn add(&mut self, packet: &Packet) {
        let flags = packet.flags;
        self.packets += 1;
        self.bytes += u64::from(packet.wire_bytes);
        self.openings += u64::from(flags.is_opening());
        self.flags_seen = self.flags_seen.with(flags);
        self.syn_fin |= flags.has(SYN_FIN);
        self.null |= flags == TcpFlags::default();
        self.xmas |= flags.low_six() == XMAS;
    }

    /// Whether any packet carried `flag`.
    pub fn has(&self, flag: TcpFlags) -> bool {
        self.flags_seen.has(flag)
    }

    /// Whether every packet was a SYN without ACK.
    pub fn is_syn_only(&self) -> bool {
        self.openings == self.packets
    }

    /// Whether a packet carried SYN and FIN together.
    pub fn has_syn_fin(&self) -> bool {
        self.syn_fin
    }

    /// Whether a packet carried none of the eight flags.
    pub fn has_null(&self) -> bool {
        self.null
    }

    /// Whether a packet carried exactly FIN, PSH and URG of the low six flags.
    pub fn has_xmas(&self) -> bool {
        self.xmas
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(flags: u8) -> Packet {
        Packet {
            time: Timestamp::default(),
            src: "192.0.2.1".parse().unwrap(),
            dst: "192.0.2.2".parse().unwrap(),
            src_port: 1000,
            dst_port: 80,
            flags: TcpFlags(flags),
            vlan: [0; 2],
            payload_bytes: 0,
            wire_bytes: 60,
        }
    }

    fn facts_of(flags: &[u8]) -> FlowFacts {
        let mut facts = Facts::default();
        for &flags in flags {
            facts.add(Timestamp::default(), &Ok(packet(flags)));
        }
        *facts.flows.values().next().unwrap()
    }

    #[test]
    fn flows_are_what_any_or_every_packet_says() {
        let scan = facts_of(&[0x02, 0xc2]);
        assert!(scan.is_syn_only() && scan.has(TcpFlags::SYN) && !scan.has_null());
        let answered = facts_of(&[0x02, 0x12]);
        assert!(!answered.is_syn_only());
        assert!(facts_of(&[0x10, 0x00]).has_null());
        assert!(!facts_of(&[0x40]).has_null(), "ECE is one of the eight flags");
        assert!(facts_of(&[0x29 | 0x80]).has_xmas(), "CWR is not one of the low six");
        assert!(!facts_of(&[0x39]).has_xmas());
        assert!(facts_of(&[0x03]).has_syn_fin());
        assert!(!facts_of(&[0x02, 0x01]).has_syn_fin(), "one packet must carry both");
    }

    #[test]
    fn packets_are_tcp_packets_plus_skipped() {
        let mut facts = Facts::default();
        facts.add(Timestamp::new(5, 0), &Ok(packet(0x11)));
        facts.add(Timestamp::new(3, 0), &Err(Skip::ALL[0]));
        let frames = &facts.frames;
        assert_eq!(frames.packets, frames.tcp_packets + frames.skipped.total());
        assert_eq!(frames.span, Some((Timestamp::new(3, 0), Timestamp::new(5, 0))));
        assert_eq!(facts.flag_packets, [1, 0, 0, 0, 1, 0, 0, 0]);
    }
}
