//! Other values for some keys of rules: `--set port_scan.count=20`, or `[set]` in the file that includes
//! them.

use std::str::FromStr;

use toml::Spanned;

use super::error::{RulesError, alternatives};
use super::source::{Parsed, RuleTable, ThresholdTable};
use super::values::duration_nanos;

/// The keys that can be set.
const KEYS: [&str; 6] = ["count", "window", "share", "sources", "severity", "cooldown"];

/// Another value for a key of a rule: `RULE.KEY=VALUE`. `RULE.N.KEY` is about the N-th threshold of a rule
/// that has several.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    rule: String,
    threshold: usize,
    key: String,
    value: toml::Value,
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Setting, String> {
        let syntax = || format!("`{text}` is not RULE.KEY=VALUE, as in port_scan.count=20");
        let (path, value) = text.split_once('=').ok_or_else(syntax)?;
        let (rule, key) = path.rsplit_once('.').ok_or_else(syntax)?;
        // A word without quotes is a string.
        let parsed = toml::from_str::<toml::Table>(&format!("value = {value}"));
        let value = parsed.ok().and_then(|mut table| table.remove("value"));
        let value = value.unwrap_or(toml::Value::String(path_value(text).to_owned()));
        Setting::new(rule, key, value)
    }
}

/// What is after the first `=`.
fn path_value(text: &str) -> &str {
    text.split_once('=').map_or("", |(_, value)| value)
}

impl Setting {
    fn new(rule: &str, key: &str, value: toml::Value) -> Result<Setting, String> {
        let (rule, threshold) = match rule.split_once('.') {
            None => (rule, 1),
            Some((rule, number)) => match number.parse() {
                Ok(number) if number >= 1 => (rule, number),
                _ => return Err(format!("`{number}` is no number of a threshold of `{rule}`")),
            },
        };
        if !KEYS.contains(&key) {
            return Err(format!("unknown key `{key}`, expected {}", alternatives(KEYS)));
        }
        Ok(Setting { rule: rule.to_owned(), threshold, key: key.to_owned(), value })
    }

    fn apply(&self, rule: &mut RuleTable) -> Result<(), String> {
        match self.key.as_str() {
            "severity" => {
                let severity = self.number(1, 4)?;
                rule.severity = placed(severity);
                for threshold in rule.threshold.iter_mut().flat_map(|all| &mut all.get_mut().0) {
                    let threshold = threshold.get_mut();
                    threshold.severity = None;
                    threshold.levels.clear();
                }
            }
            "cooldown" => rule.cooldown = Some(placed(self.duration()?)),
            _ => {
                let tables = rule.threshold.as_mut().map(|tables| &mut tables.get_mut().0);
                let number = self.threshold - 1;
                let table = tables.and_then(|tables| tables.get_mut(number));
                let table = table.ok_or_else(|| {
                    format!("rule `{}` has no threshold number {}", self.rule, self.threshold)
                })?;
                self.apply_to_threshold(table.get_mut())?;
            }
        }
        Ok(())
    }

    fn apply_to_threshold(&self, table: &mut ThresholdTable) -> Result<(), String> {
        match self.key.as_str() {
            "count" => table.count = placed(self.number(1, u32::MAX.into())?),
            "sources" => table.sources = Some(placed(self.number(1, 400)?)),
            "window" => table.window = placed(self.duration()?),
            _ => table.share = Some(placed(self.share()?)),
        }
        Ok(())
    }

    fn number(&self, from: i64, to: i64) -> Result<i64, String> {
        let number = self.value.as_integer().filter(|number| (from..=to).contains(number));
        number.ok_or_else(|| self.wrong(&format!("a number from {from} to {to}")))
    }

    fn share(&self) -> Result<f64, String> {
        let whole = || self.value.as_integer().map(|number| number as f64);
        let share =
            self.value.as_float().or_else(whole).filter(|share| (0.0..=1.0).contains(share));
        share.ok_or_else(|| self.wrong("a number from 0 to 1"))
    }

