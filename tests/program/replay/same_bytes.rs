//! Same input, options and seed: same bytes, however the work is divided or the input is stored.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use super::wire::split;
use crate::runner::{Folder, command, count, replay, replay_with_alerts, without_speed};

/// What must be equal: the summary without speed, and every byte of the alerts.
fn outcome(options: &str, files: &[&Path]) -> (String, String) {
    let run = replay_with_alerts(options, files);
    (without_speed(run.summary).to_string(), run.eve)
}

/// Stores so small that they err, and an idle timeout so short that flows age.
fn workers_change_nothing(preset: &str, backends: &[&str]) {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 9k --attacks all --duration 3m");
    for backend in backends {
        let ways: &[&str] = match *backend {
            "exact" | "fcf" => &["timer --idle-timeout 10s", "none"],
            "kbf" => &["timer --idle-timeout 10s", "none", "recycle", "two-phase"],
            _ => &["timer --idle-timeout 10s", "two-phase --layout blocked:2"],
        };
        for expire in ways {
            let options = format!(
                "--verify --flows 300 --backend {backend} --preset {preset} --expire {expire}"
            );
            let alone = outcome(&format!("{options} --workers 1"), &[&trace]);
            assert!(alone.1.lines().count() > 10, "{options}: there is something to compare");
            // The default store also twice in the same way, and by all the other numbers.
            let numbers: &[u8] = if *backend == "kbf" { &[1, 2, 3, 16] } else { &[16] };
            for workers in numbers {
                let divided = outcome(&format!("{options} --workers {workers}"), &[&trace]);
                assert!(alone == divided, "{options}: {workers} workers differ from one");
            }
        }
    }
}

#[test]
fn the_number_of_workers_changes_nothing_in_preset_paper() {
    workers_change_nothing("paper", &["exact", "dbf", "sbf", "kbf", "bhbf", "fcf"]);
}

#[test]
fn the_number_of_workers_changes_nothing_in_preset_operator() {
    workers_change_nothing("operator", &["exact", "dbf", "sbf", "kbf", "bhbf", "fcf"]);
}

#[test]
fn an_exact_store_does_not_depend_on_the_seed_and_a_filter_errs_elsewhere() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 20k --well-behaved");
    for preset in ["paper", "operator"] {
        let exact = |seed: u64| {
            let options = format!("--backend exact --preset {preset} --seed {seed}");
            let mut summary = without_speed(replay(&options, &[&trace]));
            assert_eq!(summary.as_object_mut().unwrap().remove("seed"), Some(seed.into()));
            summary
        };
        assert_eq!(exact(1), exact(2));
        let errors = |seed| {
            let options = format!(
                "--verify --backend kbf --preset {preset} --pending none --flows 200 --seed {seed}"
            );
            replay(&options, &[&trace])["errors"].clone()
        };
        let (one, two) = (errors(1), errors(2));
        for unchanged in ["/lookups_extant", "/lookups_absent", "/flows_total"] {
            assert_eq!(count(&one, unchanged), count(&two, unchanged));
        }
        assert!(count(&one, "/flows_wrong") > 0);
        assert_ne!(one, two, "another seed errs on other flows");
    }
}

#[test]
fn state_carries_over_from_file_to_file() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 12k --attacks all");
    let parts = split(&std::fs::read(&trace).unwrap(), 5000);
    assert_eq!(parts.len(), 3);
    let names = ["a.pcap", "b.pcap", "c.pcap"];
    let parts: Vec<_> =
        names.iter().zip(parts).map(|(name, part)| folder.write(name, part)).collect();
    let parts: Vec<&Path> = parts.iter().map(|part| part.as_path()).collect();
    for preset in ["paper", "operator"] {
        let options = format!("--verify --preset {preset} --flows 300");
        assert!(outcome(&options, &[&trace]) == outcome(&options, &parts), "{preset}");
    }
    let directory = outcome(
        "",
        &[&folder.path("day")].map(|day| {
            std::fs::create_dir(day).unwrap();
            for part in &parts {
                std::fs::copy(part, day.join(part.file_name().unwrap())).unwrap();
            }
            day.as_path()
        }),
    );
    assert!(directory == outcome("", &[&trace]), "a directory is its captures in order");
}

#[test]
fn compression_and_pipes_change_nothing() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 12k --attacks all");
    let plain = outcome("", &[&trace]);
    let zipped = folder.path("x.pcap.gz");
    let mut encoder =
        flate2::write::GzEncoder::new(File::create(&zipped).unwrap(), flate2::Compression::fast());
    encoder.write_all(&std::fs::read(&trace).unwrap()).unwrap();
    encoder.finish().unwrap();
    assert!(plain == outcome("", &[&zipped]), "gzip");

    for stored in [&trace, &zipped] {
        let alerts = folder.path("piped.json");
        let line = format!("replay --json --quiet --alerts {} -", alerts.display());
        let input = File::open(stored).unwrap();
        let output = command(&line, &[]).stdin(input).output().unwrap();
        let summary = without_speed(serde_json::from_slice(&output.stdout).unwrap()).to_string();
        assert!(plain == (summary, std::fs::read_to_string(&alerts).unwrap()), "standard input");
    }
}
