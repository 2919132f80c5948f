//! `--on-incident`: a program that is started whenever there is something to be told of an incident.
//!
//! It runs in a shell, with the EVE line of the incident on its standard input. One runs at a time, in a thread of its own: the
//! run never waits. At most [`QUEUE_MAX`] lines wait for it; others are dropped and counted. One that takes longer
//! than [`PATIENCE`] is killed.

use std::io::{self, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::stderr;
use crate::engine::{Alert, IncidentEvent, OverloadEvent, Sink, WatchStep};
use crate::report::alert::append_incident;

/// Lines that wait for the program.
const QUEUE_MAX: usize = 64;
/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is asked whether it is done.
const POLL: Duration = Duration::from_millis(10);

/// A program to be started, and the thread that starts it.
pub struct IncidentCommand {
    queue: Option<SyncSender<Vec<u8>>>,
    thread: Option<JoinHandle<()>>,
    dropped: u64,
}

impl IncidentCommand {
    /// Will run `command`.
    pub fn new(command: &str) -> IncidentCommand {
        let (queue, lines) = sync_channel(QUEUE_MAX);
        let command = command.to_owned();
        let thread = thread::spawn(move || run_each(&command, &lines));
        IncidentCommand { queue: Some(queue), thread: Some(thread), dropped: 0 }
    }

    fn tell(&mut self, event: &IncidentEvent) {
        let Some(queue) = &self.queue else { return };
        let mut line = Vec::new();
        append_incident(event, &mut line);
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = queue.try_send(line) {
            self.dropped += 1;
        }
    }
}

/// Waits for the program to take what is left: at most [`PATIENCE`] for each line.
impl Drop for IncidentCommand {
    fn drop(&mut self) {
        self.queue = None;
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            stderr::message("acsm: warning: --on-incident: the thread that runs it has failed");
        }
        if self.dropped > 0 {
            let dropped = self.dropped;
            stderr::message(format_args!(
                "acsm: warning: --on-incident: {dropped} events dropped, it was too slow for them"
            ));
        }
    }
}

fn run_each(command: &str, lines: &Receiver<Vec<u8>>) {
    for line in lines {
        if let Err(error) = run_once(command, &line) {
            stderr::message(format_args!("acsm: warning: --on-incident `{command}`: {error}"));
        }
    }
}

fn run_once(command: &str, line: &[u8]) -> io::Result<()> {
    let mut child = shell(command).stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // A line is at most a few kilobytes: a pipe holds it. One who does not read it is not wrong.
        let _ = input.write_all(line);
    }
    let status = match wait(&mut child)? {
        Some(status) => status,
        None => {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::other(format!("killed after {} s", PATIENCE.as_secs())));
        }
    };
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(status.to_string())),
    }
}

fn wait(child: &mut Child) -> io::Result<Option<std::process::ExitStatus>> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if started.elapsed() >= PATIENCE {
            return Ok(None);
        }
        thread::sleep(POLL);
    }
}

#[cfg(unix)]
fn shell(command: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]);
    shell
}

#[cfg(not(unix))]
fn shell(command: &str) -> Command {
    let mut shell = Command::new("cmd");
    shell.args(["/C", command]);
    shell
}

/// A sink that also tells the program of incidents.
pub struct TellingSink<'a, S> {
    /// Where everything goes.
    pub sink: &'a mut S,
    /// The program, if there is one.
    pub command: Option<IncidentCommand>,
}

impl<S: Sink> Sink for TellingSink<'_, S> {
    fn alert(&mut self, alert: &Alert) -> io::Result<()> {
        self.sink.alert(alert)
    }

    fn step(&mut self, step: &WatchStep) -> io::Result<()> {
        self.sink.step(step)
    }

    fn overload(&mut self, event: &OverloadEvent) -> io::Result<()> {
        self.sink.overload(event)
    }

    fn incident(&mut self, event: &IncidentEvent) -> io::Result<()> {
        if let Some(command) = &mut self.command {
            command.tell(event);
        }
        self.sink.incident(event)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}
