//! Where alerts of a live run arrive: shared by the sink that the engine feeds and by the watcher.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use anyhow::Context as _;

use crate::capture::record::Recorder;
use crate::cmd::run_args::RunArgs;
use crate::engine::{Alert, Sink, WatchStep};
use crate::machine::Rules;
use crate::report::alert::{AlertOutput, AlertTarget, LineOutput, Names};
use crate::report::live::LatestAlerts;

/// Shows alerts, remembers the latest, and tells the recorder.
pub struct Desk<'a> {
    output: AlertOutput<'a>,
    pub latest: LatestAlerts,
    names: Names<'a>,
    min_severity: u8,
    recorder: Option<&'a RefCell<Recorder>>,
    /// The file to open again when asked to.
    alerts_file: Option<PathBuf>,
    /// Why an event could not be written.
    failure: Option<io::Error>,
}

impl<'a> Desk<'a> {
    /// A desk for alerts as `args` want them; a dashboard shows the latest by itself.
    pub fn new(
        args: &RunArgs,
        names: Names<'a>,
        recorder: Option<&'a RefCell<Recorder>>,
        has_dashboard: bool,
    ) -> anyhow::Result<Desk<'a>> {
        let alerts_file = args.alerts.clone().filter(|_| !args.alerts_on_stdout());
        let target = match &alerts_file {
            Some(path) => file_target(path)?,
            None if args.alerts_on_stdout() => AlertTarget::Eve(LineOutput::stdout()),
            None if args.json || has_dashboard => AlertTarget::Nowhere,
            None if shows_text() => AlertTarget::Text {
                lines: LineOutput::stdout(),
                colours: anstream::AutoStream::choice(&io::stdout())
                    != anstream::ColorChoice::Never,
            },
            None => AlertTarget::Eve(LineOutput::stdout()),
        };
        let min_severity = args.rules.min_severity;
        let output = AlertOutput::new(names, min_severity, target);
        let latest = LatestAlerts::default();
        Ok(Desk { output, latest, names, min_severity, recorder, alerts_file, failure: None })
    }

    /// Alerts go by these rules from here on.
    pub fn follow(&mut self, rules: &'a Rules) {
        self.names.rules = rules;
        self.output.set_names(self.names);
    }

    /// Opens the alert file anew: the old one was moved away (log rotation).
    pub fn reopen(&mut self) -> anyhow::Result<()> {
        if let Some(path) = &self.alerts_file {
            let target = file_target(path)?;
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
        if let Some(rule) = self.names.rules.list.get(alert.rule)
            && rule.severity <= self.min_severity
        {
            self.latest.add(alert, rule);
        }
        self.output.alert(alert)
    }
}

/// People look at a terminal; anything else gets EVE lines.
pub fn shows_text() -> bool {
    io::stdout().is_terminal()
}

/// Appends: alerts of an earlier run, or of before the reopening, stay.
fn file_target(path: &PathBuf) -> anyhow::Result<AlertTarget> {
    let file = File::options().create(true).append(true).open(path);
    let file = file.with_context(|| format!("--alerts {}", path.display()))?;
    LineOutput::append(file)
        .map(AlertTarget::Eve)
        .with_context(|| format!("--alerts {}", path.display()))
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
