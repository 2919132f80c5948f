//! The files of a report: the same numbers in all, and each complete or absent.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

use super::{compare, without_seconds};
use crate::runner::{Folder, acsm, stderr, stdout};

/// The rows of a table without quotes, each by its columns' names.
fn rows(csv: &str) -> Vec<HashMap<&str, &str>> {
    assert!(csv.ends_with("\r\n"), "RFC 4180 ends lines so");
    let mut lines = csv.split_terminator("\r\n");
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            assert_eq!(fields.len(), names.len(), "{line}");
            names.iter().copied().zip(fields).collect()
        })
        .collect()
}

/// The value of a field, as the JSON document has it.
fn value(field: &str, like: &Value) -> Value {
    match like {
        Value::Null => Value::from((!field.is_empty()).then_some(field)),
        Value::String(_) => field.into(),
        _ => serde_json::from_str(field).expect(field),
    }
}

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn files_hold_the_same_numbers() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 12k --attacks all");
    let out = folder.path("deep/report");
    let options =
        "--backends kbf:literal,sbf --equal cells,memory --fp-rates 0.1,0.0001 --repeat 2";
    let output = acsm(&format!("compare {options} --out {}", out.display()), &[&trace]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output), "", "data is in the files");
    assert!(stderr(&output).contains("report.csv"), "{}", stderr(&output));
    let report = read_json(&out.join("report.json"));
    let printed = compare(options, &[&trace]);
    assert!(without_seconds(report.clone()) == without_seconds(printed), "as on standard output");

    let csv = std::fs::read_to_string(out.join("report.csv")).unwrap();
    let (rows, runs) = (rows(&csv), report["runs"].as_array().unwrap());
    assert_eq!(rows.len(), runs.len());
    for (row, run) in rows.iter().zip(runs) {
        let mut compared = 0;
        for (key, part) in run.as_object().unwrap() {
            match (key.as_str(), part) {
                ("timeline", _) => {}
                ("interval", Value::Object(rates)) => {
                    for (rate, ends) in rates {
                        for (end, n) in [("low", 0), ("high", 1)] {
                            let field = row[format!("interval_{rate}_{end}").as_str()];
                            assert_eq!(value(field, &ends[n]), ends[n], "{rate} {end}");
                        }
                        compared += 2;
                    }
                }
                (key, Value::Object(counts)) => {
                    for (kind, count) in counts {
                        let column =
                            if key == "errors" { kind.clone() } else { format!("{key}_{kind}") };
                        assert_eq!(value(row[column.as_str()], count), *count, "{column}");
                        compared += 1;
                    }
                }
                (key, single) => {
                    assert_eq!(value(row[key], single), *single, "{key}");
                    compared += 1;
                }
            }
        }
        assert_eq!(compared, row.len(), "no column of its own");
    }
}

#[test]
fn an_earlier_report_is_replaced_and_nothing_else_touched() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 2k");
    let out = folder.path("report");
    std::fs::create_dir(&out).unwrap();
    std::fs::write(out.join("notes.txt"), "mine").unwrap();
    std::fs::write(out.join("report.json"), "old").unwrap();
    let output =
        acsm(&format!("compare -q --fp-rates 0.1 --repeat 1 --out {}", out.display()), &[&trace]);
    assert!(output.status.success() && stderr(&output).is_empty(), "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(out.join("notes.txt")).unwrap(), "mine");
    assert_eq!(read_json(&out.join("report.json"))["runs"].as_array().unwrap().len(), 3);
    let names = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name());
    let strays: Vec<_> =
        names.filter(|name| name.to_string_lossy().contains("unfinished")).collect();
    assert!(strays.is_empty(), "{strays:?}");
}

/// A limit on the size of files acts as a full disk, without privileges.
#[test]
#[cfg(unix)]
fn a_full_disk_leaves_no_half_report() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 2k");
    let out = folder.path("report");
    let line = format!(
        "ulimit -f 4; exec {} compare -q --fp-rates 0.1 --out {} {}",
        env!("CARGO_BIN_EXE_acsm"),
        out.display(),
        trace.display()
    );
    let output = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("report.json") && said.contains("File too large"), "{said}");
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 0, "nothing half-written is left");
}
