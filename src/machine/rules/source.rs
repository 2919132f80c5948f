//! Rules files as TOML: shipped with the program or read from a path, with the files they include.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use toml::Spanned;

use super::error::{RulesError, SourceText, alternatives};
use crate::machine::rule::{Category, Counterparts, Preset, RuleKind};

/// The files that come with acsm: they can be named without a path.
pub const SHIPPED: [(&str, &str); 6] = [
    ("tcp-flags", include_str!("../../../rules/tcp-flags.toml")),
    ("tcp-flags-delete", include_str!("../../../rules/tcp-flags-delete.toml")),
    ("tcp-connection", include_str!("../../../rules/tcp-connection.toml")),
    ("marks", include_str!("../../../rules/marks.toml")),
    ("suspicious-flags", include_str!("../../../rules/suspicious-flags.toml")),
    ("thresholds", include_str!("../../../rules/thresholds.toml")),
];

/// No rules file is longer: a wrong path should not fill the memory.
const FILE_LIMIT_BYTES: u64 = 1 << 20;
/// The most files that are read for one set of rules.
const FILE_LIMIT: usize = 16;

/// A parsed file, and its text for error messages.
pub(super) struct Parsed {
    pub text: SourceText,
    pub file: File,
}

/// The file that `name` stands for, then everything it includes, each once, in the order named.
///
/// A name without `/` and `.toml` is a shipped file; any other is a path, in an `include` relative
/// to the file that includes.
pub(super) fn read_all(name: &str) -> Result<Vec<Parsed>, RulesError> {
    let mut files = vec![parse(read(name, Path::new(""))?)?];
    let mut next = 0;
    while let Some(including) = files.get(next) {
        let folder = Path::new(&including.text.file).parent().unwrap_or(Path::new("")).to_owned();
        let mut included = Vec::new();
        for name in including.file.include.iter().flatten() {
            let text = read(name.get_ref(), &folder).map_err(|error| match error {
                RulesError::NotShipped { .. } => including.text.wrong_at(name, error.to_string()),
                other => other,
            })?;
            let known = files.iter().chain(&included).any(|seen| seen.text.file == text.file);
            if known {
                continue;
            }
            if files.len() + included.len() >= FILE_LIMIT {
                let what = format!("more than {FILE_LIMIT} files are included");
                return Err(including.text.wrong_at(name, what));
            }
            let parsed = parse(text)?;
            if files.iter().chain(&included).any(has_machine) {
                refuse_machine_parts(&parsed)?;
            }
            included.push(parsed);
        }
        files.extend(included);
        next += 1;
    }
    Ok(files)
}

/// Whether a name stands for a shipped file.
fn is_plain_name(name: &str) -> bool {
    !name.contains(['/', '\\']) && !name.ends_with(".toml")
}

fn read(name: &str, folder: &Path) -> Result<SourceText, RulesError> {
    if is_plain_name(name) {
        let shipped = SHIPPED.iter().find(|(known, _)| *known == name);
        return match shipped {
            Some((name, text)) => {
                Ok(SourceText { file: format!("<{name}>"), text: (*text).to_owned() })
            }
            None => Err(RulesError::NotShipped {
                name: name.to_owned(),
                shipped: alternatives(SHIPPED.map(|(known, _)| known)),
            }),
        };
    }
    read_path(&folder.join(name))
}

