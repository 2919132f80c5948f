//! What a threshold rule says when its count is reached.

use std::net::IpAddr;

use crate::flow::Packet;
use crate::machine::RuleId;
use crate::time::Timestamp;

/// A rule's count was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThresholdHit {
    /// Which rule.
    pub rule: RuleId,
    /// When: the time of a packet, or when waiting for one ended.
    pub time: Timestamp,
    /// The source address, if the rule counts per source.
    pub source: Option<IpAddr>,
    /// The destination address, if the rule counts per destination.
    pub destination: Option<IpAddr>,
    /// The packet that was one too many: for scans and floods the first packet that failed.
    pub packet: Packet,
    /// How many there were in the window: at least this many, but for the error of distinct counts.
    pub count: u64,
    /// How many were counted in silence since the last hit for this key.
    pub suppressed: u64,
}
