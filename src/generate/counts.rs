//! Counts of flows, made while a trace is written.
//!
//! The counts have the names and meanings of `acsm inspect`. The flags of an address pair are kept
//! with the conversation that uses it and added up when that ends, so memory is proportional to the
//! active conversations, not to all flows. That works because the address plan gives each pair to
//! one conversation only. The tests count the written bytes again, independently.

use crate::flow::TcpFlags;

/// The TCP flags seen on one directed pair of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PairFlags(u8);

impl PairFlags {
    const SEEN: u8 = 1;
    const FIN: u8 = 1 << 1;
    const RST: u8 = 1 << 2;
    const SYN: u8 = 1 << 3;
    const NOT_OPENING: u8 = 1 << 4;
    const SYN_FIN: u8 = 1 << 5;
    const NULL: u8 = 1 << 6;
    const XMAS: u8 = 1 << 7;

    /// Adds a packet with these flags.
    pub fn add(&mut self, flags: TcpFlags) {
        let xmas = TcpFlags::FIN.with(TcpFlags::PSH).with(TcpFlags::URG);
        let conditions = [
            (true, Self::SEEN),
            (flags.has(TcpFlags::FIN), Self::FIN),
            (flags.has(TcpFlags::RST), Self::RST),
            (flags.has(TcpFlags::SYN), Self::SYN),
            (!flags.is_opening(), Self::NOT_OPENING),
            (flags.has(TcpFlags::SYN.with(TcpFlags::FIN)), Self::SYN_FIN),
            (flags == TcpFlags(0), Self::NULL),
            (flags.low_six() == xmas, Self::XMAS),
        ];
        for (holds, bit) in conditions {
            self.0 |= if holds { bit } else { 0 };
        }
    }

    /// Whether it had any packet.
    pub fn is_seen(self) -> bool {
        self.0 & Self::SEEN != 0
    }

    fn count(self, bit: u8) -> u64 {
        u64::from(self.0 & bit != 0)
    }
}

/// Counts of flows, with the meanings and names of `acsm inspect`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[allow(missing_docs)] // named as in the JSON contract
pub struct FlowCounts {
    pub flows: u64,
    pub flows_fin: u64,
    pub flows_rst: u64,
    pub flows_syn: u64,
    pub flows_syn_only: u64,
    pub flows_syn_fin: u64,
    pub flows_null: u64,
    pub flows_xmas: u64,
    pub five_tuples: u64,
}

impl FlowCounts {
    /// Adds a pair that has no more packets; one that never had any is not counted.
    pub fn add_pair(&mut self, pair: PairFlags) {
        if !pair.is_seen() {
            return;
        }
        self.flows += 1;
        self.flows_fin += pair.count(PairFlags::FIN);
        self.flows_rst += pair.count(PairFlags::RST);
        self.flows_syn += pair.count(PairFlags::SYN);
        self.flows_syn_only += 1 - pair.count(PairFlags::NOT_OPENING);
        self.flows_syn_fin += pair.count(PairFlags::SYN_FIN);
        self.flows_null += pair.count(PairFlags::NULL);
        self.flows_xmas += pair.count(PairFlags::XMAS);
    }

    /// Adds the counts of other flows.
    pub fn add(&mut self, other: &FlowCounts) {
        self.flows += other.flows;
        self.flows_fin += other.flows_fin;
        self.flows_rst += other.flows_rst;
        self.flows_syn += other.flows_syn;
        self.flows_syn_only += other.flows_syn_only;
        self.flows_syn_fin += other.flows_syn_fin;
        self.flows_null += other.flows_null;
        self.flows_xmas += other.flows_xmas;
        self.five_tuples += other.five_tuples;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_counted_once_in_each_count() {
        let mut counts = FlowCounts::default();
        let mut scanned = PairFlags::default();
        for flags in [0x02, 0xc2, 0x29, 0x29, 0x00, 0x03] {
            scanned.add(TcpFlags(flags));
        }
        counts.add_pair(scanned);
        let mut opening = PairFlags::default();
        opening.add(TcpFlags::SYN);
        counts.add_pair(opening);
        counts.add_pair(PairFlags::default());
        let expected = FlowCounts {
            flows: 2,
            flows_fin: 1,
            flows_syn: 2,
            flows_syn_only: 1,
            flows_syn_fin: 1,
            flows_null: 1,
            flows_xmas: 1,
            ..FlowCounts::default()
        };
        assert_eq!(counts, expected);
    }
}
