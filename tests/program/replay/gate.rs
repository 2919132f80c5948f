//! A gate before the store: floods of single packets stay out of it, everything else is unchanged.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use super::attacks::all_found_and_none_on_clean_flows;
use super::wire::{ACK, FIN, SYN, Wire};
use crate::runner::{Folder, acsm, count, replay, replay_with_alerts, stderr, without_speed};

const VICTIM: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 10);
const SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 20);

fn spoofed_source(n: u32) -> Ipv4Addr {
    Ipv4Addr::from(0xc612_0000 + n)
}

/// A connection from `port` of one client, answered after 5 ms, closed after 40.
fn connection(wire: Wire, millis: u64, port: u16) -> Wire {
    let (up, down) = ((Ipv4Addr::new(192, 0, 2, 1), SERVER), (SERVER, Ipv4Addr::new(192, 0, 2, 1)));
    wire.between(millis, up, (port, 443), SYN)
        .between(millis + 5, down, (443, port), SYN | ACK)
        .between(millis + 10, up, (port, 443), ACK)
        .between(millis + 40, up, (port, 443), FIN | ACK)
        .between(millis + 45, down, (443, port), FIN | ACK)
        .between(millis + 50, up, (port, 443), ACK)
}

const CONNECTIONS: u64 = 200;
const FLOOD: u64 = 12_000;

/// 12,000 sources with one SYN each in 12 seconds, and a connection every 60 ms.
fn flood(folder: &Folder) -> PathBuf {
    let mut wire = Wire::new();
    for millis in 0..FLOOD {
        if millis % 60 == 0 {
            wire = connection(wire, millis, 1024 + (millis / 60) as u16);
        }
        wire = wire.between(millis, (spoofed_source(millis as u32), VICTIM), (4000, 80), SYN);
    }
    // Time until the flood counts as unanswered.
    wire = connection(wire, FLOOD + 20_000, 60_000);
    folder.write("flood.pcap", wire.bytes())
}

#[test]
fn a_flood_of_single_syns_stays_out_of_the_store() {
    let folder = Folder::new();
    let trace = flood(&folder);
    for store in ["fcf", "kbf", "exact", "exact --memory 60KiB"] {
        for gate in ["none", "bloom", "bloom-1", "bloom-2,recycle"] {
            let options =
                format!("--preset operator --verify --flows 600 --backend {store} --gate {gate}");
            let run = replay_with_alerts(&options, &[&trace]);
            let summary = &run.summary;
            assert_eq!(count(summary, "/alerts/by_rule/syn_flood"), 1, "{options}");

            let inserted = count(summary, "/flows/inserted");
            let [full, wrong] = ["/store/full", "/errors/flows_wrong"].map(|at| count(summary, at));
            println!(
                "{store}, {gate}: {inserted} inserted, {full} times full, {wrong} flows wrong"
            );
            if gate == "none" {
                assert!(inserted > FLOOD / 20, "{options}: {inserted}");
                assert!(summary["store"]["gate"].is_null());
                continue;
            }
            // At most one in a hundred absent flows is a false positive of the gate.
            let most = CONNECTIONS + 1 + FLOOD / 100;
            assert!((CONNECTIONS - 10..most).contains(&inserted), "{options}: {inserted}");
            let gate_count = |key: &str| count(summary, &format!("/store/gate/{key}"));
            assert!(
                gate_count("held") > FLOOD * 98 / 100 && gate_count("recycles") > 16,
                "{options}"
            );
            assert!(gate_count("passed") <= inserted && gate_count("passed") >= CONNECTIONS - 10);
            // No connection raises an alert.
            for alert in run.alerts {
                let ends = [&alert["src_ip"], &alert["dest_ip"]];
                assert!(ends.iter().all(|end| **end != SERVER.to_string()), "{options}: {alert}");
            }
        }
    }
}

/// The same, in a generated trace.
#[test]
fn a_generated_flood_stays_out_of_the_store() {
    let folder = Folder::new();
    let (trace, truth) = folder.generate("x.pcap", "--packets 20k --flows 2k --attacks syn_flood");
    let (all, flooding) = (count(&truth, "/flows"), count(&truth, "/attacks/0/flows"));
    let inserted = |gate: &str| {
        let run = replay_with_alerts(&format!("--flows 3k --gate {gate}"), &[&trace]);
        assert_eq!(count(&run.summary, "/alerts/by_rule/syn_flood"), 1);
        count(&run.summary, "/flows/inserted")
    };
    assert!(inserted("none") > all - 20);
    let behind = inserted("bloom-1");
    // Ordinary flows of a single packet do not enter either.
    let rest = all - flooding;
    assert!((rest * 95 / 100..=rest + flooding / 50).contains(&behind), "{behind} of {rest}");
}

