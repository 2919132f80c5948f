//! `acsm reproduce` at the scale `tiny`: all experiments, once; its files, its page, resuming, redrawing.

mod items;
mod items_papers;
mod page;

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use acsm::reproduce::experiments;
use serde_json::Value;

use crate::runner::{Folder, acsm, json, stderr, stdout};

/// A folder with the results of all experiments.
fn all_results() -> PathBuf {
    static RESULTS: OnceLock<(Folder, PathBuf)> = OnceLock::new();
    let (_, path) = RESULTS.get_or_init(|| {
        let folder = Folder::new();
        let path = folder.path("results");
        let line = format!("reproduce --scale tiny --quiet --json --out {}", path.display());
        let verdicts = json(&line, &[]);
        assert_eq!(verdicts.as_array().unwrap().len(), experiments().count());
        (folder, path)
    });
    path.clone()
}

#[test]
fn every_experiment_has_rows_a_figure_and_a_verdict_with_reasons() {
    let folder = all_results();
    for experiment in experiments() {
        let id = experiment.id;
        let text = fs::read_to_string(folder.join(format!("{id}.json"))).unwrap();
        let record: Value = serde_json::from_str(&text).unwrap();
        let verdict = record["verdict"].as_str().unwrap();
        assert!(["reproduced", "differs", "undecided"].contains(&verdict), "{id}: {verdict}");
        for key in ["paper", "why", "claim", "title"] {
            assert!(!record[key].as_str().unwrap().is_empty(), "{id}: no {key}");
        }
        let csv = fs::read_to_string(folder.join(format!("{id}.csv"))).unwrap();
        assert!(csv.starts_with("paper,item,series,x,y,low,high,events,trials,seeds,commit\r\n"));
        let panels = record["panels"].as_array().unwrap();
        // Without a Memcached there is nothing to show.
        let needs_memcached = id == "kbf-j/fig16" && panels.is_empty();
        assert!(csv.lines().count() > 1 || needs_memcached, "{id}: no rows");
        let is_drawn = panels.iter().any(|panel| panel["drawn"] == true);
        assert_eq!(folder.join(format!("{id}.svg")).exists(), is_drawn, "{id}");
    }
    let all = fs::read_to_string(folder.join("results.csv")).unwrap();
    assert!(!all.contains("NaN") && !all.contains("inf"), "every value is a number");
}

/// What was run is not run again with the same seed, and gives the same rows in another folder.
#[test]
fn finished_experiments_are_kept_and_the_same_seed_gives_the_same_rows() {
    let folder = Folder::new();
    let run = |out: &str, more: &str| {
        let out = folder.path(out);
        let line = format!("reproduce kbf-j/fig20 kbf-j/fig5 --scale tiny {more} --out");
        acsm(&line, &[&out])
    };
    let rows = |out: &str| fs::read_to_string(folder.path(out).join("kbf-j/fig5.csv")).unwrap();
    assert!(run("a", "").status.success());
    let again = run("a", "");
    assert!(stderr(&again).contains("2 experiments are done"), "{}", stderr(&again));
    // One that is missing is run, the other is kept.
    fs::remove_file(folder.path("a").join("kbf-j/fig20.json")).unwrap();
    assert!(stderr(&run("a", "")).contains("1 experiments are done"));
    assert!(!stderr(&run("a", "--seed 2")).contains("are done"));
    assert!(run("b", "--workers 1").status.success() && run("c", "--seed 2").status.success());
    assert_ne!(rows("b"), rows("c"));
    assert_eq!(rows("a"), rows("c"));
}

#[test]
fn figures_and_page_are_drawn_again_from_the_rows() {
    let folder = Folder::new();
    let out = folder.path("out");
    let run = |line: &str| acsm(&format!("reproduce {line} --out"), &[&out]);
    assert!(run("kbf-j/fig21 --scale tiny").status.success());
    let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    let before = ["index.html", "kbf-j/fig21.svg"].map(read);
    for name in ["index.html", "kbf-j/fig21.svg"] {
        fs::remove_file(out.join(name)).unwrap();
    }
    assert!(run("--redraw").status.success());
    assert_eq!(["index.html", "kbf-j/fig21.svg"].map(read), before);
    let nothing = run("kbf-j/fig20 --redraw");
    assert_eq!(nothing.status.code(), Some(1));
    assert!(stderr(&nothing).contains("has no results"), "{}", stderr(&nothing));
}

#[test]
fn the_list_names_what_there_is_and_other_names_are_refused() {
    let list = json("reproduce --list --json", &[]);
    let ids: Vec<&str> =
        list.as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect();
    assert_eq!(ids, experiments().map(|experiment| experiment.id).collect::<Vec<_>>());
    for entry in list.as_array().unwrap() {
        let id =
            format!("{}/{}", entry["paper"].as_str().unwrap(), entry["item"].as_str().unwrap());
        assert_eq!(entry["id"], id.as_str());
        assert!(entry["seconds"].as_u64().is_some() && entry["title"].is_string());
    }
    let text = stdout(&acsm("reproduce --list kbf-i", &[]));
    assert!(text.contains("kbf-i/fig8") && !text.contains("kbf-j"), "{text}");
    let unknown = acsm("reproduce kbf-j/fig99", &[]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("no experiment or paper `kbf-j/fig99`"));
}
