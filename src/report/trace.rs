//! The part of every report that describes its trace.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::capture::{Damage, FrameCounts, LinkType};

/// `trace` in the JSON documents; `docs/json.md` describes the keys.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceReport {
    /// Frames of any kind.
    pub packets: u64,
    /// Frames with a TCP header that could be parsed.
    pub tcp_packets: u64,
    /// The other frames, by reason.
    pub skipped: Map<String, Value>,
    /// Names of the link types found.
    pub link_types: Vec<String>,
    /// The earliest time of any frame.
    pub first_time: Option<String>,
    /// The latest time of any frame.
    pub last_time: Option<String>,
    /// Damage of the captures, with its byte offset.
    pub damaged: Option<String>,
}

impl TraceReport {
    /// Describes what was read.
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
