//! The JSON document that programs rely on, and its figures for a trace.

use serde_json::Value;

use super::{compare, without_seconds};
use crate::runner::{Folder, count, json, replay};

const RUN: [&str; 13] = [
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
];

#[test]
fn the_report_has_the_names_of_the_contract() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 5k");
    let report = compare("--loop closed,open --fp-rates 0.1,0.01", &[&trace]);
    let runs = report["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 8);
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
    let report = compare("--fp-rates 0.1,0.001 --loop closed,open", &[&trace]);
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
            assert_eq!(errors[kind] == 0, low == 0.0, "{key}");
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