fn read_path(path: &PathBuf) -> Result<SourceText, RulesError> {
    let file = path.display().to_string();
    let unreadable = |source| RulesError::Unreadable { file: file.clone(), source };
    let mut bytes = Vec::new();
    fs::File::open(path)
        .and_then(|open| open.take(FILE_LIMIT_BYTES + 1).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    let whole = |what: &str| RulesError::Whole { file: file.clone(), what: what.to_owned() };
    if bytes.len() as u64 > FILE_LIMIT_BYTES {
        return Err(whole("longer than 1 MiB, so hardly a rules file"));
    }
    let text = String::from_utf8(bytes).map_err(|_| whole("not UTF-8 text, so no rules file"))?;
    Ok(SourceText { file, text })
}

fn parse(text: SourceText) -> Result<Parsed, RulesError> {
    if text.text.lines().all(|line| line.trim().is_empty() || line.trim().starts_with('#')) {
        return Err(text.wrong_whole("empty: a rules file has states, transitions and rules"));
    }
    match toml::from_str(&text.text) {
        Ok(file) => Ok(Parsed { text, file }),
        Err(error) => {
            // serde's terms, in those of the documentation of rules files
            let what = error
                .message()
                .replace("unknown field", "unknown key")
                .replace("missing field", "missing key")
                .replace("unknown variant", "unknown word")
                .replace("expected a sequence", "expected a list");
            Err(text.wrong(error.span().unwrap_or(0..0), what))
        }
    }
}

/// Whether a file has a machine.
pub(super) fn has_machine(parsed: &Parsed) -> bool {
    refuse_machine_parts(parsed).is_err()
}

/// There is one machine: of the file itself, or else of the first that it includes.
fn refuse_machine_parts(parsed: &Parsed) -> Result<(), RulesError> {
    let Parsed { text, file } = parsed;
    let span = file.state.first().map(|state| state.span());
    let span = span.or(file.transition.first().map(|transition| transition.span()));
    let span = span.or(file.otherwise.as_ref().map(|otherwise| otherwise.span()));
    let span = span.or(file.resume.as_ref().map(|resume| resume.span()));
    match span {
        Some(span) => Err(text.wrong(
            span,
            "there is a machine already: an included file may have states and transitions only if the file that includes it has none",
        )),
        None => Ok(()),
    }
}

/// A list of names, each with its position.
pub(super) type Names = Vec<Spanned<String>>;

/// A whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub about: Option<String>,
    pub flow_keys: Option<Spanned<Names>>,
    pub include: Option<Names>,
    pub hygiene: Option<Spanned<LimitsTable>>,
    #[serde(default)]
    pub groups: BTreeMap<String, Names>,
    #[serde(default)]
    pub state: Vec<Spanned<StateTable>>,
    #[serde(default)]
    pub transition: Vec<Spanned<TransitionTable>>,
    pub otherwise: Option<Spanned<OtherwiseTable>>,
    pub resume: Option<Spanned<ResumeTable>>,
    #[serde(default)]
    pub rule: Vec<Spanned<RuleTable>>,
    #[serde(default)]
    pub set: BTreeMap<String, toml::Table>,
}

/// `[hygiene]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitsTable {
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

/// `[resume]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResumeTable {
    pub r#in: Names,
    pub go: Spanned<String>,
    pub alert: Option<Names>,
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
    pub threshold: Option<Spanned<ThresholdTables>>,
    pub decided: Option<Spanned<DecidedTable>>,
    pub confirm: Option<Spanned<ConfirmTable>>,
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

/// `decided = { … }` of a rule
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DecidedTable {
    pub by: Spanned<String>,
    pub per_hour: Spanned<i64>,
}

/// `confirm = { … }` of a rule
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConfirmTable {
    pub within: Spanned<String>,
    pub by: Names,
    pub refuted_by: Option<Names>,
}

/// `threshold = { … }` of a rule, or a list of such
#[derive(Debug)]
pub(super) struct ThresholdTables(pub Vec<Spanned<ThresholdTable>>);

impl<'de> Deserialize<'de> for ThresholdTables {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<ThresholdTables, D::Error> {
        struct OneOrMore;
        impl<'de> Visitor<'de> for OneOrMore {
            type Value = ThresholdTables;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`{ count, of, per, window }` or a list of such")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut tables = Vec::new();
                while let Some(table) = list.next_element()? {
                    tables.push(table);
                }
                Ok(ThresholdTables(tables))
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Self::Value, A::Error> {
                let table = ThresholdTable::deserialize(MapAccessDeserializer::new(table))?;
                // The position of a single table is that of the list.
                Ok(ThresholdTables(vec![Spanned::new(0..0, table)]))
            }
        }
        from.deserialize_any(OneOrMore)
    }
}

/// One threshold
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ThresholdTable {
    pub count: Spanned<i64>,
    pub of: Spanned<String>,
    pub per: Spanned<String>,
    pub window: Spanned<String>,
    pub share: Option<Spanned<f64>>,
    pub sources: Option<Spanned<i64>>,
    pub ports: Option<Spanned<Vec<toml::Value>>>,
    pub severity: Option<Spanned<i64>>,
    #[serde(default)]
    pub levels: Vec<Spanned<LevelTable>>,
}

/// One of the `levels` of a threshold
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LevelTable {
    pub count: Spanned<i64>,
    pub severity: Spanned<i64>,
    #[serde(default)]
    pub answers_halved: bool,
}
