//! `[[rule]]` and `[hygiene]` tables: the list of rules, thresholds, conditions, alert limits.

use std::collections::BTreeMap;

use toml::Spanned;

use super::error::{RulesError, SourceText};
use super::source::{ConfirmTable, DecidedTable, LimitsTable, Names, Parsed, RuleTable};
use super::states::{Positions, States};
use super::thresholds;
use super::values::{EVIDENCE, FlagCondition, VERDICTS, duration, flags, named, number};
use crate::machine::alert_settings::{AlertSettings, NetworkError};
use crate::machine::confirmation::{Confirmation, EvidenceSet};
use crate::machine::rule::{DecidedRule, Preset, Rule, RuleKind, RuleList, ThresholdRule};
use crate::machine::table::{RuleId, RuleSet};

/// The contents of all `[[rule]]` tables, except their conditions.
pub(super) struct RuleTables {
    pub list: RuleList,
    pub thresholds: Vec<ThresholdRule>,
    pub decided: Vec<DecidedRule>,
}

/// A rule with its own condition, which fires on any packet that meets it.
#[derive(Debug)]
pub(super) struct When {
    pub rule: RuleId,
    /// `None`: whatever the state, so also when it is not known.
    pub positions: Option<Positions>,
    pub flags: FlagCondition,
}

/// Reads the rules of all files, in order.
pub(super) fn read_rules(
    files: &[Parsed],
    limits: &AlertSettings,
) -> Result<RuleTables, RulesError> {
    let mut rules: Vec<Rule> = Vec::new();
    let (mut thresholds, mut decided) = (Vec::new(), Vec::new());
    let mut signatures = BTreeMap::new();
    for (text, table) in tables(files) {
        let Some(id) =
            u8::try_from(rules.len()).ok().filter(|&id| usize::from(id) < RuleSet::LIMIT)
        else {
            let what = format!("more than {} rules", RuleSet::LIMIT);
            return Err(text.wrong_at(&table.name, what));
        };
        let rule = rule(text, table, RuleId(id), limits)?;
        if rules.iter().any(|known| known.name == rule.name) {
            let what = format!("there is a rule `{}` already", rule.name);
            return Err(text.wrong_at(&table.name, what));
        }
        if let Some(other) = signatures.insert(rule.signature_id, rule.name.clone()) {
            let what = format!("signature id {} is that of rule `{other}`", rule.signature_id);
            return Err(text.wrong_at(&table.sid, what));
        }
        match (&table.threshold, rule.kind) {
            (Some(tables), RuleKind::Threshold | RuleKind::Flag) => {
                let read = |table| thresholds::threshold_rule(text, table, &rule);
                let of_rule = tables.get_ref().0.iter().map(read);
                thresholds.append(&mut of_rule.collect::<Result<Vec<_>, _>>()?);
            }
            (None, RuleKind::Threshold) => {
                let what = "a rule of kind `threshold` needs `threshold = { … }`";
                return Err(text.wrong_at(&table.kind, what));
            }
            (Some(threshold), _) => {
                let what = "`threshold` needs `kind = \"threshold\"`";
                return Err(text.wrong_at(threshold, what));
            }
            (None, _) => {}
        }
        if let Some(table) = &table.decided {
            decided.push(decided_rule(text, table, &rule)?);
        }
        rules.push(rule);
    }
    Ok(RuleTables { list: RuleList::new(rules), thresholds, decided })
}

/// Every `[[rule]]` with the file it is in; its index in this list is its id.
pub(super) fn tables(files: &[Parsed]) -> impl Iterator<Item = (&SourceText, &RuleTable)> {
    files
        .iter()
        .flat_map(|parsed| parsed.file.rule.iter().map(|table| (&parsed.text, table.get_ref())))
}

