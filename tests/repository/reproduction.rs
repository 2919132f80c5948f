//! The run of `acsm reproduce` that is kept in docs/reproduce: all experiments, small files, and a README that counts its
//! verdicts rightly.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use acsm::reproduce::experiments;
use serde_json::Value;

/// No file of the run is larger.
const LARGEST_BYTES: u64 = 1 << 20;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reproduce")
}

fn record(id: &str) -> Value {
    let text = fs::read_to_string(folder().join(format!("{id}.json"))).expect(id);
    serde_json::from_str(&text).expect(id)
}

#[test]
fn every_experiment_is_there_with_its_rows_at_the_default_scale() {
    for experiment in experiments() {
        let record = record(experiment.id);
        assert_eq!(record["origin"]["scale"], "default", "{}", experiment.id);
        assert_eq!(record["claim"], experiment.claim, "{}", experiment.id);
        let rows = fs::read_to_string(folder().join(format!("{}.csv", experiment.id))).unwrap();
        assert!(rows.lines().count() > 1, "{} has no rows", experiment.id);
        let commit = record["origin"]["commit"].as_str().unwrap();
        assert!(commit.len() == 40 && rows.contains(commit), "{}: {commit}", experiment.id);
    }
}

#[test]
fn no_file_is_large() {
    let mut folders = vec![folder()];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let metadata = entry.metadata().unwrap();
            if metadata.is_dir() {
                folders.push(entry.path());
                continue;
            }
            assert!(metadata.len() <= LARGEST_BYTES, "{}", entry.path().display());
            files += 1;
        }
    }
    assert!(files > 150, "{files} files");
}

/// The rows of the README's table are `| paper | [name](name/index.html) | reproduced | differ | undecided |`.
#[test]
fn the_readme_counts_the_verdicts() {
    let mut counts: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for experiment in experiments() {
        let of_paper = counts.entry(experiment.paper()).or_default();
        let verdict = record(experiment.id)["verdict"].as_str().unwrap().to_owned();
        let names = ["reproduced", "differs", "undecided"];
        of_paper[names.iter().position(|name| *name == verdict).unwrap()] += 1;
    }
    let readme = fs::read_to_string(folder().join("README.md")).unwrap();
    let front = fs::read_to_string(folder().join("../../README.md")).unwrap();
    let mut all = [0; 3];
    for (paper, [reproduced, differ, undecided]) in counts {
        let row =
            format!("[{paper}]({paper}/index.html) | {reproduced} | {differ} | {undecided} |");
        assert!(readme.contains(&row), "{row}");
        let page = fs::read_to_string(folder().join(format!("{paper}/index.html"))).unwrap();
        assert!(page.contains("<article id="), "{paper}");
        all = [all[0] + reproduced, all[1] + differ, all[2] + undecided];
    }
    let sentence = format!("{} reproduced, {} differ, {} undecided", all[0], all[1], all[2]);
    assert!(readme.contains(&sentence) && front.contains(&sentence), "{sentence}");
}

/// In each row one cell begins with a verdict.
#[test]
fn expected_values_are_counted_by_verdict() {
    let text = fs::read_to_string(folder().join("expected.md")).unwrap();
    let verdicts = ["confirmed", "in part", "refuted", "not checked"];
    let counts = verdicts.map(|verdict| {
        let cell = format!("| {verdict}");
        text.lines().filter(|line| line.starts_with('|') && line.contains(&cell)).count()
    });
    let all: usize = counts.iter().sum();
    let [confirmed, part, refuted, unchecked] = counts;
    let sentence =
        format!("Of {all} rows, {confirmed} are confirmed, {part} in part; {refuted} are refuted");
    assert!(text.contains(&sentence), "{sentence}");
    assert!(text.contains(&format!("; {unchecked} are not checked.")), "{unchecked} not checked");
}
