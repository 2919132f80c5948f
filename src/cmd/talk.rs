//! Talk on standard error; it waits while a dashboard has the screen.
//!
//! There is one standard error, and callbacks deep in a capture speak to it: so this is the process's,
//! behind a lock that is held for one line.

use std::collections::VecDeque;
use std::fmt::Display;
use std::io::{self, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// So many messages are remembered.
const KEPT: usize = 100;
/// So long a message is news.
const NEWS: Duration = Duration::from_secs(60);

static TALK: Mutex<Talk> =
    Mutex::new(Talk { said: VecDeque::new(), number: 0, waiting: 0, is_held: false, last: None });

#[derive(Debug)]
struct Talk {
    said: VecDeque<String>,
    /// Of all messages ever.
    number: u64,
    /// How many have not been printed.
    waiting: usize,
    is_held: bool,
    last: Option<Instant>,
}

fn talk() -> MutexGuard<'static, Talk> {
    TALK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whoever closed standard error does not want to hear it: no reason to stop, as `eprintln!` does.
fn print(what: impl Display) {
    let _ = writeln!(io::stderr(), "{what}");
}

/// Says something on standard error, or later if that is held.
pub fn say(what: impl Display) {
    let what = what.to_string();
    let mut talk = talk();
    if talk.said.len() == KEPT {
        talk.said.pop_front();
    }
    match talk.is_held {
        true => talk.waiting += 1,
        false => print(&what),
    }
    talk.said.push_back(what);
    talk.number += 1;
    talk.last = Some(Instant::now());
}

/// What was said, oldest first, as far as it is remembered.
#[cfg_attr(not(all(feature = "live", unix)), allow(dead_code))]
#[derive(Debug, Default)]
pub struct Said {
    pub messages: Vec<String>,
    /// How many there ever were: tells whether there are new ones.
    pub number: u64,
    /// Whether the last was said within a minute.
    pub is_news: bool,
}

/// What was said so far.
#[cfg_attr(not(all(feature = "live", unix)), allow(dead_code))]
pub fn said() -> Said {
    let talk = talk();
    Said {
        messages: talk.said.iter().cloned().collect(),
        number: talk.number,
        is_news: talk.last.is_some_and(|last| last.elapsed() < NEWS),
    }
}

/// Holds talk back; what was said is printed when this goes.
#[cfg_attr(not(all(feature = "live", unix)), allow(dead_code))]
#[derive(Debug)]
pub struct Hold(());

/// Holds talk back from here on.
#[cfg_attr(not(all(feature = "live", unix)), allow(dead_code))]
pub fn hold() -> Hold {
    talk().is_held = true;
    Hold(())
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut talk = talk();
        let forgotten = talk.waiting.saturating_sub(talk.said.len());
        if forgotten > 0 {
            print(format_args!("acsm: {forgotten} earlier messages are forgotten"));
        }
        let printed = talk.said.len().saturating_sub(talk.waiting);
        talk.said.iter().skip(printed).for_each(print);
        (talk.is_held, talk.waiting) = (false, 0);
    }
}
