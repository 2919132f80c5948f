//! The path of alerts in a live run: to the output, the recorder, and the list of latest alerts.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use serde::Serialize;

use crate::capture::record::Recorder;
use crate::engine::{Alert, IncidentEvent, OverloadEvent, Sink, WatchStep};
use crate::machine::{Rule, Rules};
use crate::report::alert::{AlertOutput, AlertTarget, Names};

/// Length of the list of latest alerts.
const LATEST_MAX: usize = 256;

/// An alert as displays show it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)] // named as in EVE lines
pub struct SeenAlert {
    /// Sequence number, from 1: tells a reader which alerts are new.
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

/// A ring buffer of the latest alerts.
#[derive(Debug, Default)]
struct LatestAlerts {
    alerts: VecDeque<SeenAlert>,
    added: u64,
}

impl LatestAlerts {
    fn add(&mut self, alert: &Alert, rule: &Rule) {
        self.added += 1;
        if self.alerts.len() == LATEST_MAX {
            self.alerts.pop_front();
        }
        let packet = &alert.packet;
        self.alerts.push_back(SeenAlert {
            number: self.added,
            time: alert.time.to_string(),
            rule: rule.name.clone(),
            message: rule.message.clone(),
            severity: alert.severity,
            src_ip: packet.src,
            src_port: packet.src_port,
            dest_ip: packet.dst,
            dest_port: packet.dst_port,
            tcp_flags: packet.flags.to_string(),
            count: alert.count,
        });
    }
}

/// Distributes each alert to the output, the recorder and the list of latest alerts. Shared by the
/// engine, which raises alerts through an [`AlertSink`], and by the monitor.
pub struct AlertFanout<'a> {
    output: AlertOutput,
    latest: LatestAlerts,
    names: Names,
    min_severity: u8,
    recorder: Option<&'a RefCell<Recorder>>,
    /// Why an event could not be written.
    failure: Option<io::Error>,
}

impl<'a> AlertFanout<'a> {
    /// Shows alerts of `min_severity` and more severe ones on `target`.
    pub fn new(
        names: Names,
        min_severity: u8,
        target: AlertTarget,
        recorder: Option<&'a RefCell<Recorder>>,
    ) -> AlertFanout<'a> {
        let output = AlertOutput::new(names.clone(), min_severity, target);
        let latest = LatestAlerts::default();
        AlertFanout { output, latest, names, min_severity, recorder, failure: None }
    }

    /// Uses the names of these rules from here on.
    pub fn set_rules(&mut self, rules: &Arc<Rules>) {
        self.names.rules = Arc::clone(rules);
        self.output.set_names(self.names.clone());
    }

    /// Writes alerts to `target` from here on.
    pub fn set_target(&mut self, target: AlertTarget) -> io::Result<()> {
        self.output.set_target(target)
    }

    /// The latest alerts, oldest first.
    pub fn latest(&self) -> Vec<SeenAlert> {
        self.latest.alerts.iter().cloned().collect()
    }

    /// Writes an event other than an alert. Returns whether that succeeded.
    pub fn event(&mut self, line: impl FnOnce(&mut Vec<u8>)) -> bool {
        self.failure = self.output.event(line).err();
        self.failure.is_none()
    }

    /// The error of the last event, if it failed. Errors of alerts reach the engine directly.
    pub fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    fn alert(&mut self, alert: &Alert) -> io::Result<()> {
        if let Some(recorder) = self.recorder {
            recorder.borrow_mut().alert(alert.flow);
        }
        if let Some(rule) = self.names.rules.list.get(alert.rule)
            && alert.severity <= self.min_severity
        {
            self.latest.add(alert, rule);
        }
        self.output.alert(alert)
    }
}

/// The engine's access to an [`AlertFanout`].
pub struct AlertSink<'f, 'a>(pub &'f RefCell<AlertFanout<'a>>);

impl Sink for AlertSink<'_, '_> {
    fn alert(&mut self, alert: &Alert) -> io::Result<()> {
        self.0.borrow_mut().alert(alert)
    }

    fn step(&mut self, step: &WatchStep) -> io::Result<()> {
        self.0.borrow_mut().output.step(step)
    }

    fn overload(&mut self, event: &OverloadEvent) -> io::Result<()> {
        self.0.borrow_mut().output.overload(event)
    }

    fn incident(&mut self, event: &IncidentEvent) -> io::Result<()> {
        self.0.borrow_mut().output.incident(event)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.borrow_mut().output.flush()
    }
}
