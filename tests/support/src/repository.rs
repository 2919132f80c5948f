//! The files of the repository that tests read.

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> &'static Path {
    // This crate is `tests/support`.
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two folders up")
}

/// The text of a file, by its path from the root.
pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A bundled capture.
pub fn trace(name: &str) -> PathBuf {
    root().join("traces").join(name)
}

/// The bundled captures that are not compressed.
pub fn traces() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("traces")).unwrap().map(|entry| entry.unwrap().path());
    let is_pcap = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "pcap");
    let captures: Vec<_> = entries.filter(is_pcap).collect();
    assert!(captures.len() >= 5, "the bundled captures are gone");
    captures
}
