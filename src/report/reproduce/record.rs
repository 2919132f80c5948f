//! What is kept of an experiment, and the files that hold it.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{figure, rows};
use crate::atomic_file::{self, ReplaceError};
use crate::reproduce::{ClaimKind, Experiment, Outcome, Panel, Scale, Verdict};

/// One experiment as it was run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// `paper/item`.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// What the paper says.
    pub claim: String,
    /// What kind of claim that is.
    pub kind: ClaimKind,
    /// Whether it agrees with the paper, and why.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Sentences about it.
    pub notes: Vec<String>,
    /// Where it comes from.
    pub origin: Origin,
    /// How long it took; 0 if it is the same as another.
    pub seconds: f64,
    /// Its panels. The JSON document has them without rows, which are in the CSV.
    pub panels: Vec<Panel>,
}

/// What a result was made with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// Version of the program.
    pub version: String,
    /// Commit of the work tree that the program was started in; `unknown` elsewhere.
    pub commit: String,
    /// Digest of the program's file.
    pub program: String,
    /// The scale.
    pub scale: Scale,
    /// The seed.
    pub seed: String,
    /// When the run began.
    pub date: String,
    /// Where.
    pub machine: Machine,
}

/// The machine of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor, as the system names it.
    pub processor: String,
    /// How many of its cores the program may use.
    pub cores: usize,
    /// Memory.
    pub memory_bytes: u64,
    /// The operating system and the architecture.
    pub system: String,
}

/// One line of `acsm reproduce --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Result<'a> {
    /// The experiment.
    pub id: &'a str,
    /// Its verdict.
    #[serde(flatten)]
    pub verdict: &'a Verdict,
}

/// One line of `acsm reproduce --list --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)] // as in `Experiment`
pub struct ListEntry {
    pub id: &'static str,
    pub paper: &'static str,
    pub item: &'static str,
    pub title: &'static str,
    pub kind: ClaimKind,
    pub claim: &'static str,
    pub seconds: u32,
}

impl From<&Experiment> for ListEntry {
    fn from(experiment: &Experiment) -> ListEntry {
        let &Experiment { id, title, claim, kind, seconds, .. } = experiment;
        let (paper, item) = (experiment.paper(), experiment.item());
        ListEntry { id, paper, item, title, kind, claim, seconds }
    }
}

/// A record that cannot be read or written.
#[derive(Debug, Error)]
pub enum RecordError {
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] ReplaceError),
    /// A folder for it cannot be made, or the file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not one of ours.
    #[error("{}: {why}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

impl Origin {
    /// Whether results of this origin are what a run of the other would give.
    pub fn agrees_with(&self, other: &Origin) -> bool {
        let what = |origin: &Origin| {
            let Origin { version, commit, program, scale, seed, .. } = origin.clone();
            (version, commit, program, scale, seed)
        };
        what(self) == what(other)
    }
}

impl Record {
    /// The record of an outcome, without panels that have no rows.
    pub fn new(
        experiment: &Experiment,
        mut outcome: Outcome,
        origin: Origin,
        seconds: f64,
    ) -> Record {
        outcome.panels.retain(|panel| !panel.rows.is_empty());
        Record {
            id: experiment.id.to_owned(),
            title: experiment.title.to_owned(),
            claim: experiment.claim.to_owned(),
            kind: experiment.kind,
            verdict: outcome.verdict,
            notes: outcome.notes,
            origin,
            seconds,
            panels: outcome.panels,
        }
    }

    /// The paper and the item.
    pub fn paper_and_item(&self) -> (&str, &str) {
        self.id.split_once('/').unwrap_or((&self.id, ""))
    }

    /// Writes CSV, figures and, last, the document: if that is there, all are complete.
    pub fn write(&self, folder: &Path) -> std::result::Result<(), RecordError> {
        let document = path_of(folder, &self.id, "json");
        if let Some(folder) = document.parent() {
            let failed = |source| RecordError::Read { path: folder.to_owned(), source };
            fs::create_dir_all(folder).map_err(failed)?;
        }
        atomic_file::replace(&path_of(folder, &self.id, "csv"), |out| {
            rows::write_head(out)?;
            self.write_rows(out)
        })?;
        self.draw(folder)?;
        Ok(atomic_file::replace(&document, |out| {
            serde_json::to_writer_pretty(&mut *out, self)?;
            writeln!(out)
        })?)
    }

    fn write_rows(&self, out: &mut dyn Write) -> io::Result<()> {
        rows::write(out, self.paper_and_item(), &self.panels, &self.origin.commit)
    }

