//! The latest alerts, as many as a screen or two can show.

use std::collections::VecDeque;
use std::net::IpAddr;

use serde::Serialize;

use crate::engine::Alert;
use crate::machine::Rule;

/// So many are kept.
const KEPT: usize = 256;

/// An alert as dashboards show it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)] // named as in EVE lines
pub struct SeenAlert {
    /// Counts up from 1: tells a reader which ones are new.
    pub number: u64,
    pub time: String,
    pub rule: String,
    pub message: String,
    pub severity: u8,
    pub src_ip: IpAddr,
    pub src_port: u16,
    pub dest_ip: IpAddr,
    pub dest_port: u16,
    pub tcp_flags: String,
    pub count: Option<u64>,
}

/// A ring of the latest alerts.
#[derive(Debug, Default)]
pub struct LatestAlerts {
    alerts: VecDeque<SeenAlert>,
    seen: u64,
}

impl LatestAlerts {
    /// Adds an alert of `rule`; the oldest may go.
    pub fn add(&mut self, alert: &Alert, rule: &Rule) {
        self.seen += 1;
        if self.alerts.len() == KEPT {
            self.alerts.pop_front();
        }
        let packet = &alert.packet;
        self.alerts.push_back(SeenAlert {
            number: self.seen,
            time: alert.time.to_string(),
            rule: rule.name.clone(),
            message: rule.message.clone(),
            severity: rule.severity,
            src_ip: packet.src,
            src_port: packet.src_port,
            dest_ip: packet.dst,
            dest_port: packet.dst_port,
            tcp_flags: packet.flags.to_string(),
            count: alert.count,
        });
    }

    /// All of them, oldest first.
    pub fn list(&self) -> Vec<SeenAlert> {
        self.alerts.iter().cloned().collect()
    }
}
