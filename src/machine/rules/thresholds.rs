//! `threshold = { … }` of a rule: what is counted, per what, and what else has to be met.

use toml::Spanned;

use super::error::{RulesError, SourceText};
use super::source::{LevelTable, ThresholdTable};
use super::values::{COUNTED, THRESHOLD_KEYS, duration, named, number};
use crate::machine::rule::{
    Conditions, Counted, Level, PortRanges, Rule, RuleKind, ThresholdKey, ThresholdRule,
};

/// Reads one threshold of a rule.
pub(super) fn threshold_rule(
    text: &SourceText,
    table: &Spanned<ThresholdTable>,
    rule: &Rule,
) -> Result<ThresholdRule, RulesError> {
    let table = table.get_ref();
    let counted = named(&COUNTED, table.of.get_ref(), "word for `of`,")
        .map_err(|what| text.wrong_at(&table.of, what))?;
    let per = named(&THRESHOLD_KEYS, table.per.get_ref(), "word for `per`,")
        .map_err(|what| text.wrong_at(&table.per, what))?;
    check_pairing(text, table, rule, (counted, per))?;
    let window_nanos = duration(text, &table.window)?;
    if window_nanos == 0 {
        return Err(text.wrong_at(&table.window, "a window is longer than nothing"));
    }
    let severity = match &table.severity {
        Some(severity) => number(text, severity, "`severity` (1 is gravest)", 1..=4)? as u8,
        None => rule.severity,
    };
    Ok(ThresholdRule {
        rule: rule.id,
        counted,
        per,
        count: number(text, &table.count, "`count`", 1..=u32::MAX)?,
        window_nanos,
        cooldown_nanos: rule.cooldown_nanos,
        severity,
        conditions: conditions(text, table)?,
    })
}

/// Which keys go with what is counted.
fn check_pairing(
    text: &SourceText,
    table: &ThresholdTable,
    rule: &Rule,
    (counted, per): (Counted, ThresholdKey),
) -> Result<(), RulesError> {
    let is_of_flags = counted == Counted::OddFlagTargets;
    if is_of_flags != (rule.kind == RuleKind::Flag) {
        let what = "a rule of kind `flag` counts `odd_flag_targets`, and no other does";
        return Err(text.wrong_at(&table.of, what));
    }
    let (fits, keys) = match counted {
        Counted::IncompleteSyns => (
            matches!(per, ThresholdKey::Service | ThresholdKey::Prefix | ThresholdKey::WidePrefix),
            "`service`, `prefix` or `wide_prefix`",
        ),
        Counted::RefusedSyns | Counted::EmptyConnections => {
            (per == ThresholdKey::Service, "`service`")
        }
        Counted::RepeatedSyns => (per == ThresholdKey::Tuple, "`5-tuple`"),
        _ => (!matches!(per, ThresholdKey::Prefix | ThresholdKey::WidePrefix), "no `prefix`"),
    };
    if fits {
        return Ok(());
    }
    Err(text.wrong_at(&table.per, format!("`{}` are counted per {keys}", table.of.get_ref())))
}

fn conditions(text: &SourceText, table: &ThresholdTable) -> Result<Conditions, RulesError> {
    let share_permille = match &table.share {
        None => 0,
        Some(share) if (0.0..=1.0).contains(share.get_ref()) => {
            (share.get_ref() * 1000.0).round() as u16
        }
        Some(share) => return Err(text.wrong_at(share, "`share` is a number from 0 to 1")),
    };
    let sources = match &table.sources {
        Some(sources) => number(text, sources, "`sources`", 1..=400)? as u16,
        None => 0,
    };
    Ok(Conditions {
        share_permille,
        sources,
        ports: ports(text, table)?,
        levels: levels(text, &table.levels)?,
    })
}

fn levels(
    text: &SourceText,
    tables: &[Spanned<LevelTable>],
) -> Result<[Option<Level>; Conditions::LEVELS], RulesError> {
    let mut levels = [None; Conditions::LEVELS];
    if let Some(table) = tables.get(Conditions::LEVELS) {
        return Err(text.wrong_at(table, format!("more than {} levels", Conditions::LEVELS)));
    }
    for (level, table) in levels.iter_mut().zip(tables) {
        let table = table.get_ref();
        *level = Some(Level {
            count: number(text, &table.count, "`count`", 1..=u32::MAX)?,
            severity: number(text, &table.severity, "`severity` (1 is gravest)", 1..=4)? as u8,
            answers_halved: table.answers_halved,
        });
    }
    Ok(levels)
}

fn ports(text: &SourceText, table: &ThresholdTable) -> Result<PortRanges, RulesError> {
    let Some(ports) = &table.ports else { return Ok(PortRanges::default()) };
    let ranges: Option<Vec<_>> = ports.get_ref().iter().map(port_range).collect();
    match ranges {
        Some(ranges) if (1..=PortRanges::LIMIT).contains(&ranges.len()) => {
            Ok(PortRanges::new(&ranges))
        }
        _ => {
            let what = "`ports` is a list of 1 to 8 ports and ranges, as in [80, \"1024-65535\"]";
            Err(text.wrong_at(ports, what))
        }
    }
}

/// `80` or `"1024-65535"`.
fn port_range(value: &toml::Value) -> Option<(u16, u16)> {
    match value {
        toml::Value::Integer(port) => {
            let port = u16::try_from(*port).ok()?;
            Some((port, port))
        }
        toml::Value::String(range) => {
            let (from, to) = range.split_once('-')?;
            let (from, to) = (from.parse().ok()?, to.parse().ok()?);
            (from <= to).then_some((from, to))
        }
        _ => None,
    }
}
