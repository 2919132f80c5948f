//! `acsm plan` as people and programs use it.

use std::process::Output;

use serde_json::Value;

use crate::runner::{self, stderr, stdout};

fn acsm(line: &str) -> Output {
    runner::acsm(line, &[])
}

fn json(options: &str) -> Value {
    runner::json(&format!("plan --json {options}"), &[])
}

#[test]
fn the_document_has_the_names_of_the_contract() {
    let plan = json("--flows 100k --expire all");
    let options = plan["options"].as_array().unwrap();
    // exact and fcf × none, timer; four filters × four layouts × five ways to expire.
    assert_eq!(options.len(), 2 * 2 + 4 * 4 * 5);
    for option in options {
        for name in ["store", "layout", "expire"] {
            assert!(option[name].is_string(), "{name}");
        }
        for name in ["cells", "hashes", "bits", "bits_per_flow", "memory_accesses", "hash_bits"] {
            assert!(option[name].as_f64().unwrap() >= 0.0, "{name}");
        }
        for name in ["false_positive_rate", "total_rate"] {
            assert!((0.0..=1.0).contains(&option["errors"][name].as_f64().unwrap()), "{name}");
        }
    }
    let best = &options[plan["recommended"].as_u64().unwrap() as usize];
    assert!(best["meets"].as_bool().unwrap() && best["buildable"].as_bool().unwrap());
    assert_eq!(plan["wish"]["fp_rate"], 0.01);
}

#[test]
fn the_table_fits_a_terminal_and_has_no_colours_in_a_pipe() {
    for arguments in ["plan --flows 10G --fp-rate 1e-8", "plan --memory 1TiB --error 1e-7"] {
        let output = acsm(arguments);
        assert!(output.status.success());
        let table = stdout(&output);
        assert!(!table.contains('\u{1b}'));
        let rows: Vec<&str> = table.lines().take_while(|line| !line.starts_with("Rec")).collect();
        assert!(rows.len() > 18);
        for row in rows.iter().skip(2) {
            assert!(row.chars().count() <= 100, "{} columns: {row}", row.chars().count());
        }
        assert_eq!(rows.iter().filter(|row| row.starts_with('▶')).count(), 1);
    }
}

