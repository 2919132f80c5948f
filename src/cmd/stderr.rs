//! Messages on standard error; they are held back while a dashboard uses the terminal.
//!
//! There is one standard error for the process, and callbacks deep in a capture write to it: hence a
//! global log, behind a lock that is held for one message.

use std::collections::VecDeque;
use std::fmt::Display;
use std::io::{self, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::capture::Damage;

/// Number of messages that the log keeps.
const KEPT: usize = 100;
/// How long a message counts as recent.
const RECENT: Duration = Duration::from_secs(60);

static STATE: Mutex<State> = Mutex::new(State::new());

/// Writes a message to standard error, or later if messages are held back.
pub fn message(text: impl Display) {
    let text = text.to_string();
    let mut state = state();
    if !state.is_held {
        print(&text);
    }
    state.add(text);
    state.last = Some(Instant::now());
}

/// Warns of damaged captures.
pub fn warn_of_damage(damages: &[Damage]) {
    for damage in damages {
        message(format_args!("acsm: warning: {damage}; all packets before it are counted"));
    }
}

/// The latest messages, oldest first.
#[cfg_attr(not(all(feature = "live", unix)), allow(dead_code))]
#[derive(Debug, Default)]
pub struct Log {
    pub messages: Vec<String>,
    /// Number of messages since the start: grows with each new one.
    pub total: u64,
    /// Whether the last message is less than a minute old.
    pub is_recent: bool,
}

/// The log of messages so far.
#[cfg_attr(not(all(feature = "live", unix)), allow(dead_code))]
pub fn log() -> Log {
    let state = state();
    Log {
        messages: state.messages.iter().cloned().collect(),
        total: state.total,
        is_recent: state.last.is_some_and(|last| last.elapsed() < RECENT),
    }
}

/// Holds messages back; dropping it prints them.
#[derive(Debug)]
pub struct Hold(());

/// Holds messages back from now on.
#[cfg_attr(not(all(feature = "live", unix)), allow(dead_code))]
pub fn hold() -> Hold {
    state().is_held = true;
    Hold(())
}

impl Drop for Hold {
    fn drop(&mut self) {
        state().release().iter().for_each(print);
    }
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Unlike `eprintln!`, does not panic if standard error is closed.
fn print(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

#[derive(Debug)]
struct State {
    /// The latest messages.
    messages: VecDeque<String>,
    /// Number of messages since the start.
    total: u64,
    /// Number of messages that have not been printed.
    unprinted: usize,
    is_held: bool,
    /// Time of the last message.
    last: Option<Instant>,
}

impl State {
    const fn new() -> State {
        State { messages: VecDeque::new(), total: 0, unprinted: 0, is_held: false, last: None }
    }

    fn add(&mut self, text: String) {
        if self.messages.len() == KEPT {
            self.messages.pop_front();
        }
        self.messages.push_back(text);
        self.total += 1;
        self.unprinted += usize::from(self.is_held);
    }

    /// Ends holding; returns the messages to print.
    fn release(&mut self) -> Vec<String> {
        let dropped = self.unprinted.saturating_sub(self.messages.len());
        let printed = self.messages.len().saturating_sub(self.unprinted);
        (self.is_held, self.unprinted) = (false, 0);
        let notice = format!("acsm: {dropped} earlier messages are not shown");
        let notice = (dropped > 0).then_some(notice);
        notice.into_iter().chain(self.messages.iter().skip(printed).cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_held_back_are_released_once() {
        let mut state = State::new();
        state.add("before".to_owned());
        state.is_held = true;
        state.add("one".to_owned());
        state.add("two".to_owned());
        assert_eq!(state.release(), ["one", "two"]);
        assert_eq!(state.release(), [""; 0]);
        assert_eq!(state.messages, ["before", "one", "two"]);
    }

    #[test]
    fn the_log_is_bounded_and_dropped_messages_are_counted() {
        let mut state = State::new();
        state.is_held = true;
        (0..KEPT + 7).for_each(|number| state.add(number.to_string()));
        let released = state.release();
        assert_eq!(released.len(), KEPT + 1);
        assert_eq!(released[0], "acsm: 7 earlier messages are not shown");
        assert_eq!(released[1], "7");
    }
}
