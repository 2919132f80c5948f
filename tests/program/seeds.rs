//! The seed of `replay` and `compare`: derived from the input, shown, and taken back by `--seed`.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use acsm::seed::Seed;
use serde_json::Value;

use crate::runner::{
    Folder, acsm, command, json, replay, replay_with_alerts, stderr, stdout, without_speed,
};

/// A file header of pcap without packets.
const FILE_HEADER_BYTES: usize = 24;

/// The seed that a replay or a comparison of these files shows without `--seed`.
fn seed_of(files: &[&Path]) -> String {
    text_of(&replay("--flows 100", files)["seed"])
}

/// A derived seed, which is text.
fn text_of(seed: &Value) -> String {
    let text = seed.as_str().unwrap_or_else(|| panic!("{seed} is not text"));
    assert_eq!(text.len(), 32, "{text}");
    assert!(text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')), "{text}");
    text.to_owned()
}

fn gzip(folder: &Folder, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.path(name);
    let file = File::create(&path).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap();
    path
}

/// A comparison without what depends on the machine's speed and on how it was asked for.
fn compare(options: &str, files: &[&Path]) -> Value {
    let options = format!("--fp-rates 0.1 --backends kbf,fcf {options}");
    let mut report = json(&format!("compare --json --quiet {options}"), files);
    for list in ["runs", "other_sizes"] {
        for run in report[list].as_array_mut().unwrap() {
            let run = run.as_object_mut().unwrap();
            run.remove("seconds").unwrap();
            run.remove("interval").unwrap(); // over all seeds
        }
    }
    report["parameters"].as_object_mut().unwrap().remove("command").unwrap();
    report
}

#[test]
fn a_seed_that_was_shown_repeats_the_replay() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 20k --attacks all --duration 3m");
    for preset in ["paper", "operator"] {
        let run = |more: &str| {
            let options = format!("--verify --preset {preset} --pending none --flows 300 {more}");
            let run = replay_with_alerts(&options, &[&trace]);
            (without_speed(run.summary), run.eve)
        };
        let derived = run("--workers 1");
        let seed = text_of(&derived.0["seed"]);
        assert!(derived == run("--workers 3"), "the number of workers changes nothing");
        for seed in [seed.clone(), seed.to_uppercase()] {
            assert!(derived == run(&format!("--seed {seed}")), "{preset}");
        }
        let other = run("--seed 00000000000000000000000000000001");
        assert_ne!(derived.0["errors"], other.0["errors"], "{preset}: another seed errs elsewhere");
    }
    let seed = seed_of(&[&trace]);
    let line = format!("\n  seed         {seed}\n");
    let page = stdout(&acsm("replay -v --flows 300", &[&trace]));
    assert!(page.contains(&line), "{page}");
    let page = stdout(&acsm("replay -q --flows 300", &[&trace]));
    assert!(!page.contains(&line), "what concerns the inside needs -v: {page}");
    assert_eq!(replay("--seed 7", &[&trace])["seed"], 7, "a number stays one");
}

#[test]
fn a_seed_that_was_shown_repeats_the_comparison() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 12k --attacks all");
    let derived = compare("--repeat 3", &[&trace]);
    let seeds: Vec<String> =
        derived["parameters"]["seeds"].as_array().unwrap().iter().map(text_of).collect();
    assert_eq!(seeds[0], seed_of(&[&trace]), "a replay has the same");
    assert_eq!(derived, compare(&format!("--repeat 3 --seed {}", seeds[0]), &[&trace]));
    // The runs of each repetition, alone.
    let runs = |report: &Value, seed: &str| -> Vec<Value> {
        let runs = report["runs"].as_array().unwrap().iter();
        runs.filter(|run| run["seed"] == seed).cloned().collect()
    };
    for seed in &seeds {
        let alone = compare(&format!("--repeat 1 --seed {seed}"), &[&trace]);
        assert_eq!(runs(&derived, seed), runs(&alone, seed));
        assert_eq!(runs(&alone, seed).len(), 2);
    }
    assert_ne!(runs(&derived, &seeds[0])[0]["errors"], runs(&derived, &seeds[1])[0]["errors"]);

    let page = stdout(&acsm("compare -q --fp-rates 0.1 --repeat 3", &[&trace]));
    assert!(page.contains(&format!("\n  seed {} and the 2 after it\n", seeds[0])), "{page}");
    let numbers = compare("--repeat 2 --seed 7", &[&trace]);
    assert_eq!(numbers["parameters"]["seeds"], serde_json::json!([7, 8]));
    assert_eq!(numbers["runs"][1]["seed"], 8);
}

