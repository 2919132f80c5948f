//! The engine's [`Sink`]: writes alerts as EVE or text, and the steps of the watched flow as text, in
//! whole lines: a full disk does not leave half a line.

use std::fs::File;
use std::io::{self, Write};

use super::text::{AlertText, step_text};
use super::{Names, anomaly, eve, incident};
use crate::engine::{Alert, IncidentEvent, OverloadEvent, Sink, WatchStep};
use crate::machine::RuleKind;

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
        /// Which alerts are written.
        alerts: TextAlerts,
    },
}

/// Alerts that are written as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextAlerts {
    /// Marks alone: incidents tell of the others.
    Marks,
    /// All.
    All,
}

impl AlertTarget {
    /// Text on standard output, coloured where that is supported.
    pub fn text_on_stdout(alerts: TextAlerts) -> Self {
        let colours = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
        AlertTarget::Text { lines: LineOutput::stdout(), colours, alerts }
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
        if alert.severity > self.min_severity {
            return Ok(());
        }
        match &mut self.target {
            AlertTarget::None => Ok(()),
            AlertTarget::Eve(lines) => lines.line(|out| eve::append(names, alert, rule, out)),
            AlertTarget::Text { alerts: TextAlerts::Marks, .. } if rule.kind != RuleKind::Mark => {
                Ok(())
            }
            AlertTarget::Text { lines, colours, .. } => {
                let text = AlertText { names, rule, alert }.to_string();
                lines.line(|out| append_text(out, &text, *colours))
            }
        }
    }

    /// Steps go where text alerts go; if alerts are not text, to standard error.
    fn step(&mut self, step: &WatchStep) -> io::Result<()> {
        let text = step_text(&self.names, step);
        match &mut self.target {
            AlertTarget::Text { lines, colours, .. } => {
                lines.line(|out| append_text(out, &text, *colours))
            }
            AlertTarget::None | AlertTarget::Eve(_) => {
                // A closed standard error is no reason to stop.
                let _ = writeln!(io::stderr(), "{text}");
                Ok(())
            }
        }
    }

    fn overload(&mut self, event: &OverloadEvent) -> io::Result<()> {
        match &mut self.target {
            AlertTarget::Eve(lines) => lines.line(|out| anomaly::append(event, out)),
            AlertTarget::None | AlertTarget::Text { .. } => Ok(()),
        }
    }

    fn incident(&mut self, event: &IncidentEvent) -> io::Result<()> {
        match &mut self.target {
            AlertTarget::Eve(lines) if event.incident.severity <= self.min_severity => {
                lines.line(|out| incident::append(event, out))
            }
            _ => Ok(()),
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

/// The buffer is written when it holds this many bytes.
const BUFFER_BYTES: usize = 64 * 1024;

/// The file behind a [`LineOutput`].
#[derive(Debug)]
enum Destination {
    File(File),
    Stdout(io::Stdout),
}

/// Buffers lines and writes them whole. If a write fails in the middle of a line, a file is truncated
/// after the last whole line, so that it stays valid.
#[derive(Debug)]
pub struct LineOutput {
    destination: Destination,
    buffer: Vec<u8>,
    written_bytes: u64,
}

impl LineOutput {
    /// Output to a new file.
    pub fn file(file: File) -> Self {
        Self::new(Destination::File(file))
    }

    /// Output to the end of an existing file, opened for appending.
    pub fn append(file: File) -> io::Result<Self> {
        let written_bytes = file.metadata()?.len();
        Ok(LineOutput { written_bytes, ..Self::new(Destination::File(file)) })
    }

    /// Output to standard output.
    pub fn stdout() -> Self {
        Self::new(Destination::Stdout(io::stdout()))
    }

    fn new(destination: Destination) -> Self {
        LineOutput { destination, buffer: Vec::with_capacity(BUFFER_BYTES), written_bytes: 0 }
    }

    /// Adds what `line` appends, which must be whole lines.
    pub fn line(&mut self, line: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        line(&mut self.buffer);
        if self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes the buffer.
    pub fn flush(&mut self) -> io::Result<()> {
        let mut done = 0;
        while let Some(rest) = self.buffer.get(done..).filter(|rest| !rest.is_empty()) {
            let written = match &mut self.destination {
                Destination::File(file) => file.write(rest),
                Destination::Stdout(stdout) => stdout.write(rest),
            };
            match written {
                Ok(0) => return self.fail(done, io::ErrorKind::WriteZero.into()),
                Ok(bytes) => done += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.fail(done, error),
            }
        }
        self.written_bytes += done as u64;
        self.buffer.clear();
        match &mut self.destination {
            Destination::File(file) => file.flush(),
            Destination::Stdout(stdout) => stdout.flush(),
        }
    }

    /// After a failed write: truncates the file after its last whole line and drops the buffer.
    fn fail(&mut self, done: usize, error: io::Error) -> io::Result<()> {
        let whole = self.buffer[..done].iter().rposition(|&byte| byte == b'\n');
        self.written_bytes += whole.map_or(0, |last| last as u64 + 1);
        self.buffer.clear();
        if let Destination::File(file) = &self.destination {
            // A pipe or a device cannot be truncated; the first error is the one to report.
            let _ = file.set_len(self.written_bytes);
        }
        Err(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_arrive_in_order_once_flushed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("alerts");
        let mut output = LineOutput::file(File::create(&path).unwrap());
        for n in 0..10_000 {
            output.line(|out| out.extend(format!("line {n}\n").bytes())).unwrap();
        }
        output.flush().unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.lines().enumerate().all(|(n, line)| line == format!("line {n}")));
        assert_eq!(text.lines().count(), 10_000);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_an_error() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut output = LineOutput::file(full);
        output.line(|out| out.extend(b"a line\n")).unwrap();
        assert_eq!(output.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
