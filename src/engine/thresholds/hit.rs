//! What is reported when a count is reached, and what is known of its key by then.

use std::net::IpAddr;

use crate::flow::Packet;
use crate::machine::RuleId;
use crate::time::Timestamp;

/// A rule's count was reached, or what is known of a case has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThresholdHit {
    /// Which rule.
    pub rule: RuleId,
    /// How grave: the rule's severity, or that of the level that the count has reached.
    pub severity: u8,
    /// What the hit is in the course of its case.
    pub stage: HitStage,
    /// When: the time of a packet, or the time limit of a missing answer.
    pub time: Timestamp,
    /// The source address, if the rule counts per source.
    pub source: Option<IpAddr>,
    /// The destination address, if the rule counts per destination; of a prefix, its first address.
    pub destination: Option<IpAddr>,
    /// The packet that completed the count: for scans and floods, a first packet that failed.
    pub packet: Packet,
    /// The count in the window: a lower bound, apart from the error of distinct counts.
    pub count: u64,
    /// Events counted during the cool-down since the last hit for this key.
    pub suppressed: u64,
    /// What is known of the case.
    pub evidence: Evidence,
}

/// What a hit is in the course of its case. Only the first two are alerts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HitStage {
    /// A case begins: the count was reached.
    Start,
    /// The same case has reached a graver level.
    Rise,
    /// It goes on: its size has doubled since the last hit, or its minutes are up.
    Update,
    /// It is over: nothing was counted for a window.
    End,
}

impl HitStage {
    /// Whether the hit is an alert, and not only news of one that was raised before.
    pub const fn is_alert(self) -> bool {
        matches!(self, HitStage::Start | HitStage::Rise)
    }
}

/// What is known of a case: a rule that was reached for a key, until nothing more is counted. Each hit
/// of a case has the figures of the whole case so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Evidence {
    /// Its number, from 1 on; 0 where more cases are open at once than can be followed.
    pub case: u64,
    /// The first event in the window in which the count was reached, or later.
    pub first: Timestamp,
    /// The latest event.
    pub last: Timestamp,
    /// Events so far: packets of a flood, probes of a scan. An estimate where a sample was watched.
    pub total: u64,
    /// Most events within one second of packet time.
    pub peak_per_second: u64,
    /// About how many different sources they came from.
    pub sources: u64,
    /// About how many different hosts they went to.
    pub targets: u64,
    /// How many different ports they went to.
    pub ports: u32,
    /// The lowest of these ports; 0 fills the rest.
    pub lowest_ports: [u16; 8],
    /// Sources with the most events, and how many at least; `None` fills the rest.
    pub top_sources: [Option<(IpAddr, u64)>; 4],
    /// The source of at least four in five events, as far as they were looked at.
    pub main_source: Option<IpAddr>,
    /// Whether sources look forged: many, with about one event each, and not of one prefix.
    pub is_spoofed: bool,
    /// Whether the sources are known to be real, because they were heard from or answer themselves.
    pub has_real_sources: bool,
    /// The port of the victim, if the rule counts by port.
    pub port: Option<u16>,
    /// How long the prefix is that `destination` begins; `None` if it is a host.
    pub prefix_bits: Option<u8>,
    /// For floods of SYNs and of connections: how many of 1000 were not completed, or had no data.
    pub failed_permille: u16,
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Any hit.
    pub fn hit() -> ThresholdHit {
        ThresholdHit {
            rule: RuleId(0),
            severity: 3,
            stage: HitStage::Start,
            time: Timestamp::default(),
            source: None,
            destination: None,
            packet: Packet::UNSPECIFIED,
            count: 1,
            suppressed: 0,
            evidence: Evidence::default(),
        }
    }
}
