//! Where alerts go, by `--alerts` and `--json`: one choice for `replay` and `live`.
//!
//! | `--alerts` | `--json` | alerts |
//! |---|---|---|
//! | a file | any | EVE lines in that file |
//! | `-` | no | EVE lines on standard output |
//! | – | yes | not written |
//! | – | no | the default of the command: text, EVE lines or none |

use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::report::alert::{AlertTarget, LineOutput, TextAlerts};

/// Where alerts go, and in which format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AlertDestination {
    /// They are not written.
    None,
    /// Text on standard output: all alerts, or marks alone.
    TextOnStdout(TextAlerts),
    /// EVE lines on standard output.
    EveOnStdout,
    /// EVE lines in the file of `--alerts`.
    EveFile(PathBuf),
}

/// What happens to the content of an existing alert file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExistingFile {
    /// The file is truncated.
    Replace,
    /// New alerts are appended.
    Append,
}

impl AlertDestination {
    /// The destination by the options; `default` if they name none.
    pub fn choose(alerts: Option<&Path>, json: bool, default: AlertDestination) -> Self {
        match alerts {
            Some(path) if path == Path::new("-") => AlertDestination::EveOnStdout,
            Some(path) => AlertDestination::EveFile(path.to_owned()),
            None if json => AlertDestination::None,
            None => default,
        }
    }

    /// Opens it.
    pub fn open(&self, existing: ExistingFile) -> anyhow::Result<AlertTarget> {
        match self {
            AlertDestination::None => Ok(AlertTarget::None),
            AlertDestination::TextOnStdout(alerts) => Ok(AlertTarget::text_on_stdout(*alerts)),
            AlertDestination::EveOnStdout => Ok(AlertTarget::eve_on_stdout()),
            AlertDestination::EveFile(path) => {
                let lines = match existing {
                    ExistingFile::Replace => File::create(path).map(LineOutput::file),
                    ExistingFile::Append => File::options()
                        .create(true)
                        .append(true)
                        .open(path)
                        .and_then(LineOutput::append),
                };
                lines.map(AlertTarget::Eve).with_context(|| self.name())
            }
        }
    }

    /// The file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            AlertDestination::EveFile(path) => Some(path),
            _ => None,
        }
    }

    /// Whether lines of alerts appear on the terminal, where they would mix with a progress bar.
    pub fn is_terminal(&self) -> bool {
        let is_stdout =
            matches!(self, AlertDestination::TextOnStdout(_) | AlertDestination::EveOnStdout);
        is_stdout && io::stdout().is_terminal()
    }

    /// Its name in error messages.
    pub fn name(&self) -> String {
        match self.file() {
            Some(path) => format!("--alerts {}", path.display()),
            None => "alerts on standard output".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_output_comes_before_json_and_the_default() {
        let choose = |alerts: Option<&str>, json| {
            let default = AlertDestination::TextOnStdout(TextAlerts::All);
            AlertDestination::choose(alerts.map(Path::new), json, default)
        };
        assert_eq!(choose(None, false), AlertDestination::TextOnStdout(TextAlerts::All));
        assert_eq!(choose(None, true), AlertDestination::None);
        assert_eq!(choose(Some("-"), false), AlertDestination::EveOnStdout);
        assert_eq!(choose(Some("x"), true), AlertDestination::EveFile("x".into()));
    }

    #[test]
    fn an_existing_file_is_replaced_or_appended_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("eve.json");
        for (existing, content) in
            [(ExistingFile::Append, "old\nnew\n"), (ExistingFile::Replace, "new\n")]
        {
            std::fs::write(&path, "old\n").unwrap();
            let target = AlertDestination::EveFile(path.clone()).open(existing).unwrap();
            let AlertTarget::Eve(mut lines) = target else { panic!("{target:?} is not EVE") };
            lines.line(|out| out.extend_from_slice(b"new\n")).unwrap();
            lines.flush().unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
        }
        let error = AlertDestination::EveFile(folder.path().join("no/eve.json"))
            .open(ExistingFile::Append)
            .unwrap_err();
        assert!(error.to_string().starts_with("--alerts "), "{error}");
    }
}
