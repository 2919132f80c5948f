//! The JSON document that programs rely on, and its figures for a trace.

use serde_json::Value;

use super::{compare, without_seconds};
use crate::runner::{Folder, count, json, replay};

const RUN: [&str; 14] = [
    "backend",
    "fp_rate",
    "equal",
    "loop",
    "seed",
    "layout",
    "expire",
    "cells",
    "hashes",
    "bits",
    "bits_per_flow",
    "errors",
    "interval",
    "census",
];

#[test]
fn the_report_has_the_names_of_the_contract() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 5k");
    let report = compare("--loop closed,open --fp-rates 0.1,0.01 --repeat 2", &[&trace]);
    let runs = report["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 24, "three stores, two loops, two rates, two seeds");
    for name in RUN.iter().chain(&["seconds"]) {
        assert!(runs.iter().all(|run| run.get(name).is_some()), "{name}");
    }
    let summary = replay("--verify", &[&trace]);
    assert_eq!(report["trace"], summary["trace"]);
    let keys = |errors: &Value| errors.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&runs[0]["errors"]), keys(&summary["errors"]));
    assert!(report["answer"].as_array().unwrap().len() >= 2);
    let command = report["parameters"]["command"].as_str().unwrap();
    assert!(command.starts_with("acsm compare --loop closed,open"), "{command}");
}

#[test]
fn the_same_seed_gives_the_same_bytes_with_any_threads() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 12k --attacks all");
    let options = "--preset operator --loop closed,open --repeat 2 --fp-rates 0.1,0.001";
    let report = |workers| {
        let report = compare(&format!("{options} --workers {workers}"), &[&trace]);
        without_seconds(report).to_string()
    };
    let one = report(1);
    assert!(one == report(3), "threads change nothing");
    let zipped = folder.path("x.pcap.gz");
    let mut encoder = flate2::write::GzEncoder::new(
        std::fs::File::create(&zipped).unwrap(),
        flate2::Compression::fast(),
    );
    std::io::copy(&mut std::fs::File::open(&trace).unwrap(), &mut encoder).unwrap();
    encoder.finish().unwrap();
    let other = without_seconds(compare(options, &[&zipped]));
    let one: Value = serde_json::from_str(&one).unwrap();
    assert_eq!(one["runs"], other["runs"], "compression changes nothing");
    assert_ne!(one["runs"][0]["errors"], one["runs"][1]["errors"], "another seed does");
}

#[test]
fn the_load_is_what_the_trace_has() {
    let folder = Folder::new();
    let (trace, truth) = folder.generate("x.pcap", "--packets 20k");
    let report = compare("--preset paper --expire none --fp-rates 0.1", &[&trace]);
    let exact = replay("--preset paper --expire none --backend exact", &[&trace]);
    let load = &report["load"];
    assert_eq!(load["flows_total"], truth["flows"]);
    assert_eq!(load["flows_peak"], truth["flows"], "nothing ages, nothing is deleted");
    assert_eq!(report["parameters"]["flows"], truth["flows"], "sized by the first pass");
    assert_eq!(load["alerts"], exact["alerts"]["total"], "no thresholds are broken here");
    let shares: f64 =
        load["state_shares"].as_array().unwrap().iter().filter_map(Value::as_f64).sum();
    assert!((shares - 1.0).abs() < 1e-9);
    let entropy = load["state_entropy_bits"].as_f64().unwrap();
    assert!(entropy > 0.0 && entropy < 6_f64.log2());
    // With the timer fewer flows are alive at once, as an exact table reports at its end.
    let aging = compare("--preset paper --idle-timeout 10s --fp-rates 0.1", &[&trace]);
    let (peak, all) = (count(&aging, "/load/flows_peak"), count(&aging, "/load/flows_total"));
    let at_end = replay("--preset paper --idle-timeout 10s --backend exact", &[&trace]);
    assert!(peak < all && peak >= count(&at_end, "/flows/live"), "{peak} of {all}");
}