fn rule(
    text: &SourceText,
    table: &RuleTable,
    id: RuleId,
    limits: &AlertSettings,
) -> Result<Rule, RulesError> {
    let name = table.name.get_ref();
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.is_empty() || !name.chars().all(plain) {
        let what = format!("`{name}` is no rule name; use a–z, 0–9 and _");
        return Err(text.wrong_at(&table.name, what));
    }
    let cooldown_nanos = match &table.cooldown {
        Some(cooldown) => duration(text, cooldown)?,
        None if *table.kind.get_ref() == RuleKind::Mark => 0,
        None => limits.cooldown_nanos,
    };
    Ok(Rule {
        id,
        name: name.clone(),
        signature_id: number(text, &table.sid, "`sid`", 1..=u32::MAX)?,
        severity: number(text, &table.severity, "`severity` (1 is gravest)", 1..=4)? as u8,
        category: table.category,
        message: table.message.clone(),
        kind: *table.kind.get_ref(),
        on: table.on.clone().unwrap_or(Preset::ALL.to_vec()),
        cooldown_nanos,
        confirm: table.confirm.as_ref().map(|table| confirmation(text, table)).transpose()?,
        counterparts: table.like.clone(),
    })
}

fn confirmation(
    text: &SourceText,
    table: &Spanned<ConfirmTable>,
) -> Result<Confirmation, RulesError> {
    let ConfirmTable { within, by, refuted_by } = table.get_ref();
    let evidence = |names: &Names| -> Result<EvidenceSet, RulesError> {
        let read = |name: &Spanned<String>| {
            let found = named(&EVIDENCE, name.get_ref(), "word for what confirms an alert,");
            found.map_err(|what| text.wrong_at(name, what))
        };
        names.iter().map(read).collect()
    };
    let none = EvidenceSet::default();
    let refuted_by = refuted_by.as_ref().map_or(Ok(none), evidence)?;
    if refuted_by.looks_back() {
        let what = "`refuted_by` is about what follows; what comes before confirms, or is missing";
        return Err(text.wrong_at(table, what));
    }
    Ok(Confirmation { within_nanos: duration(text, within)?, by: evidence(by)?, refuted_by })
}

fn decided_rule(
    text: &SourceText,
    table: &Spanned<DecidedTable>,
    rule: &Rule,
) -> Result<DecidedRule, RulesError> {
    if rule.kind != RuleKind::NoSession {
        return Err(text.wrong_at(table, "`decided` needs `kind = \"no_session\"`"));
    }
    let DecidedTable { by, per_hour } = table.get_ref();
    let verdict = named(&VERDICTS, by.get_ref(), "word for `by`,");
    Ok(DecidedRule {
        rule: rule.id,
        severity: rule.severity,
        by: verdict.map_err(|what| text.wrong_at(by, what))?,
        per_hour: number(text, per_hour, "`per_hour`", 1..=u32::MAX)?,
    })
}

/// The rules with a `when`, in order.
pub(super) fn conditions(files: &[Parsed], states: &States) -> Result<Vec<When>, RulesError> {
    let mut conditions = Vec::new();
    for ((text, table), id) in tables(files).zip(0u8..) {
        let Some(when) = &table.when else { continue };
        if table.threshold.is_some() && *table.kind.get_ref() == RuleKind::Threshold {
            return Err(text.wrong_at(when, "a threshold has no `when`: it says what it counts"));
        }
        let when = when.get_ref();
        let positions =
            when.r#in.as_ref().map(|names| states.positions(text, names)).transpose()?;
        let flags = flags(text, [&when.set, &when.clear, &when.exact])?;
        conditions.push(When { rule: RuleId(id), positions, flags });
    }
    Ok(conditions)
}

/// `[hygiene]` of the first file that has one: the including file's before the included.
pub(super) fn read_limits(files: &[Parsed]) -> Result<AlertSettings, RulesError> {
    let found = files.iter().find_map(|parsed| Some((&parsed.text, parsed.file.hygiene.as_ref()?)));
    match found {
        Some((text, table)) => limits(text, table.get_ref()),
        None => Ok(AlertSettings::default()),
    }
}

fn limits(text: &SourceText, table: &LimitsTable) -> Result<AlertSettings, RulesError> {
    let mut limits = AlertSettings::default();
    for network in table.home_networks.iter().flatten() {
        let parsed = network.get_ref().parse();
        let error = |error: NetworkError| text.wrong_at(network, error.to_string());
        limits.home_networks.push(parsed.map_err(error)?);
    }
    if let Some(cooldown) = &table.cooldown {
        limits.cooldown_nanos = duration(text, cooldown)?;
    }
    if let Some(budget) = &table.alerts_per_second {
        limits.alerts_per_second = number(text, budget, "`alerts_per_second`", 1..=u32::MAX)?;
    }
    Ok(limits)
}