#[test]
fn the_seed_is_that_of_the_first_decoded_bytes() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 5k");
    let (other, _) = folder.generate("y.pcap", "--packets 5k --seed 2");
    let bytes = std::fs::read(&trace).unwrap();
    assert!(bytes.len() > 2 * Seed::INPUT_BYTES);
    let seed = seed_of(&[&trace]);
    assert_eq!(seed, Seed::of_input(&bytes).to_string());
    assert_ne!(seed, seed_of(&[&other]), "other captures, other seeds");
    assert_eq!(seed, seed_of(&[&gzip(&folder, "x.pcap.gz", &bytes)]), "compression");
    let short = folder.write("short.pcap", &bytes[..Seed::INPUT_BYTES]);
    assert_eq!(seed, seed_of(&[&short]), "what follows does not matter");
    let shorter = folder.write("shorter.pcap", &bytes[..Seed::INPUT_BYTES - 1]);
    assert_ne!(seed, seed_of(&[&shorter]));
    // Whatever is left out of the run.
    let later = replay("--from 2024-01-01T00:00:30Z", &[&trace]);
    assert_eq!(later["seed"], seed.as_str());
}

/// Captures without packets come first in a directory: their headers alone would be a seed that
/// everybody can compute.
#[test]
fn a_short_first_file_is_continued_by_the_next() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 5k");
    let bytes = std::fs::read(&trace).unwrap();
    let header = &bytes[..FILE_HEADER_BYTES];
    let empty = folder.write("empty.pcap", header);
    assert_eq!(seed_of(&[&empty]), Seed::of_input(header).to_string());
    let both = [header, &bytes].concat();
    assert_eq!(seed_of(&[&empty, &trace]), Seed::of_input(&both).to_string());

    let day = folder.path("day");
    std::fs::create_dir(&day).unwrap();
    std::fs::copy(&empty, day.join("z.pcap")).unwrap();
    std::fs::write(day.join("notes.txt"), "not a capture").unwrap();
    gzip(&folder, "day/a.pcap.gz", &bytes);
    assert_eq!(seed_of(&[&day]), Seed::of_input(&both).to_string(), "in the order of reading");
    assert_eq!(seed_of(&[&trace, &empty]), seed_of(&[&trace]));
}

#[test]
fn a_pipe_has_the_seed_of_the_file() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 5k");
    let bytes = std::fs::read(&trace).unwrap();
    let seed = seed_of(&[&trace]);
    let zipped = std::fs::read(gzip(&folder, "x.pcap.gz", &bytes)).unwrap();
    for line in ["replay --json", "compare --json --fp-rates 0.1 --flows 500"] {
        for stored in [&bytes, &zipped] {
            let mut child = command(&format!("{line} -q -"), &[])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut input = child.stdin.take().unwrap();
            // In pieces, the first of which is not even a whole file header.
            for piece in [&stored[..13], &stored[13..5000], &stored[5000..]] {
                input.write_all(piece).unwrap();
                std::thread::sleep(Duration::from_millis(200));
            }
            drop(input);
            let output = child.wait_with_output().unwrap();
            let document: Value = serde_json::from_slice(&output.stdout).unwrap();
            let shown = document.get("seed").unwrap_or(&document["runs"][0]["seed"]);
            assert_eq!(shown, seed.as_str(), "{line}");
            assert_eq!(document["trace"]["packets"], 5000, "no packet is lost");
        }
    }
}

/// Alerts of packets that have arrived do not wait for the 64 KiB to be complete.
#[test]
fn a_pipe_that_pauses_has_the_seed_of_what_has_come() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 5k");
    let bytes = std::fs::read(&trace).unwrap();
    let (first, rest) = bytes.split_at(Seed::INPUT_BYTES / 2);
    let alerts = folder.path("alerts.json");
    let line = format!("replay --json -q --preset paper --alerts {} -", alerts.display());
    let mut child =
        command(&line, &[]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(first).unwrap();
    let begin = Instant::now();
    while !std::fs::metadata(&alerts).is_ok_and(|file| file.len() > 0) {
        assert!(begin.elapsed() < Duration::from_secs(60), "timed out");
        std::thread::sleep(Duration::from_millis(50));
    }
    input.write_all(rest).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary["seed"], Seed::of_input(first).to_string());
    let eve = std::fs::read_to_string(&alerts).unwrap();
    let options = format!("--preset paper --seed {}", Seed::of_input(first));
    let again = replay_with_alerts(&options, &[&trace]);
    assert!(without_speed(summary) == without_speed(again.summary) && eve == again.eve);
}

#[test]
fn what_is_not_a_seed_is_wrong_usage() {
    let trace = acsm_test_support::repository::trace("mixed.pcap");
    let short = "0123456789abcdef0123456789abcde";
    let (long, wrong_digit) = (format!("{short}f0"), format!("{short}g"));
    for command in ["replay", "compare"] {
        for wrong in [short, &long, &wrong_digit, "0x1", "-1", "18446744073709551616"] {
            let output = acsm(&format!("{command} --seed={wrong}"), &[&trace]);
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{command} {wrong}: {said}");
            assert!(said.contains("--seed") && said.contains("32 hexadecimal digits"), "{said}");
            assert!(said.contains(wrong) && output.stdout.is_empty(), "{said}");
        }
    }
}