    fn duration(&self) -> Result<String, String> {
        let duration = self.value.as_str().filter(|text| duration_nanos(text).is_ok_and(|n| n > 0));
        duration.map(str::to_owned).ok_or_else(|| self.wrong("a time such as 60s"))
    }

    fn wrong(&self, expected: &str) -> String {
        format!("{}.{} = {}: expected {expected}", self.rule, self.key, self.value)
    }
}

/// A value that stands in no file.
fn placed<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}

/// Applies `[set]` of the first file, then `settings`.
pub(super) fn apply(files: &mut [Parsed], settings: &[Setting]) -> Result<(), RulesError> {
    let Some(first) = files.first() else { return Ok(()) };
    let name = first.text.file.clone();
    let mut all = Vec::new();
    for (rule, keys) in &first.file.set {
        for (key, value) in keys {
            let setting = Setting::new(rule, key, value.clone());
            all.push(("[set]", setting.map_err(|what| refused(&name, "[set]", &what))?));
        }
    }
    all.extend(settings.iter().map(|setting| ("--set", setting.clone())));
    for (place, setting) in &all {
        let mut rules = files.iter_mut().flat_map(|parsed| &mut parsed.file.rule);
        let rule = rules.find(|rule| *rule.get_ref().name.get_ref() == setting.rule);
        let result = match rule {
            Some(rule) => setting.apply(rule.get_mut()),
            None => Err(format!("there is no rule `{}`", setting.rule)),
        };
        result.map_err(|what| refused(&name, place, &what))?;
    }
    Ok(())
}

fn refused(file: &str, place: &str, what: &str) -> RulesError {
    RulesError::Whole { file: file.to_owned(), what: format!("{place}: {what}") }
}

#[cfg(test)]
mod tests {
    use super::super::Rules;

    fn load(settings: &[&str]) -> Result<Rules, String> {
        let settings: Vec<_> =
            settings.iter().map(|text| text.parse()).collect::<Result<_, String>>()?;
        Rules::load_with("tcp-connection", &settings).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_set_is_what_the_rule_has() {
        let rules = load(&["port_scan.count=20", "port_scan.window=2m", "host_sweep.2.share=0.7"]);
        let rules = rules.unwrap();
        let of = |name: &str| {
            let id = rules.list.find(name).unwrap().id;
            rules.thresholds.iter().filter(move |threshold| threshold.rule == id)
        };
        let scan = of("port_scan").next().unwrap();
        assert_eq!((scan.count, scan.window_nanos), (20, 120_000_000_000));
        let shares: Vec<u16> =
            of("host_sweep").map(|sweep| sweep.conditions.share_permille).collect();
        assert_eq!(shares, [500, 700]);
        let flood = load(&["syn_flood.severity=4", "syn_flood.count=5000"]).unwrap();
        let id = flood.list.find("syn_flood").unwrap().id;
        let first = flood.thresholds.iter().find(|threshold| threshold.rule == id).unwrap();
        assert_eq!((first.count, first.severity, first.severity_of(1 << 30, true)), (5000, 4, 4));
    }

    #[test]
    fn what_cannot_be_set_is_refused_with_the_reason() {
        for (setting, says) in [
            ("port_scan", "RULE.KEY=VALUE"),
            ("port_scan.counts=2", "unknown key `counts`"),
            ("portscan.count=2", "there is no rule `portscan`"),
            ("port_scan.count=0", "expected a number from 1"),
            ("port_scan.2.count=5", "no threshold number 2"),
            ("port_scan.window=soon", "a time such as 60s"),
            ("flow_fin.count=5", "no threshold number 1"),
            ("host_sweep.share=2", "a number from 0 to 1"),
        ] {
            let error = load(&[setting]).unwrap_err();
            assert!(error.contains(says), "{setting}: {error}");
        }
    }
}