    /// Writes the figures: `ITEM.svg`, further panels as `ITEM-2.svg` and so on.
    pub fn draw(&self, folder: &Path) -> std::result::Result<(), RecordError> {
        let drawn = self.panels.iter().filter(|panel| panel.drawn);
        for (number, panel) in (1..).zip(drawn) {
            let id = match number {
                1 => self.id.clone(),
                number => format!("{}-{number}", self.id),
            };
            let figure = figure::alone(panel, &id);
            atomic_file::replace(&path_of(folder, &id, "svg"), |out| {
                out.write_all(figure.document().as_bytes())
            })?;
        }
        Ok(())
    }

    /// Reads the record of an experiment, if there is one.
    pub fn read(folder: &Path, id: &str) -> std::result::Result<Option<Record>, RecordError> {
        let path = path_of(folder, id, "json");
        let read = |path: &Path| {
            fs::read_to_string(path)
                .map_err(|source| RecordError::Read { path: path.to_owned(), source })
        };
        if !path.exists() {
            return Ok(None);
        }
        let mut record: Record = serde_json::from_str(&read(&path)?)
            .map_err(|error| RecordError::Malformed { path, why: error.to_string() })?;
        let path = path_of(folder, id, "csv");
        rows::read(&read(&path)?, &mut record.panels)
            .map_err(|why| RecordError::Malformed { path, why })?;
        Ok(Some(record))
    }
}

/// Writes the rows of several records as one table.
pub fn write_all(out: &mut dyn Write, records: &[Record]) -> io::Result<()> {
    rows::write_head(out)?;
    records.iter().try_for_each(|record| record.write_rows(out))
}

fn path_of(folder: &Path, id: &str, extension: &str) -> PathBuf {
    folder.join(format!("{id}.{extension}"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::reproduce::{Answer, Axis, Rate};

    /// A record with all kinds of rows.
    pub(in crate::report::reproduce) fn example() -> Record {
        let mut first = Panel::new("Rates, of two", Axis::log("n, pairs"), Axis::log("rate"));
        first.rate("a \"b\", c", 1.0, Rate { events: 20, trials: 1000 }, 3);
        first.rate("a \"b\", c", 10.0, Rate { events: 0, trials: 1000 }, 3);
        first.computed("closed form", 1.0, 0.021);
        let mut second = Panel::new("Means", Axis::linear("x"), Axis::linear("y")).as_table();
        second.between("closed form", -1.5, 1e-300, [0.0, 1e-299], 1);
        second.measured("m", 2.0, 1.0 / 3.0, 1);
        Record {
            id: "paper/fig1".to_owned(),
            title: "Of <tests>".to_owned(),
            claim: "it falls".to_owned(),
            kind: ClaimKind::Shape,
            verdict: Verdict::new(Answer::Differs, "it falls", "it rises", "1 < 2"),
            notes: vec!["A note & more.".to_owned()],
            origin: Origin {
                version: "0".to_owned(),
                commit: "abc".to_owned(),
                program: "1".to_owned(),
                scale: Scale::Tiny,
                seed: "1".to_owned(),
                date: "2026-01-01T00:00:00Z".to_owned(),
                machine: Machine {
                    processor: "one".to_owned(),
                    cores: 2,
                    memory_bytes: 1 << 30,
                    system: "linux".to_owned(),
                },
            },
            seconds: 0.25,
            panels: vec![first, second],
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let record = example();
        record.write(folder.path()).unwrap();
        assert_eq!(Record::read(folder.path(), "paper/fig1").unwrap(), Some(record));
        assert_eq!(Record::read(folder.path(), "paper/fig2").unwrap(), None);
        let files = ["fig1.csv", "fig1.json", "fig1.svg"];
        let mut found: Vec<_> = fs::read_dir(folder.path().join("paper"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        found.sort();
        assert_eq!(found, files, "a table is not drawn");
    }

    #[test]
    fn what_was_made_with_something_else_does_not_agree() {
        let origin = example().origin;
        assert!(origin.agrees_with(&Origin { date: "later".to_owned(), ..origin.clone() }));
        for other in [
            Origin { commit: "other".to_owned(), ..origin.clone() },
            Origin { seed: "2".to_owned(), ..origin.clone() },
            Origin { scale: Scale::Full, ..origin.clone() },
            Origin { program: "2".to_owned(), ..origin.clone() },
        ] {
            assert!(!origin.agrees_with(&other));
        }
    }

    #[test]
    fn damaged_files_are_refused_with_their_name() {
        let folder = tempfile::tempdir().unwrap();
        example().write(folder.path()).unwrap();
        for (file, text) in [("fig1.csv", "series,x\r\n"), ("fig1.json", "{}")] {
            fs::write(folder.path().join("paper").join(file), text).unwrap();
            let error = Record::read(folder.path(), "paper/fig1").unwrap_err().to_string();
            assert!(error.contains(file), "{error}");
        }
    }
}
