//! The document of `acsm inspect --json`.

use serde::Serialize;

use super::Facts;
use crate::flow::TcpFlags;
use crate::report::trace::TraceReport;

/// The document that `acsm inspect --json` prints.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs)] // docs/json.md describes each key
pub struct Summary {
    #[serde(flatten)]
    pub trace: TraceReport,
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
}

impl Summary {
    /// Summarises `facts`.
    pub fn new(facts: &Facts, trace: TraceReport) -> Self {
        Summary {
            trace,
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
        }
    }
}
