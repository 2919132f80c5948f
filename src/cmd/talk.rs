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

static TALK: Mutex<Talk> = Mutex::new(Talk::new());

/// Says something on standard error, or later if that is held.
pub fn say(what: impl Display) {
    let what = what.to_string();
    let mut talk = talk();
    if !talk.is_held {
        print(&what);
    }
    talk.add(what);
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

/// Holds talk back; what was said meanwhile is printed when this goes.
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
        talk().release().iter().for_each(print);
    }
}

fn talk() -> MutexGuard<'static, Talk> {
    TALK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whoever closed standard error does not want to hear it: no reason to stop, as `eprintln!` does.
fn print(what: impl Display) {
    let _ = writeln!(io::stderr(), "{what}");
}

#[derive(Debug)]
struct Talk {
    said: VecDeque<String>,
    /// Of all messages ever.
    number: u64,
    /// How many were said while it was held.
    waiting: usize,
    is_held: bool,
    last: Option<Instant>,
}

impl Talk {
    const fn new() -> Talk {
        Talk { said: VecDeque::new(), number: 0, waiting: 0, is_held: false, last: None }
    }

    fn add(&mut self, what: String) {
        if self.said.len() == KEPT {
            self.said.pop_front();
        }
        self.said.push_back(what);
        self.number += 1;
        self.waiting += usize::from(self.is_held);
    }

    /// Ends holding; gives what was not printed.
    fn release(&mut self) -> Vec<String> {
        let forgotten = self.waiting.saturating_sub(self.said.len());
        let printed = self.said.len().saturating_sub(self.waiting);
        (self.is_held, self.waiting) = (false, 0);
        let notice = format!("acsm: {forgotten} earlier messages are not shown");
        let notice = (forgotten > 0).then_some(notice);
        notice.into_iter().chain(self.said.iter().skip(printed).cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_meanwhile_is_given_once() {
        let mut talk = Talk::new();
        talk.add("before".to_owned());
        talk.is_held = true;
        talk.add("one".to_owned());
        talk.add("two".to_owned());
        assert_eq!(talk.release(), ["one", "two"]);
        assert_eq!(talk.release(), [""; 0]);
        assert_eq!(talk.said, ["before", "one", "two"]);
    }

    #[test]
    fn no_more_than_some_are_kept_and_the_rest_is_counted() {
        let mut talk = Talk::new();
        talk.is_held = true;
        (0..KEPT + 7).for_each(|number| talk.add(number.to_string()));
        let given = talk.release();
        assert_eq!(given.len(), KEPT + 1);
        assert_eq!(given[0], "acsm: 7 earlier messages are not shown");
        assert_eq!(given[1], "7");
    }
}
