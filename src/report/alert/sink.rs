//! The engine's [`Sink`]: alerts as EVE or text, steps of the watched flow as text.

use std::io::{self, Write as _};

use super::{AlertText, Eve, LineOutput, Names, step_text};
use crate::engine::{Alert, Sink, WatchStep};

/// Where alerts go, and how they look there.
#[derive(Debug)]
pub enum AlertTarget {
    /// Nowhere: they are only counted.
    Nowhere,
    /// One EVE object a line.
    Eve(LineOutput),
    /// One line for people.
    Text {
        /// Where to.
        lines: LineOutput,
        /// Whether somebody can see colours there.
        colours: bool,
    },
}

/// Hands on what the engine finds.
#[derive(Debug)]
pub struct AlertOutput<'a> {
    names: Names<'a>,
    min_severity: u8,
    target: AlertTarget,
}

impl<'a> AlertOutput<'a> {
    /// Shows alerts of `min_severity` and graver on `target`.
    pub fn new(names: Names<'a>, min_severity: u8, target: AlertTarget) -> Self {
        AlertOutput { names, min_severity, target }
    }

    /// Alerts go by these names from here on.
    pub fn set_names(&mut self, names: Names<'a>) {
        self.names = names;
    }

    /// Alerts go there from here on; what was gathered for the old place is written first.
    pub fn set_target(&mut self, target: AlertTarget) -> io::Result<()> {
        self.flush()?;
        self.target = target;
        Ok(())
    }

    /// Takes another EVE event: what `line` appends. Where people read, it is left out.
    pub fn event(&mut self, line: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        match &mut self.target {
            AlertTarget::Eve(lines) => lines.line(line).and_then(|()| lines.flush()),
            AlertTarget::Nowhere | AlertTarget::Text { .. } => Ok(()),
        }
    }
}

impl Sink for AlertOutput<'_> {
    fn alert(&mut self, alert: &Alert) -> io::Result<()> {
        let names = self.names;
        let Some(rule) = names.rules.list.get(alert.rule) else { return Ok(()) };
        if rule.severity > self.min_severity {
            return Ok(());
        }
        match &mut self.target {
            AlertTarget::Nowhere => Ok(()),
            AlertTarget::Eve(lines) => lines.line(|out| Eve::new(names).append(alert, rule, out)),
            AlertTarget::Text { lines, colours } => {
                let text = AlertText { names, rule, alert }.to_string();
                lines.line(|out| append_text(out, &text, *colours))
            }
        }
    }

    /// Steps join text alerts; beside anything that a program reads they go to standard error.
    fn step(&mut self, step: &WatchStep) -> io::Result<()> {
        let text = step_text(self.names, step);
        match &mut self.target {
            AlertTarget::Text { lines, colours } => {
                lines.line(|out| append_text(out, &text, *colours))
            }
            _ => {
                // Whoever closed standard error does not want to see them.
                let _ = writeln!(io::stderr(), "{text}");
                Ok(())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            AlertTarget::Nowhere => Ok(()),
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
