//! The document of `acsm inspect --json`.

use serde::Serialize;

use super::Totals;
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
    /// Summarises the sums over all flows.
    pub fn new(totals: &Totals, trace: TraceReport) -> Self {
        Summary {
            trace,
            flows: totals.flows,
            flows_fin: totals.flows_with(TcpFlags::FIN),
            flows_rst: totals.flows_with(TcpFlags::RST),
            flows_syn: totals.flows_with(TcpFlags::SYN),
            flows_syn_only: totals.syn_only_flows,
            flows_syn_fin: totals.syn_fin_flows,
            flows_null: totals.null_flows,
            flows_xmas: totals.xmas_flows,
            five_tuples: totals.five_tuples,
            ipv6_tcp_packets: totals.ipv6_tcp_packets,
        }
    }
}