#[test]
fn timelines_and_intervals_hold_what_was_counted() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 20k");
    let report =
        compare("--fp-rates 0.1,0.001 --loop closed,open --repeat 3 --backends kbf,sbf", &[&trace]);
    let last_second = report["load"]["seconds"].as_f64().unwrap();
    for run in report["runs"].as_array().unwrap() {
        let steps = run["timeline"].as_array().unwrap();
        assert!((30..=60).contains(&steps.len()), "{} steps", steps.len());
        let sum = |key: &str| steps.iter().filter_map(|step| step[key].as_u64()).sum::<u64>();
        assert_eq!(sum("lookups"), 20_000);
        let errors = &run["errors"];
        let kinds =
            ["false_positive", "dont_know_absent", "false_negative", "dont_know", "false_return"];
        let total: u64 = kinds.iter().filter_map(|kind| errors[kind].as_u64()).sum();
        assert_eq!(sum("errors"), total);
        assert_eq!(steps.last().unwrap()["at_seconds"].as_f64(), Some(last_second));
        let fills: Vec<f64> =
            steps.iter().map(|step| step["fill_ratio"].as_f64().unwrap()).collect();
        assert!(fills.iter().all(|fill| (0.0..0.8).contains(fill)), "{fills:?}");
        assert!(fills.iter().any(|fill| *fill > 0.25), "sized for the peak: {fills:?}");
        for kind in kinds {
            let key = format!("{kind}_rate");
            let [low, high] = [0, 1].map(|end| run["interval"][&key][end].as_f64().unwrap());
            let rate = errors[&key].as_f64().unwrap();
            assert!(low <= rate && rate <= high, "{key}: {rate} in {low} to {high}");
        }
    }
}

#[test]
fn an_empty_capture_is_an_empty_report() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 1k");
    let bytes = std::fs::read(&trace).unwrap();
    let empty = folder.write("empty.pcap", &bytes[..24]);
    let report = compare("--fp-rates 0.1", &[&empty]);
    assert_eq!(count(&report, "/load/flows_total"), 0);
    assert_eq!(count(&report, "/runs/0/errors/lookups_absent"), 0);
    let facts = json("inspect --json --quiet", &[&empty]);
    assert_eq!(report["trace"]["packets"], facts["packets"]);
}

const CENSUS: [&str; 14] = [
    "held",
    "held_right",
    "held_wrong",
    "held_undecided",
    "held_absent",
    "gone",
    "gone_found",
    "unseen",
    "unseen_found",
    "never_inserted",
    "fin",
    "fin_right",
    "rst",
    "rst_right",
];

/// Every flow has one vote: without aging those that the exact table holds are all flows of the trace.
#[test]
fn the_census_asks_every_flow_once() {
    let folder = Folder::new();
    let (trace, truth) = folder.generate("x.pcap", "--packets 20k");
    let options = "--preset paper --fp-rates 0.1,0.001 --repeat 2 --backends kbf,sbf,fcf,exact";
    let untimed = compare(&format!("{options} --expire none"), &[&trace]);
    let timed = compare(&format!("{options} --idle-timeout 5s"), &[&trace]);
    let at_end = replay("--preset paper --idle-timeout 5s --backend exact", &[&trace]);
    for (report, held) in
        [(&untimed, truth["flows"].as_u64().unwrap()), (&timed, count(&at_end, "/flows/live"))]
    {
        for run in report["runs"].as_array().unwrap() {
            let of = |key: &str| count(run, &format!("/census/{key}"));
            assert_eq!(run["census"].as_object().unwrap().keys().collect::<Vec<_>>(), CENSUS);
            assert_eq!(of("held"), held);
            let answers = ["held_right", "held_wrong", "held_undecided", "held_absent"];
            assert_eq!(answers.map(of).iter().sum::<u64>(), held);
            assert_eq!(of("unseen"), held);
            assert!(of("fin_right") <= of("fin") && of("rst_right") <= of("rst"));
            assert!(of("never_inserted") < held / 10);
            if run["backend"] == "exact" {
                assert_eq!(of("unseen_found") + of("gone_found") + of("held_wrong"), 0);
            }
        }
    }
    let first = |report: &Value, key: &str| count(&report["runs"][0]["census"], &format!("/{key}"));
    assert_eq!(first(&untimed, "gone"), 0, "nothing ages");
    assert_eq!(first(&untimed, "fin"), truth["flows_fin"].as_u64().unwrap());
    assert_eq!(first(&untimed, "rst"), truth["flows_rst"].as_u64().unwrap());
    assert!(first(&timed, "gone") > 0 && first(&timed, "gone") <= first(&timed, "held"));
    // kbf at p = 0.1: no other store of the list has flows that it never took in more often than that.
    let found = first(&untimed, "unseen_found") as f64 / first(&untimed, "unseen") as f64;
    let capacity = untimed["runs"][0]["capacity"]["false_positive_rate"].as_f64().unwrap();
    assert!(
        (found - capacity).abs() < 0.05 && (0.05..0.2).contains(&capacity),
        "{found} {capacity}"
    );
    assert!(first(&untimed, "never_inserted") > 0);
}

