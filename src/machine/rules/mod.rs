//! Rules files: TOML in, a machine and its rule book out.
//!
//! How to write one is told in `docs/rules.md`. In short: `[[transition]]` rows are read from top
//! to bottom and the **first that matches decides** what becomes of the state; `[[rule]]` tables
//! with a `when` are read the same way and the first that matches fires. Everything a file can get
//! wrong is an error that names file, line and what is allowed.
//!
//! `source` finds files and their includes, `syntax` is their shape, `states`, `transitions` and
//! `book` understand its parts, `check` looks for what can never happen.

mod book;
mod check;
mod error;
mod place;
mod source;
mod states;
mod syntax;
mod transitions;
mod values;

use crate::flow::{Direction, FlowKeyKind};
use crate::machine::{
    Hygiene, Input, Machine, Next, Outcome, RuleBook, RuleKind, RuleSet, ThresholdRule,
};
use acsm_filters::State;

use book::When;
use place::Text;
use source::Parsed;
use states::States;
use transitions::Row;
use values::FLOW_KEYS;

pub use check::Warning;
pub use error::RulesError;
pub use source::SHIPPED;

/// A rules file with all it includes, ready to run.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The file, or the name of a shipped one in `<…>`.
    pub file: String,
    /// What the file says it is for.
    pub about: String,
    /// The flow keys it works with.
    pub flow_keys: Vec<FlowKeyKind>,
    /// What packets do to states.
    pub machine: Machine,
    /// Every rule there is.
    pub book: RuleBook,
    /// The rules about many packets.
    pub thresholds: Vec<ThresholdRule>,
    /// Cool-downs, budgets, home networks.
    pub hygiene: Hygiene,
    /// How many `[[transition]]` rows there are.
    pub transitions: usize,
    /// What looks like a mistake, though it works.
    pub warnings: Vec<Warning>,
}

impl Rules {
    /// Reads rules: the name of a shipped file (`tcp-flags`) or a path.
    pub fn load(name: &str) -> Result<Rules, RulesError> {
        let files = source::read_all(name)?;
        let Some(Parsed { text, file }) = files.first() else {
            return Err(RulesError::Whole { file: name.to_owned(), what: "nothing in it".into() });
        };
        let hygiene = book::hygiene(&files)?;
        let book = book::read(&files, &hygiene)?;
        let states = States::read(text, file)?;
        let compiler = Compiler {
            rows: (file.transition.iter())
                .map(|table| transitions::read(text, &states, &book.rules, table))
                .collect::<Result<_, _>>()?,
            otherwise: transitions::otherwise(text, &book.rules, &file.otherwise)?,
            whens: book::conditions(&files, &states)?,
            states,
        };
        let flow_keys = flow_keys(text, file)?;
        if flow_keys.iter().any(|&key| key != FlowKeyKind::Connection) {
            refuse_both_directions(&files, text, &compiler)?;
        }
        Ok(Rules {
            file: text.file.clone(),
            about: file.about.clone().unwrap_or_default(),
            flow_keys,
            machine: compiler.machine(),
            warnings: check::warnings(&files, text, &compiler),
            transitions: compiler.rows.len(),
            book: book.rules,
            thresholds: book.thresholds,
            hygiene,
        })
    }

    /// Refuses a flow key that the file is not written for.
    pub fn require_flow_key(&self, key: FlowKeyKind) -> Result<(), RulesError> {
        if self.flow_keys.contains(&key) {
            return Ok(());
        }
        let name = |wanted| FLOW_KEYS.iter().find(|(key, _)| *key == wanted).map_or("", |k| k.1);
        let written_for = error::alternatives(self.flow_keys.iter().map(|&key| name(key)));
        let what = format!("written for flow key {written_for}, not `{}`", name(key));
        Err(RulesError::Whole { file: self.file.clone(), what })
    }
}

/// All that decides a step.
struct Compiler {
    states: States,
    rows: Vec<Row>,
    otherwise: RuleSet,
    whens: Vec<When>,
}

impl Compiler {
    fn machine(&self) -> Machine {
        Machine::build(
            self.states.infos.clone(),
            |place, way, input| self.step(place, way, input),
            |input| self.fired(None, input),
        )
    }

    fn step(&self, place: Option<State>, way: Direction, input: Input) -> Outcome {
        let own = self.fired(Some(place), input);
        match self.row(place, way, input) {
            Some(row) => {
                Outcome { next: row.next(&self.states, place, way), alerts: row.alerts.union(own) }
            }
            None => Outcome { next: Next::Keep, alerts: self.otherwise.union(own) },
        }
    }

    /// The row that decides.
    fn row(&self, place: Option<State>, way: Direction, input: Input) -> Option<&Row> {
        self.rows.iter().find(|row| row.matches(&self.states, place, way, input))
    }

    /// The rule with a `when` that fires; `place` is `None` when the state is not known.
    fn fired(&self, place: Option<Option<State>>, input: Input) -> RuleSet {
        let fits = |when: &&When| {
            let placed = match (when.places, place) {
                (None, _) => true,
                (Some(places), Some(place)) => places.contains(place),
                (Some(_), None) => false,
            };
            placed && when.flags.matches(input)
        };
        self.whens.iter().find(fits).map_or(RuleSet::EMPTY, |when| RuleSet::of(when.rule))
    }
}

fn flow_keys(text: &Text, file: &syntax::File) -> Result<Vec<FlowKeyKind>, RulesError> {
    let Some(keys) = file.flow_keys.as_ref().filter(|keys| !keys.get_ref().is_empty()) else {
        let known = error::alternatives(FLOW_KEYS.map(|(_, name)| name));
        let what = format!("no `flow_keys`: list those that the machine works with, of {known}");
        return Err(text.wrong_whole(what));
    };
    let key = |name: &toml::Spanned<String>| {
        values::named(&FLOW_KEYS, name.get_ref(), "flow key")
            .map_err(|what| text.wrong_at(name, what))
    };
    keys.get_ref().iter().map(key).collect()
}

/// Under a directed flow key a flow never sees the other direction's packets.
fn refuse_both_directions(
    files: &[Parsed],
    text: &Text,
    compiler: &Compiler,
) -> Result<(), RulesError> {
    const WHY: &str = "flow keys `pair` and `5-tuple` see one direction of a connection only: \
                       keep just `connection` in `flow_keys`";
    for state in &compiler.states.declared {
        if state.end.is_some() {
            let what = format!("state `{}` tells two ends apart, but {WHY}", state.name);
            return Err(text.wrong(state.span.clone(), what));
        }
    }
    for (text, table) in book::tables(files) {
        if *table.kind.get_ref() == RuleKind::Session {
            let name = table.name.get_ref();
            let what = format!("rule `{name}` is about a session, but {WHY}");
            return Err(text.wrong_at(&table.kind, what));
        }
    }
    Ok(())
}
