//! A closed loop counts what `replay --verify` counts, to the last error and alert.

use serde_json::Value;

use super::compare;
use crate::runner::{Folder, count, replay};

/// A store as `compare` names it, and as `replay` does, in the layout that `compare` takes.
const STORES: [(&str, &str); 11] = [
    ("kbf", "--backend kbf --layout spread"),
    ("kbf:literal", "--backend kbf --layout spread --decode literal"),
    ("kbf:three-way", "--backend kbf --layout spread --decode three-way"),
    ("kbf:joint", "--backend kbf --layout spread --decode joint"),
    ("kbf:salt", "--backend kbf --layout spread --decode salt"),
    ("sbf", "--backend sbf --layout spread"),
    ("sbf:paper-kbf", "--backend sbf --layout spread --sbf-rules paper-kbf"),
    ("sbf:no-counters", "--backend sbf --layout spread --sbf-rules no-counters"),
    ("dbf", "--backend dbf --layout spread"),
    ("bhbf", "--backend bhbf --layout spread"),
    ("fcf", "--backend fcf"),
];

fn name(run: &Value) -> String {
    match run["variant"].as_str() {
        Some(variant) => format!("{}:{variant}", run["backend"].as_str().unwrap()),
        None => run["backend"].as_str().unwrap().to_owned(),
    }
}

#[test]
fn closed_loops_err_as_replay_does() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 12k --attacks all --link ethernet");
    let names = STORES.map(|(name, _)| name).join(",");
    let mut alerts_differed = 0;
    for (compared, shared) in [
        ("--fp-rates 0.1,0.01 --repeat 1", "--preset paper --flows 100"),
        ("--fp-rates 0.1 --repeat 2", "--preset operator --flows 300 --idle-timeout 20s"),
        ("--fp-rates 0.05 --repeat 1", "--preset operator --flows 600 --expire none"),
        (
            "--fp-rates 0.1 --repeat 1",
            "--preset paper --flows 100 --touch all --phase ops:500 --hashes 3",
        ),
    ] {
        let options = format!("--backends {names} {compared} --seed 5 {shared}");
        let report = compare(&options, &[&trace]);
        let runs = report["runs"].as_array().unwrap();
        assert!(runs.len() >= STORES.len());
        for run in runs {
            let (name, seed, p) = (name(run), &run["seed"], &run["fp_rate"]);
            let store = STORES.iter().find(|store| store.0 == name).unwrap().1;
            // `compare` ignores an option where a store does not have it.
            let shared =
                if name == "fcf" { shared.replace("--hashes 3", "") } else { shared.into() };
            let options =
                format!("--verify --pending none {shared} {store} --seed {seed} --fp-rate {p}");
            let summary = replay(&options, &[&trace]);
            assert_eq!(run["errors"], summary["errors"], "{options}");
            assert!(count(run, "/errors/flows_wrong") > 0, "{options}: nothing to compare");
            for key in ["cells", "hashes", "bits", "bits_per_flow", "layout", "expire"] {
                assert_eq!(run[key], summary["store"][key], "{options}: {key}");
            }
            let of = |key: &str| count(run, &format!("/errors/alerts_{key}"));
            alerts_differed += of("missed") + of("spurious");
        }
    }
    assert!(alerts_differed > 100, "alerts are compared too");
}

#[test]
fn exact_has_the_memory_of_the_first_filter() {
    let folder = Folder::new();
    // So many flows at once that the table, which has what the filter's lookup cache takes too, is full.
    let (trace, _) = folder.generate("x.pcap", "--packets 40k --flows 8k --duration 1s");
    let common = "--preset paper --flows 50 --expire none";
    let report =
        compare(&format!("--backends exact,sbf --fp-rates 0.1 --repeat 1 {common}"), &[&trace]);
    let [exact, sbf] = [0, 1].map(|n| &report["runs"][n]);
    let bytes = (count(sbf, "/bits") + count(sbf, "/table_bits") + count(sbf, "/cache_bits")) / 8;
    assert!(count(exact, "/bits") <= 8 * bytes);
    let options = format!("--verify --backend exact --memory {bytes}B {common}");
    let summary = replay(&options, &[&trace]);
    assert_eq!(exact["errors"], summary["errors"]);
    assert!(count(exact, "/errors/false_negative") > 0, "it is capped");
}

#[test]
fn equal_memory_is_that_of_the_first_store() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 6k");
    let options = "--preset operator --backends kbf,sbf,dbf --fp-rates 0.1,0.01 --equal memory,cells --repeat 1";
    let report = compare(options, &[&trace]);
    let runs = report["runs"].as_array().unwrap();
    let (memory, cells) = runs.split_at(6);
    for three in memory.chunks(3) {
        let [kbf, sbf, dbf] = [0, 1, 2].map(|n| &three[n]);
        for run in [sbf, dbf] {
            let all = |run: &Value| -> f64 {
                ["/bits", "/table_bits", "/cache_bits"]
                    .map(|key| count(run, key) as f64)
                    .iter()
                    .sum()
            };
            let (ours, first) = (all(run), all(kbf));
            assert!(ours <= first && ours > 0.95 * first, "{ours} of {first}");
            assert!(count(run, "/hashes") > count(kbf, "/hashes"), "it makes the best of it");
        }
    }
    for three in cells.chunks(3) {
        let cells = |n: usize| (count(&three[n], "/cells"), count(&three[n], "/hashes"));
        assert!(cells(0) == cells(1) && cells(1) == cells(2));
    }
    // The first is the same in both: run once, reported twice.
    assert_eq!(memory[0]["errors"], cells[0]["errors"]);
    assert_eq!(memory[0]["seconds"], cells[0]["seconds"]);
}

/// Joint decoding errs less than the papers' in the same cells, and with salt not more than without.
#[test]
fn salt_is_not_worse_than_joint_decoding() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 60k --flows 6k --seed 5");
    for expire in ["timer", "none"] {
        let options = format!(
            "--preset paper --flows 5k --backends kbf:three-way,kbf:joint,kbf:salt,kbf --expire {expire} --fp-rates 0.1 --seed 1 --repeat 1"
        );
        let report = compare(&options, &[&trace]);
        let runs = report["runs"].as_array().unwrap();
        let errors = |variant: Option<&str>| {
            let run = runs.iter().find(|run| run["variant"].as_str() == variant).unwrap();
            let kinds = [
                "false_positive",
                "dont_know_absent",
                "false_negative",
                "dont_know",
                "false_return",
            ];
            kinds.iter().map(|kind| count(run, &format!("/errors/{kind}"))).sum::<u64>()
        };
        let [papers, joint, salt] = ["three-way", "joint", "salt"].map(|name| errors(Some(name)));
        println!("{expire}: three-way {papers}, joint {joint}, salt {salt}");
        assert!(joint > 50 && joint < papers, "{expire}: {joint}, three-way {papers}");
        // Five standard deviations of a count, as if both erred alike.
        let chance = 5.0 * (2.0 * joint as f64).sqrt();
        assert!((salt as f64) < joint as f64 + chance, "{expire}: salt {salt}, joint {joint}");
        assert_eq!(errors(None) == salt, expire == "timer", "salt is the default of the timer");
    }
}
