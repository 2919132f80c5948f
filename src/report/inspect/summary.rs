//! `inspect --json`: the names that programs rely on.

use serde::Serialize;
use serde_json::{Map, Value};

use super::Facts;
use crate::capture::{Damage, LinkType};
use crate::flow::TcpFlags;

/// The one document that `acsm inspect --json` prints.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs)] // the contract in docs/json.md describes each name
pub struct Summary {
    pub packets: u64,
    pub tcp_packets: u64,
    pub flows: u64,
    pub flows_fin: u64,
    pub flows_rst: u64,
    pub flows_syn: u64,
    pub flows_syn_only: u64,
    pub flows_syn_fin: u64,
    pub flows_null: u64,
    pub flows_xmas: u64,
    pub five_tuples: u64,
    pub ipv6_tcp_packets: u64,
    pub skipped: Map<String, Value>,
    pub link_types: Vec<String>,
    pub first_time: Option<String>,
    pub last_time: Option<String>,
    pub damaged: Option<String>,
}

impl Summary {
    /// The contract's view of `facts`.
    pub fn new(facts: &Facts, link_types: &[LinkType], damages: &[Damage]) -> Self {
        Summary {
            packets: facts.frames.packets,
            tcp_packets: facts.frames.tcp_packets,
            flows: facts.flows.len() as u64,
            flows_fin: facts.count_flows(|flow| flow.has(TcpFlags::FIN)),
            flows_rst: facts.count_flows(|flow| flow.has(TcpFlags::RST)),
            flows_syn: facts.count_flows(|flow| flow.has(TcpFlags::SYN)),
            flows_syn_only: facts.count_flows(|flow| flow.is_syn_only()),
            flows_syn_fin: facts.count_flows(|flow| flow.has_syn_fin()),
            flows_null: facts.count_flows(|flow| flow.has_null()),
            flows_xmas: facts.count_flows(|flow| flow.has_xmas()),
            five_tuples: facts.five_tuples.len() as u64,
            ipv6_tcp_packets: facts.ipv6_tcp_packets,
            skipped: facts
                .frames
                .skipped
                .iter()
                .map(|(skip, n)| (skip.name().into(), n.into()))
                .collect(),
            link_types: link_types.iter().map(LinkType::to_string).collect(),
            first_time: facts.frames.span.map(|(first, _)| first.to_string()),
            last_time: facts.frames.span.map(|(_, last)| last.to_string()),
            damaged: damage_text(damages),
        }
    }
}

/// All damage of a run in one string; `None` if there was none.
fn damage_text(damages: &[Damage]) -> Option<String> {
    let texts: Vec<String> = damages.iter().map(Damage::to_string).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}
