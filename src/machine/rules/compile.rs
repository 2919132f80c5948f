//! From rows and rules to the machine's table, and warnings about what has no effect.

use std::fmt;

use super::error::SourceText;
use super::rule_tables::{When, tables};
use super::source::Parsed;
use super::states::States;
use super::transitions::Row;
use crate::flow::Direction;
use crate::machine::table::{Input, Machine, Next, Outcome, Resumption};
use crate::machine::table::{RuleId, RuleSet};
use acsm_filters::State;

/// Everything that decides a step.
pub(super) struct Compiler {
    pub states: States,
    pub rows: Vec<Row>,
    pub otherwise: RuleSet,
    pub resumption: Option<Resumption>,
    pub whens: Vec<When>,
}

impl Compiler {
    /// The table of all steps.
    pub fn machine(&self) -> Machine {
        Machine::build(
            self.states.infos.clone(),
            |position, way, input| self.step(position, way, input),
            |input| self.fired(None, input),
        )
        .with_resumption(self.resumption)
    }

    fn step(&self, position: Option<State>, way: Direction, input: Input) -> Outcome {
        let own = self.fired(Some(position), input);
        match self.row(position, way, input) {
            Some(row) => Outcome {
                next: row.next(&self.states, position, way),
                alerts: row.alerts.union(own),
            },
            None => Outcome { next: Next::Keep, alerts: self.otherwise.union(own) },
        }
    }

    /// The row that decides.
    fn row(&self, position: Option<State>, way: Direction, input: Input) -> Option<&Row> {
        self.rows.iter().find(|row| row.matches(&self.states, position, way, input))
    }

    /// The rule with a `when` that fires; `position` is `None` if the state is not known.
    fn fired(&self, position: Option<Option<State>>, input: Input) -> RuleSet {
        let fits = |when: &&When| {
            let in_position = match (when.positions, position) {
                (None, _) => true,
                (Some(positions), Some(position)) => positions.contains(position),
                (Some(_), None) => false,
            };
            in_position && when.flags.matches(input)
        };
        self.whens.iter().find(fits).map_or(RuleSet::EMPTY, |when| RuleSet::of(when.rule))
    }
}

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

/// Rows, states and rules that have no effect. `text` is the machine's own file.
pub(super) fn warnings(files: &[Parsed], text: &SourceText, compiler: &Compiler) -> Vec<Warning> {
    let reached = Reached::by_all_packets(compiler);
    let at = |text: &SourceText, byte: usize, what: String| Warning {
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
        if !state.positions().iter().any(|position| reached.has(position)) {
            let what = format!("nothing leads to state `{}`", state.name);
            warnings.push(at(text, state.span.start, what));
        }
    }
    for ((text, table), id) in tables(files).zip(0u8..) {
        if table.threshold.is_none() && !reached.alerts.contains(RuleId(id)) {
            let what = format!("no packet fires rule `{}`", table.name.get_ref());
            warnings.push(at(text, table.name.span().start, what));
        }
    }
    warnings
}

/// What is reached if all packets come in all orders, starting from "absent".
struct Reached {
    positions: Vec<Option<State>>,
    rows: Vec<bool>,
    alerts: RuleSet,
}

impl Reached {
    fn by_all_packets(compiler: &Compiler) -> Reached {
        let mut reached = Reached {
            positions: vec![None],
            rows: vec![false; compiler.rows.len()],
            alerts: compiler.resumption.map_or(RuleSet::EMPTY, |resumption| resumption.alerts),
        };
        let mut next = 0;
        while let Some(&position) = reached.positions.get(next) {
            for way in [Direction::Forward, Direction::Backward] {
                for input in Input::all() {
                    reached.step(compiler, position, way, input);
                }
            }
            next += 1;
        }
        reached
    }

    fn step(&mut self, compiler: &Compiler, position: Option<State>, way: Direction, input: Input) {
        let matches = |row: &Row| row.matches(&compiler.states, position, way, input);
        if let Some(decides) = compiler.rows.iter().position(matches)
            && let Some(row) = self.rows.get_mut(decides)
        {
            *row = true;
        }
        let outcome = compiler.step(position, way, input);
        self.alerts = self.alerts.union(outcome.alerts);
        if let Next::Go(state) = outcome.next
            && !self.has(Some(state))
        {
            self.positions.push(Some(state));
        }
    }

    fn has(&self, position: Option<State>) -> bool {
        self.positions.contains(&position)
    }
}
