//! What works but looks like a mistake: rows, states and rules that can never come into play.

use std::fmt;

use crate::flow::Direction;
use crate::machine::{Input, Next, RuleId, RuleSet};
use acsm_filters::State;

use super::Compiler;
use super::place::Text;
use super::source::Parsed;

/// Something in a rules file that has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Which file.
    pub file: String,
    /// Which line, from 1.
    pub line: usize,
    /// What has no effect, and why.
    pub what: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

/// Everything that can never come into play. `text` is the machine's own file.
pub(super) fn warnings(files: &[Parsed], text: &Text, compiler: &Compiler) -> Vec<Warning> {
    let reached = Reached::by_all_packets(compiler);
    let at = |text: &Text, byte: usize, what: String| Warning {
        file: text.file.clone(),
        line: text.line(byte),
        what,
    };
    let mut warnings = Vec::new();
    for (row, _) in compiler.rows.iter().zip(&reached.rows).filter(|(_, reached)| !**reached) {
        let what = "this row never decides: rows above it take all its packets";
        warnings.push(at(text, row.span.start, what.to_owned()));
    }
    for state in &compiler.states.declared {
        if !state.places().iter().any(|place| reached.has(place)) {
            let what = format!("nothing leads to state `{}`", state.name);
            warnings.push(at(text, state.span.start, what));
        }
    }
    for ((text, table), id) in super::book::tables(files).zip(0u8..) {
        if table.threshold.is_none() && !reached.alerts.contains(RuleId(id)) {
            let what = format!("no packet fires rule `{}`", table.name.get_ref());
            warnings.push(at(text, table.name.span().start, what));
        }
    }
    warnings
}

/// What is in play when every packet comes in every order, starting from nothing.
struct Reached {
    places: Vec<Option<State>>,
    rows: Vec<bool>,
    alerts: RuleSet,
}

impl Reached {
    fn by_all_packets(compiler: &Compiler) -> Reached {
        let mut reached = Reached {
            places: vec![None],
            rows: vec![false; compiler.rows.len()],
            alerts: RuleSet::EMPTY,
        };
        let mut next = 0;
        while let Some(&place) = reached.places.get(next) {
            for way in [Direction::Forward, Direction::Backward] {
                for input in Input::all() {
                    reached.step(compiler, place, way, input);
                }
            }
            next += 1;
        }
        reached
    }

    fn step(&mut self, compiler: &Compiler, place: Option<State>, way: Direction, input: Input) {
        let matches = |row: &super::Row| row.matches(&compiler.states, place, way, input);
        if let Some(decides) = compiler.rows.iter().position(matches)
            && let Some(row) = self.rows.get_mut(decides)
        {
            *row = true;
        }
        let outcome = compiler.step(place, way, input);
        self.alerts = self.alerts.union(outcome.alerts);
        if let Next::Go(state) = outcome.next
            && !self.has(Some(state))
        {
            self.places.push(Some(state));
        }
    }

    fn has(&self, place: Option<State>) -> bool {
        self.places.contains(&place)
    }
}
