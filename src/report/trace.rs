//! What every report says about the trace it is of.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::capture::{Damage, FrameCounts, LinkType};

/// `trace` of the contract.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceReport {
    /// Frames of any kind.
    pub packets: u64,
    /// Frames with a TCP header that counts.
    pub tcp_packets: u64,
    /// The others, by reason.
    pub skipped: Map<String, Value>,
    /// Names of the link types met.
    pub link_types: Vec<String>,
    /// The earliest time of any frame.
    pub first_time: Option<String>,
    /// The latest.
    pub last_time: Option<String>,
    /// What was wrong with the captures, and at which byte.
    pub damaged: Option<String>,
}

impl TraceReport {
    /// The contract's view of what was read.
    pub fn new(frames: &FrameCounts, link_types: &[LinkType], damages: &[Damage]) -> Self {
        let mut names: Vec<String> = link_types.iter().map(LinkType::to_string).collect();
        names.dedup();
        let damages: Vec<String> = damages.iter().map(Damage::to_string).collect();
        TraceReport {
            packets: frames.packets,
            tcp_packets: frames.tcp_packets,
            skipped: frames.skipped.iter().map(|(why, n)| (why.name().into(), n.into())).collect(),
            link_types: names,
            first_time: frames.span.map(|(first, _)| first.to_string()),
            last_time: frames.span.map(|(_, last)| last.to_string()),
            damaged: (!damages.is_empty()).then(|| damages.join("; ")),
        }
    }
}
