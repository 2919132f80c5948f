//! Rules files: TOML in, a machine and its rules out.
//!
//! `docs/rules.md` says how to write one. In short: `[[transition]]` rows are read from top to bottom
//! and the **first that matches decides** the new state; `[[rule]]` tables with a `when` are read the
//! same way and the first that matches fires. Every mistake in a file is an error that names file,
//! line and what is allowed.
//!
//! | file | what |
//! |---|---|
//! | `source` | files and their includes as TOML tables |
//! | `values` | flag sets, durations and other small values |
//! | `states`, `transitions`, `rule_tables`, `thresholds` | the meaning of each kind of table |
//! | `settings` | other values for keys of rules |
//! | `compile` | the machine's table, and what has no effect |
//! | `error` | errors, located in the text of a file |

mod compile;
mod error;
mod rule_tables;
mod settings;
mod source;
mod states;
mod thresholds;
mod transitions;
mod values;

use super::alert_settings::AlertSettings;
use super::rule::{DecidedRule, RuleKind, RuleList, ThresholdRule};
use super::table::Machine;
use crate::flow::FlowKeyKind;

use compile::Compiler;
use error::SourceText;
use source::{File, Parsed};
use states::States;
use values::FLOW_KEYS;

pub use compile::Warning;
pub use error::RulesError;
pub use settings::Setting;
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
    /// The state machine.
    pub machine: Machine,
    /// All rules, by id.
    pub list: RuleList,
    /// The rules about many packets.
    pub thresholds: Vec<ThresholdRule>,
    /// The rules that are decided by what follows a packet.
    pub decided: Vec<DecidedRule>,
    /// Cool-downs, alerts per second, home networks.
    pub limits: AlertSettings,
    /// How many `[[transition]]` rows there are.
    pub transitions: usize,
    /// What works but looks like a mistake.
    pub warnings: Vec<Warning>,
}

impl Rules {
    /// Reads rules: the name of a shipped file (`tcp-flags`) or a path.
    pub fn load(name: &str) -> Result<Rules, RulesError> {
        Rules::load_with(name, &[])
    }

    /// The same, with other values for some keys of rules. They have precedence over `[set]` of the file.
    pub fn load_with(name: &str, settings: &[Setting]) -> Result<Rules, RulesError> {
        let mut files = source::read_all(name)?;
        settings::apply(&mut files, settings)?;
        let Some(first) = files.first() else {
            return Err(RulesError::Whole { file: name.to_owned(), what: "nothing in it".into() });
        };
        let root = first.text.file.clone();
        let with_machine = files.iter().find(|parsed| source::has_machine(parsed));
        let Parsed { text, file } = with_machine.unwrap_or(first);
        let limits = rule_tables::read_limits(&files)?;
        let tables = rule_tables::read_rules(&files, &limits)?;
        let states = States::read(text, file)?;
        let compiler = Compiler {
            rows: (file.transition.iter())
                .map(|table| transitions::read_row(text, &states, &tables.list, table))
                .collect::<Result<_, _>>()?,
            otherwise: transitions::otherwise(text, &tables.list, &file.otherwise)?,
            resumption: transitions::resumption(text, &states, &tables.list, &file.resume)?,
            whens: rule_tables::conditions(&files, &states)?,
            states,
        };
        let flow_keys = flow_keys(text, file)?;
        if flow_keys.iter().any(|&key| key != FlowKeyKind::Connection) {
            refuse_both_directions(&files, text, &compiler)?;
        }
        Ok(Rules {
            file: root,
            about: file.about.clone().unwrap_or_default(),
            flow_keys,
            machine: compiler.machine(),
            warnings: compile::warnings(&files, text, &compiler),
            transitions: compiler.rows.len(),
            list: tables.list,
            thresholds: tables.thresholds,
            decided: tables.decided,
            limits,
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

fn flow_keys(text: &SourceText, file: &File) -> Result<Vec<FlowKeyKind>, RulesError> {
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
    text: &SourceText,
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
    for (text, table) in rule_tables::tables(files) {
        if *table.kind.get_ref() == RuleKind::Session {
            let name = table.name.get_ref();
            let what = format!("rule `{name}` is about a session, but {WHY}");
            return Err(text.wrong_at(&table.kind, what));
        }
    }
    Ok(())
}