#[test]
fn attacks_are_found_and_clean_flows_left_alone_behind_a_gate() {
    let folder = Folder::new();
    for seed in [1, 2] {
        let options = format!("--attacks all --packets 20k --seed {seed}");
        let (trace, truth) = folder.generate("x.pcap", &options);
        for gate in ["bloom", "bloom-1", "bloom-3,recycle"] {
            let options = format!("--preset operator --flows 5k --gate {gate}");
            let run = replay_with_alerts(&options, &[&trace]);
            all_found_and_none_on_clean_flows(&run, &truth, &options);
        }
    }
}

/// A SYN, as many others as asked for, and the answer to the first.
fn answer_after(folder: &Folder, others: u32, millis: u64) -> PathBuf {
    let mut wire = Wire::new().packet(0, (1, 20), (5000, 443), SYN);
    for n in 0..others {
        wire = wire.between(1 + u64::from(n / 1000), (spoofed_source(n), VICTIM), (4000, 80), SYN);
    }
    let wire = wire.packet(millis, (20, 1), (443, 5000), SYN | ACK);
    folder.write("answer.pcap", wire.bytes())
}

/// A flow that a gate forgets because it is full is an error for the user, so it is counted.
#[test]
fn what_a_gate_forgets_is_counted() {
    let folder = Folder::new();
    let trace = answer_after(&folder, 3000, 100);
    for (gate_flows, forgotten) in [(800, 1), (20_000, 0)] {
        for gate in ["bloom", "bloom-2", "bloom-1,recycle"] {
            let options = format!(
                "--preset operator --verify --backend exact --gate {gate} --gate-flows {gate_flows}"
            );
            let errors = &replay(&options, &[&trace])["errors"];
            assert_eq!(count(errors, "/false_negative"), forgotten, "{options}");
            assert_eq!(count(errors, "/alerts_spurious"), 0, "muted while starting up");
        }
    }
}

/// The gate changes phase with the epoch: pending flows live as long as they would in a store.
#[test]
fn pending_flows_age() {
    let folder = Folder::new();
    for (millis, absent) in [(50_000, 1), (130_000, 2), (1_000_000, 2)] {
        let trace = answer_after(&folder, 0, millis);
        let options = "--preset operator --verify --gate bloom";
        let summary = replay(options, &[&trace]);
        assert_eq!(count(&summary, "/lookups/absent"), absent, "{millis} ms");
        assert_eq!(count(&summary, "/errors/false_positive"), 0, "{millis} ms");
        assert_eq!(count(&summary, "/errors/false_negative"), 0, "{millis} ms");
    }
}

/// Stores and gates so small that they err, and an idle timeout so short that flows age.
#[test]
fn the_number_of_workers_changes_nothing_behind_a_gate() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 9k --attacks all --duration 3m");
    for options in [
        "--backend kbf --gate bloom --gate-flows 100 --idle-timeout 10s",
        "--preset operator --gate bloom-1 --idle-timeout 10s",
        "--backend exact --gate bloom-2,recycle --gate-flows 100",
    ] {
        let [alone, divided] = [1, 5].map(|workers| {
            let options = format!("--verify --flows 300 {options} --workers {workers}");
            let run = replay_with_alerts(&options, &[&trace]);
            assert!(count(&run.summary, "/store/gate/recycles") > 0, "{options}");
            assert!(run.alerts.len() > 10, "{options}: there is something to compare");
            (without_speed(run.summary), run.eve)
        });
        assert!(alone == divided, "{options}");
    }
}

#[test]
fn gates_that_cannot_be_are_refused() {
    let folder = Folder::new();
    let trace = answer_after(&folder, 0, 1);
    for (options, reason) in [
        ("--gate blom", "no such gate; write none, bloom, bloom-1"),
        ("--gate bloom,timer", "no such gate"),
        ("--gate bloom --gate-flows 0", "--gate-flows takes 1 to"),
        ("--gate-flows 5k", "--gate <"),
        ("--gate bloom --memory 1MiB", "the least that works here is"),
    ] {
        let output = acsm(&format!("replay {options}"), &[&trace]);
        assert_eq!(output.status.code(), Some(2), "{options}");
        assert!(stderr(&output).contains(reason), "{options}: {}", stderr(&output));
    }
}
