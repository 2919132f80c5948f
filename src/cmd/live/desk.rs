//! Where alerts of a live run arrive: shared by the sink that the engine feeds and by the watcher.

use std::cell::RefCell;
use std::io;

use anyhow::Context as _;

use crate::capture::record::Recorder;
use crate::cmd::alert_output::{AlertDestination, ExistingFile};
use crate::engine::{Alert, Sink, WatchStep};
use crate::machine::Rules;
use crate::report::alert::{AlertOutput, Names};
use crate::report::live::LatestAlerts;

/// Shows alerts, remembers the latest, and tells the recorder.
pub struct Desk<'a> {
    output: AlertOutput<'a>,
    pub latest: LatestAlerts,
    names: Names<'a>,
    min_severity: u8,
    recorder: Option<&'a RefCell<Recorder>>,
    /// Where alerts go; a file is opened again when asked to.
    destination: AlertDestination,
    /// Why an event could not be written.
    failure: Option<io::Error>,
}

impl<'a> Desk<'a> {
    /// Writes alerts of severity 1 to `min_severity` to `destination`; an existing file is appended to.
    pub fn new(
        destination: AlertDestination,
        names: Names<'a>,
        min_severity: u8,
        recorder: Option<&'a RefCell<Recorder>>,
    ) -> anyhow::Result<Desk<'a>> {
        let target = destination.open(ExistingFile::Append)?;
        let output = AlertOutput::new(names, min_severity, target);
        let latest = LatestAlerts::default();
        Ok(Desk { output, latest, names, min_severity, recorder, destination, failure: None })
    }

    /// Alerts go by these rules from here on.
    pub fn follow(&mut self, rules: &'a Rules) {
        self.names.rules = rules;
        self.output.set_names(self.names);
    }

    /// Opens the alert file anew: the old one was moved away (log rotation).
    pub fn reopen(&mut self) -> anyhow::Result<()> {
        if self.destination.file().is_some() {
            let target = self.destination.open(ExistingFile::Append)?;
            self.output.set_target(target).context("cannot write alerts")?;
        }
        Ok(())
    }

    /// Writes an event that is no alert, where events go; says whether that worked.
    pub fn event(&mut self, line: impl FnOnce(&mut Vec<u8>)) -> bool {
        self.failure = self.output.event(line).err();
        self.failure.is_none()
    }

    /// Why the last event could not be written, if so. Alerts tell the engine themselves.
    pub fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    fn alert(&mut self, alert: &Alert) -> io::Result<()> {
        if let Some(recorder) = self.recorder {
            recorder.borrow_mut().alert(alert.flow);
        }
        if let Some(rule) = self.names.rules.book.get(alert.rule)
            && rule.severity <= self.min_severity
        {
            self.latest.add(alert, rule);
        }
        self.output.alert(alert)
    }
}

/// The engine's way to a desk.
pub struct DeskSink<'d, 'a>(pub &'d RefCell<Desk<'a>>);

impl Sink for DeskSink<'_, '_> {
    fn alert(&mut self, alert: &Alert) -> io::Result<()> {
        self.0.borrow_mut().alert(alert)
    }

    fn step(&mut self, step: &WatchStep) -> io::Result<()> {
        self.0.borrow_mut().output.step(step)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.borrow_mut().output.flush()
    }
}
