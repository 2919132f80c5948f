//! Suppression files: alerts that a user does not want to see.
//!
//! ```toml
//! [[suppress]]
//! rule = "port_scan"            # left out: every rule
//! source = ["192.0.2.0/24"]     # left out: from anywhere
//! destination = ["10.0.0.5"]    # left out: to anywhere
//! reason = "our own scanner"    # for people
//! ```

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::alert_settings::{Network, NetworkError};
use super::rule::RuleList;

/// Which alerts to suppress.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Suppressions {
    entries: Vec<Suppression>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Suppression {
    rule: Option<String>,
    source: Vec<Network>,
    destination: Vec<Network>,
}

/// Why a suppression file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SuppressionError {
    /// It could not be read.
    #[error("cannot read the suppression file {path}", path = path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is no such file.
    #[error("{path} is no suppression file: {message}", path = path.display())]
    Syntax {
        /// Which file.
        path: PathBuf,
        /// What is wrong, and where.
        message: String,
    },
    /// It names a rule that does not exist.
    #[error("{path}: there is no rule `{rule}`; those in use are {known}", path = path.display())]
    UnknownRule {
        /// Which file.
        path: PathBuf,
        /// The name.
        rule: String,
        /// The names there are.
        known: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    suppress: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    rule: Option<String>,
    #[serde(default)]
    source: Vec<String>,
    #[serde(default)]
    destination: Vec<String>,
    #[serde(rename = "reason")]
    _reason: Option<String>,
}

impl Suppressions {
    /// Reads a suppression file; its rules must be in `list`.
    pub fn load(path: &Path, list: &RuleList) -> Result<Suppressions, SuppressionError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| SuppressionError::Io { path: path.to_owned(), source })?;
        let syntax = |message| SuppressionError::Syntax { path: path.to_owned(), message };
        let file: File = toml::from_str(&text).map_err(|error| syntax(error.to_string()))?;
        let mut entries = Vec::with_capacity(file.suppress.len());
        for entry in file.suppress {
            if let Some(rule) = entry.rule.as_ref().filter(|rule| list.find(rule).is_none()) {
                let (path, rule) = (path.to_owned(), rule.clone());
                let names: Vec<&str> = list.iter().map(|rule| rule.name.as_str()).collect();
                return Err(SuppressionError::UnknownRule { path, rule, known: names.join(", ") });
            }
            entries.push(Suppression {
                rule: entry.rule,
                source: networks(&entry.source).map_err(syntax)?,
                destination: networks(&entry.destination).map_err(syntax)?,
            });
        }
        Ok(Suppressions { entries })
    }

    /// Whether this alert is suppressed.
    pub fn cover(&self, rule: &str, source: IpAddr, destination: IpAddr) -> bool {
        let within = |networks: &[Network], address| {
            networks.is_empty() || networks.iter().any(|network| network.contains(address))
        };
        self.entries.iter().any(|entry| {
            entry.rule.as_ref().is_none_or(|name| name == rule)
                && within(&entry.source, source)
                && within(&entry.destination, destination)
        })
    }
}

fn networks(texts: &[String]) -> Result<Vec<Network>, String> {
    let parse = |text: &String| text.parse().map_err(|error: NetworkError| error.to_string());
    texts.iter().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Rules;

    fn load(text: &str) -> Result<Suppressions, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("suppress.toml");
        std::fs::write(&path, text).unwrap();
        let rules = Rules::load("tcp-flags").unwrap();
        Suppressions::load(&path, &rules.list).map_err(|error| error.to_string())
    }

    #[test]
    fn an_entry_covers_alerts_that_meet_all_its_conditions() {
        let suppressions = load(
            "[[suppress]]\nrule = 'flow_fin'\nsource = ['192.0.2.0/24']\nreason = 'ours'\n\
             [[suppress]]\ndestination = ['2001:db8::1']\n",
        )
        .unwrap();
        let covers = |rule, src: &str, dst: &str| {
            suppressions.cover(rule, src.parse().unwrap(), dst.parse().unwrap())
        };
        assert!(covers("flow_fin", "192.0.2.9", "198.51.100.1"));
        assert!(!covers("flow_rst", "192.0.2.9", "198.51.100.1"));
        assert!(!covers("flow_fin", "198.51.100.1", "192.0.2.9"));
        assert!(covers("flow_rst", "2001:db8::2", "2001:db8::1"));
        assert!(!load("").unwrap().cover("flow_fin", [1; 4].into(), [2; 4].into()));
    }

    #[test]
    fn errors_say_what_and_where() {
        for (text, says) in [
            ("[[suppress]]\nrules = 'flow_fin'\n", "line 2"),
            ("[[suppress]]\nrule = 'flow_finn'\n", "no rule `flow_finn`"),
            ("[[suppress]]\nsource = ['192.0.2.0/99']\n", "192.0.2.0/99"),
        ] {
            let error = load(text).unwrap_err();
            assert!(error.contains(says) && error.contains("suppress.toml"), "{error}");
        }
    }
}
