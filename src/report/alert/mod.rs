//! Alerts, as lines: for programs ([`Eve`]) and for people ([`AlertText`]).

mod eve;
mod lines;
mod people;
mod sink;
mod watch;

pub use eve::Eve;
pub use lines::LineOutput;
pub use people::AlertText;
pub use sink::{AlertOutput, AlertTarget};
pub use watch::step_text;

use crate::machine::Rules;
use acsm_filters::{Lookup, State};

/// What alerts refer to by number.
#[derive(Debug, Clone, Copy)]
pub struct Names<'a> {
    /// Rules and states.
    pub rules: &'a Rules,
    /// The store's name.
    pub backend: &'static str,
}

impl<'a> Names<'a> {
    /// A state's name.
    pub fn state(&self, state: State) -> &'a str {
        self.rules.machine.state(state).map_or("?", |info| info.name.as_str())
    }

    /// What a store said, in words.
    pub fn lookup(&self, lookup: Lookup) -> &'a str {
        match lookup {
            Lookup::Known(state) => self.state(state),
            Lookup::Absent => "absent",
            Lookup::DontKnow => "don't know",
        }
    }
}

/// The kind of an answer, as the contract names it.
fn answer_name(answer: Lookup) -> &'static str {
    match answer {
        Lookup::Known(_) => "known",
        Lookup::Absent => "absent",
        Lookup::DontKnow => "dont_know",
    }
}
