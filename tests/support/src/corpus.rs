//! The corpus of real captures, and its tables. It is next to the repository, never in it; tests
//! that need it are skipped, with a message, where it is missing.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use crate::repository;

/// The folder of captures and tables.
pub struct Corpus {
    folder: PathBuf,
}

/// A row of a table: its cells by the names of the columns.
pub type Row = HashMap<String, String>;

impl Corpus {
    /// The corpus; `None`, with a line that says so, where it is missing.
    pub fn find() -> Option<Corpus> {
        let folder = repository::root().join("../shared/corpus");
        if folder.join("MANIFEST.tsv").is_file() && folder.join("truth.tsv").is_file() {
            return Some(Corpus { folder });
        }
        eprintln!("SKIPPED: no corpus beside the repository; NO REAL CAPTURE WAS READ");
        None
    }

    /// The path of a capture.
    pub fn capture(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// What tshark counts in each capture.
    pub fn truth(&self) -> Vec<Row> {
        self.table("truth.tsv")
    }

    /// Each capture with its origin and category.
    pub fn manifest(&self) -> Vec<Row> {
        self.table("MANIFEST.tsv")
    }

    fn table(&self, name: &str) -> Vec<Row> {
        let text = fs::read_to_string(self.folder.join(name)).unwrap();
        let mut lines = text.lines().map(|line| line.split('\t').map(str::to_owned));
        let columns: Vec<String> = lines.next().expect("column names").collect();
        let rows: Vec<Row> =
            lines.map(|cells| columns.iter().cloned().zip(cells).collect()).collect();
        assert!(!rows.is_empty(), "{name} names no capture");
        rows
    }
}
