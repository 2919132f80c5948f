//! The shape of a rules file, before anything in it is understood.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use crate::machine::{Category, Counterparts, Preset, RuleKind};

/// A list of names, each with its place.
pub(super) type Names = Vec<Spanned<String>>;

/// A whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub about: Option<String>,
    pub flow_keys: Option<Spanned<Names>>,
    pub include: Option<Names>,
    pub hygiene: Option<Spanned<HygieneTable>>,
    #[serde(default)]
    pub groups: BTreeMap<String, Names>,
    #[serde(default)]
    pub state: Vec<Spanned<StateTable>>,
    #[serde(default)]
    pub transition: Vec<Spanned<TransitionTable>>,
    pub otherwise: Option<Spanned<OtherwiseTable>>,
    #[serde(default)]
    pub rule: Vec<Spanned<RuleTable>>,
}

/// `[hygiene]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HygieneTable {
    pub home_networks: Option<Names>,
    pub cooldown: Option<Spanned<String>>,
    pub alerts_per_second: Option<Spanned<i64>>,
}

/// `[[state]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StateTable {
    pub name: Spanned<String>,
    pub doc: String,
    #[serde(default)]
    pub half_open: bool,
    #[serde(default)]
    pub lingering: bool,
    #[serde(default)]
    pub one_way: bool,
    pub end: Option<Spanned<String>>,
}

/// `[[transition]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TransitionTable {
    pub r#in: Names,
    pub from: Option<Spanned<String>>,
    pub set: Option<Spanned<String>>,
    pub clear: Option<Spanned<String>>,
    pub exact: Option<Spanned<String>>,
    pub go: Option<Spanned<String>>,
    pub end: Option<Spanned<String>>,
    #[serde(default)]
    pub delete: bool,
    pub alert: Option<Names>,
}

/// `[otherwise]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OtherwiseTable {
    pub alert: Names,
}

/// `[[rule]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleTable {
    pub name: Spanned<String>,
    pub sid: Spanned<i64>,
    pub severity: Spanned<i64>,
    pub category: Category,
    pub kind: Spanned<RuleKind>,
    pub message: String,
    pub on: Option<Vec<Preset>>,
    pub cooldown: Option<Spanned<String>>,
    pub when: Option<Spanned<WhenTable>>,
    pub threshold: Option<Spanned<ThresholdTable>>,
    #[serde(default)]
    pub like: Counterparts,
}

/// `when = { … }` of a rule
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WhenTable {
    pub r#in: Option<Names>,
    pub set: Option<Spanned<String>>,
    pub clear: Option<Spanned<String>>,
    pub exact: Option<Spanned<String>>,
}

/// `threshold = { … }` of a rule
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ThresholdTable {
    pub count: Spanned<i64>,
    pub of: Spanned<String>,
    pub per: Spanned<String>,
    pub window: Spanned<String>,
}
