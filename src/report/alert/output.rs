//! The engine's [`Sink`]: writes alerts as EVE or text, and the steps of the watched flow as text.

use std::io::{self, Write as _};

use super::lines::LineOutput;
use super::text::{AlertText, step_text};
use super::{Names, eve};
use crate::engine::{Alert, Sink, WatchStep};

/// An open output for alerts, with its format.
#[derive(Debug)]
pub enum AlertTarget {
    /// Alerts are counted, not written.
    None,
    /// EVE JSON, one object per line.
    Eve(LineOutput),
    /// Text, one alert per line.
    Text {
        /// The output.
        lines: LineOutput,
        /// Whether to keep ANSI colours.
        colours: bool,
    },
}

impl AlertTarget {
    /// Text on standard output, coloured where that is supported.
    pub fn text_on_stdout() -> Self {
        let colours = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
        AlertTarget::Text { lines: LineOutput::stdout(), colours }
    }

    /// EVE lines on standard output.
    pub fn eve_on_stdout() -> Self {
        AlertTarget::Eve(LineOutput::stdout())
    }
}

/// Writes what the engine finds to an [`AlertTarget`].
#[derive(Debug)]
pub struct AlertOutput {
    names: Names,
    min_severity: u8,
    target: AlertTarget,
}

impl AlertOutput {
    /// Writes alerts of severity 1 to `min_severity` to `target`.
    pub fn new(names: Names, min_severity: u8, target: AlertTarget) -> Self {
        AlertOutput { names, min_severity, target }
    }

    /// Uses these names from now on.
    pub fn set_names(&mut self, names: Names) {
        self.names = names;
    }

    /// Flushes the current target and uses `target` from now on.
    pub fn set_target(&mut self, target: AlertTarget) -> io::Result<()> {
        self.flush()?;
        self.target = target;
        Ok(())
    }

    /// Writes another EVE event, the line that `line` appends; skipped unless the target is EVE.
    pub fn event(&mut self, line: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        match &mut self.target {
            AlertTarget::Eve(lines) => lines.line(line).and_then(|()| lines.flush()),
            AlertTarget::None | AlertTarget::Text { .. } => Ok(()),
        }
    }
}

impl Sink for AlertOutput {
    fn alert(&mut self, alert: &Alert) -> io::Result<()> {
        let names = &self.names;
        let Some(rule) = names.rules.list.get(alert.rule) else { return Ok(()) };
        if rule.severity > self.min_severity {
            return Ok(());
        }
        match &mut self.target {
            AlertTarget::None => Ok(()),
            AlertTarget::Eve(lines) => lines.line(|out| eve::append(names, alert, rule, out)),
            AlertTarget::Text { lines, colours } => {
                let text = AlertText { names, rule, alert }.to_string();
                lines.line(|out| append_text(out, &text, *colours))
            }
        }
    }

    /// Steps go where text alerts go; if alerts are not text, to standard error.
    fn step(&mut self, step: &WatchStep) -> io::Result<()> {
        let text = step_text(&self.names, step);
        match &mut self.target {
            AlertTarget::Text { lines, colours } => {
                lines.line(|out| append_text(out, &text, *colours))
            }
            AlertTarget::None | AlertTarget::Eve(_) => {
                // A closed standard error is no reason to stop.
                let _ = writeln!(io::stderr(), "{text}");
                Ok(())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            AlertTarget::None => Ok(()),
            AlertTarget::Eve(lines) | AlertTarget::Text { lines, .. } => lines.flush(),
        }
    }
}

fn append_text(out: &mut Vec<u8>, text: &str, colours: bool) {
    match colours {
        true => out.extend_from_slice(text.as_bytes()),
        false => out.extend(anstream::adapter::strip_str(text).flat_map(str::bytes)),
    }
    out.push(b'\n');
}