/// Rates over a trace that begins with empty stores are averages over the filling: without the first
/// two phases there are fewer lookups, and the stores are full.
#[test]
fn the_warm_up_is_left_out_of_all_counts() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 20k --duration 60s");
    let options = "--preset paper --idle-timeout 10s --fp-rates 0.1 --repeat 1 --backends kbf";
    let (all, warm) =
        (compare(options, &[&trace]), compare(&format!("{options} --warm-up"), &[&trace]));
    let lookups = |report: &Value| {
        let errors = &report["runs"][0]["errors"];
        count(errors, "/lookups_extant") + count(errors, "/lookups_absent")
    };
    assert_eq!(lookups(&all), 20_000);
    let part = lookups(&warm) as f64 / 20_000.0;
    assert!((0.55..0.8).contains(&part), "two of six phases, more or less: {part}");
    assert!(count(&warm, "/load/flows_total") < count(&all, "/load/flows_total"));
    assert!(
        count(&warm, "/runs/0/errors/flows_wrong") <= count(&all, "/runs/0/errors/flows_wrong")
    );
    assert_eq!(warm["runs"][0]["census"], all["runs"][0]["census"], "the end is the same");
    assert_eq!(warm["parameters"]["warm_up"], true);
}

/// The same lookups, seed by seed; all pairs of stores; and one size too small and one too large.
#[test]
fn stores_are_paired_by_seed_and_shown_at_other_sizes() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 20k");
    let options = "--preset paper --expire none --fp-rates 0.1,0.01,0.001 --repeat 3 --backends kbf,sbf,dbf,fcf,exact";
    let report = compare(options, &[&trace]);
    let pairs = report["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 3 * 3, "fcf and exact have no cells");
    let run = |store: &str, seed: usize| {
        let runs = report["runs"].as_array().unwrap();
        let at = runs.iter().filter(|run| run["backend"] == store && run["fp_rate"] == 0.1);
        count(at.clone().nth(seed).unwrap(), "/errors/flows_wrong")
    };
    let better = (0..3).filter(|&seed| run("kbf", seed) < run("sbf", seed)).count();
    assert_eq!(pairs[0]["store"], "kbf");
    assert_eq!(pairs[0]["against"], "sbf");
    assert_eq!(pairs[0]["flows_wrong"]["better"].as_u64(), Some(better as u64));
    assert_eq!(pairs[0]["flows_wrong"]["seeds"], 3);

    let sizes = report["other_sizes"].as_array().unwrap();
    assert_eq!(sizes.len(), 2 * 5 * 3, "two sizes, five stores, three seeds");
    let flows = count(&report, "/parameters/flows");
    let of_kbf = |flows: u64| -> u64 {
        let all = sizes.iter().chain(report["runs"].as_array().unwrap());
        let same = all.filter(|run| {
            run["backend"] == "kbf" && run["fp_rate"] == 0.01 && run["flows"] == flows
        });
        same.map(|run| count(run, "/errors/flows_wrong")).sum()
    };
    assert!(of_kbf(flows.div_ceil(2)) > 2 * of_kbf(flows), "too small");
    assert!(of_kbf(2 * flows) < of_kbf(flows), "too large");
}

#[test]
fn small_captures_get_twenty_seeds_and_large_ones_five() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 2k");
    let seeds = |options: &str| {
        let report = compare(&format!("--backends kbf --fp-rates 0.1 {options}"), &[&trace]);
        report["parameters"]["seeds"].as_array().unwrap().len()
    };
    assert_eq!(seeds(""), 20);
    assert_eq!(seeds("--flows 500"), 5, "packets were not counted");
    assert_eq!(seeds("--repeat 2"), 2);
}

/// An LRU table of the working set errs as often as that says, and a smaller one more often.
#[test]
fn a_table_of_the_working_set_is_right_as_often_as_that_says() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 60k --flows 6k --duration 3s");
    let common = "--preset paper --expire none";
    let report = compare(&format!("{common} --backends kbf --fp-rates 0.1 --repeat 1"), &[&trace]);
    let set = &report["load"]["working_set"][0];
    assert_eq!((set["of"].as_str(), set["error"].as_f64()), (Some("lookups"), Some(0.01)));
    let bytes = count(set, "/bits") / 8;
    let rate = |bytes: u64| {
        let options = format!("{common} --verify --backend exact --memory {bytes}B --seed 1");
        let errors = &replay(&options, &[&trace])["errors"];
        count(errors, "/false_negative") as f64 / count(errors, "/lookups_extant") as f64
    };
    // A capped table is split into 16 shards, which do not all have the same number of flows; and a flow
    // that was given up is a new one afterwards.
    assert!(rate(2 * bytes) < 0.01, "{}", rate(2 * bytes));
    assert!(rate(bytes / 2) > 0.01, "{}", rate(bytes / 2));
}