#[test]
fn wrong_requirements_exit_with_2_and_say_why() {
    for (arguments, message) in [
        ("--error 0", "--error 0"),
        ("--fp-rate 1", "above 0 and below 1"),
        ("--error NaN", "NaN"),
        ("--flows 0", "at least one flow"),
        ("--flows 1e18", "plans go up to"),
        ("--error 1e-3 --fp-rate 1e-3", "cannot be used with"),
        ("--packet-rate 0", "--packet-rate"),
        ("--memory lots", "64MiB"),
    ] {
        let output = acsm(&format!("plan {arguments}"));
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(stderr(&output).contains(message), "{arguments}: {}", stderr(&output));
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn an_impossible_requirement_is_answered() {
    let plan = json("--flows 2M --memory 1MiB --error 1e-9");
    assert_eq!(plan["fulfilled"], false);
    let reason = plan["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("no store reaches 1.0e-9 in 1.0 MiB for 2,000,000 flows; nearest: ")
    );
}

#[test]
fn a_trace_determines_the_requirements() {
    let plan = json("--trace traces/handshakes.pcap");
    let inspected = acsm("inspect --json traces/handshakes.pcap");
    let facts: Value = serde_json::from_slice(&inspected.stdout).unwrap();
    let wish = &plan["wish"];
    let flows = wish["flows"].as_u64().unwrap();
    assert!(0 < flows && 2 * flows <= facts["five_tuples"].as_u64().unwrap() + 1);
    let shares = wish["state_shares"].as_array().unwrap();
    assert_eq!(shares.len(), wish["states"].as_array().unwrap().len());
    let sum: f64 = shares.iter().map(|share| share.as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9);

    // Peak and rates are those of the exact store of a replay that takes every flow and forgets none.
    let plan = json("--trace traces/realistic.pcap --idle-timeout 10h");
    let replay =
        acsm("replay --json -q --pending none --backend exact --expire none traces/realistic.pcap");
    let summary: Value = serde_json::from_slice(&replay.stdout).unwrap();
    assert_eq!(plan["wish"]["flows"], summary["flows"]["live"]);
    let lookups = |kind: &str| summary["lookups"][kind].as_f64().unwrap();
    let absent = lookups("absent") / (lookups("absent") + lookups("known"));
    assert!((plan["wish"]["absent_lookup_share"].as_f64().unwrap() - absent).abs() < 1e-12);
    // The same in a plan for stores that forget no flow, whatever the idle timeout.
    let kept = json("--trace traces/realistic.pcap --expire none --idle-timeout 1s");
    let timed = json("--trace traces/realistic.pcap --expire timer --idle-timeout 1s");
    assert_eq!(kept["wish"]["flows"], summary["flows"]["live"]);
    assert!(timed["wish"]["flows"].as_u64() < kept["wish"]["flows"].as_u64());
}

#[test]
fn a_timer_of_no_time_is_refused_as_replay_does() {
    for command in ["plan", "replay traces/mixed.pcap"] {
        let refused = acsm(&format!("{command} --idle-timeout 0"));
        assert_eq!(refused.status.code(), Some(2), "{command}");
        assert!(stderr(&refused).contains("would forget every flow at once"), "{command}");
    }
}

#[test]
fn replay_builds_what_the_plan_says_and_predicts_the_same() {
    let plan = json("--flows 50k --error 1e-3 --expire timer");
    for option in plan["options"].as_array().unwrap() {
        let arguments = option["arguments"].as_str().unwrap();
        let replay = acsm(&format!("replay --json -q {arguments} traces/mixed.pcap"));
        assert!(replay.status.success(), "{arguments}: {}", stderr(&replay));
        let summary: Value = serde_json::from_slice(&replay.stdout).unwrap();
        let store = &summary["store"];
        assert_eq!(store["cells"], option["cells"], "{arguments}");
        assert_eq!(store["hashes"], option["hashes"], "{arguments}");
        assert!(store["bits"].as_u64().unwrap() <= option["bits"].as_u64().unwrap());
        let planned = store["planned_error"].as_f64().unwrap();
        // Its mix of lookups is the trace's own.
        assert!(planned <= 2e-3, "{arguments}: {planned}");
    }
}

#[test]
fn a_store_with_more_flows_than_it_was_made_for_is_warned_of() {
    let replay = |options: &str| {
        acsm(&format!("replay --pending none {options} --min-severity 1 traces/attacks.pcap.gz"))
    };
    let crowded = replay("--backend kbf --flows 100");
    let messages = stderr(&crowded);
    assert!(messages.contains("the store was made for 100 (--flows): by theory"), "{messages}");
    let full = replay("--flows 100");
    assert!(stderr(&full).contains(" times no room for a new flow, "), "{full:?}");
    let roomy = replay("--flows 10k");
    assert_eq!(stderr(&roomy), "");
    // With many flows in the sample, what was measured stands in place of theory.
    assert!(!stdout(&roomy).contains("error by theory"));
    let unsampled = replay("--flows 10k --sample none");
    assert!(stdout(&unsampled).contains("error by theory"));
}

#[test]
fn the_frontier_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("frontier.svg");
    let drawn = acsm(&format!("plan --flows 1M --plot {}", path.display()));
    assert!(drawn.status.success(), "{}", stderr(&drawn));
    let svg = std::fs::read_to_string(&path).unwrap();
    assert!(svg.starts_with("<svg xmlns=") && svg.trim_end().ends_with("</svg>"));
    for series in ["bound", "kbf blocked:2", "bhbf", "fcf"] {
        assert!(svg.contains(&format!(">{series}<")), "{series}");
    }
    let nowhere = acsm("plan --plot no-such-folder/frontier.svg");
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(stderr(&nowhere).contains("--plot no-such-folder/frontier.svg"));
}

#[test]
fn decodings_of_kbf_have_predictions_of_their_own() {
    let kbf = |options: &str| {
        let plan = json(&format!("--preset paper --flows 100k --memory 1MB {options}"));
        let options = plan["options"].as_array().unwrap().iter();
        let mut of_kbf = options.filter(|option| option["store"] == "kbf");
        let option = of_kbf.find(|option| option["layout"] == "spread").unwrap();
        let arguments = option["arguments"].as_str().unwrap().to_owned();
        (option["errors"]["total_rate"].as_f64().unwrap(), arguments)
    };
    let (papers, plain) = kbf("");
    assert!(!plain.contains("--decode"), "{plain}");
    assert_eq!(kbf("--decode all-pairs").0, papers);
    let [(joint, _), (salt, arguments)] = ["--decode joint", "--decode salt"].map(kbf);
    assert!(joint < papers && salt < 0.1 * joint, "{papers:e} {joint:e} {salt:e}");
    assert!(arguments.contains("--decode salt"), "{arguments}");
}
