//! A pending table before the store: floods with forged sources stay out of it, everything else is
//! unchanged.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use serde_json::json;

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
        .between(millis + 15, down, (443, port), ACK)
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
    for store in ["fcf", "kbf", "exact", "exact --memory 400KiB"] {
        for pending in ["none", "600", "64k"] {
            let options = format!("--verify --flows 600 --backend {store} --pending {pending}");
            let run = replay_with_alerts(&options, &[&trace]);
            let summary = &run.summary;
            // It rises from severity 3 to 1.
            assert!(count(summary, "/alerts/by_rule/syn_flood") >= 1, "{options}");
            let incidents = summary["incidents"].as_array().unwrap();
            let of_victim =
                incidents.iter().filter(|one| one["victims"] == json!([VICTIM.to_string()]));
            assert_eq!(of_victim.count(), 1, "{options}: {incidents:?}");
            // Twenty times too many flows make a kbf see states that are none.
            let is_overloaded = store == "kbf" && pending == "none";
            assert!(incidents.len() == 1 || is_overloaded, "{options}: {incidents:?}");
            let inserted = count(summary, "/flows/inserted");
            if pending == "none" {
                assert!(inserted > FLOOD / 20, "{options}: {inserted}");
                continue;
            }
            assert_eq!(inserted, CONNECTIONS + 1, "{options}");
            assert_eq!(count(summary, "/pending/admitted"), inserted, "{options}");
            assert_eq!(count(summary, "/store/full"), 0, "{options}");
            let lost = count(summary, "/pending/lost");
            assert_eq!(lost > FLOOD / 2, pending == "600", "{options}: {lost} lost");
            // No connection raises an alert.
            for alert in run.alerts {
                let ends = [&alert["src_ip"], &alert["dest_ip"]];
                assert!(ends.iter().all(|end| **end != SERVER.to_string()), "{options}: {alert}");
            }
        }
    }
}

#[test]
fn attacks_are_found_and_clean_flows_left_alone_behind_a_pending_table() {
    let folder = Folder::new();
    for seed in [1, 2] {
        let options = format!("--attacks all --packets 20k --seed {seed}");
        let (trace, truth) = folder.generate("x.pcap", &options);
        let options = "--flows 5k --pending 64k";
        let run = replay_with_alerts(options, &[&trace]);
        all_found_and_none_on_clean_flows(&run, &truth, options);
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

/// A flow that falls out of the table before its next packet is an error for the user.
#[test]
fn what_a_pending_table_loses_is_counted() {
    let folder = Folder::new();
    let trace = answer_after(&folder, 3000, 100);
    for (slots, lost) in [("192", 1), ("64k", 0)] {
        let options = format!("--verify --backend exact --pending {slots}");
        let errors = &replay(&options, &[&trace])["errors"];
        assert_eq!(count(errors, "/false_negative"), lost, "{options}");
        assert_eq!(count(errors, "/alerts_spurious"), 0, "muted while starting up");
    }
}

/// For 30 to 60 seconds, whatever the idle timeout.
#[test]
fn pending_flows_age() {
    let folder = Folder::new();
    for (millis, absent) in [(50_000, 1), (70_000, 2), (1_000_000, 2)] {
        let trace = answer_after(&folder, 0, millis);
        let summary = replay("--verify --pending 64k", &[&trace]);
        assert_eq!(count(&summary, "/lookups/absent"), absent, "{millis} ms");
        assert_eq!(count(&summary, "/errors/false_positive"), 0, "{millis} ms");
        assert_eq!(count(&summary, "/errors/false_negative"), 0, "{millis} ms");
    }
}

/// Stores and tables so small that they err, and an idle timeout so short that flows age.
#[test]
fn the_number_of_workers_changes_nothing_behind_a_pending_table() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 9k --attacks all --duration 3m");
    for store in ["kbf", "fcf", "exact"] {
        let [alone, divided] = [1, 5].map(|workers| {
            let options = format!(
                "--verify --flows 300 --idle-timeout 10s --backend {store} \
                 --pending 100 --workers {workers}"
            );
            let run = replay_with_alerts(&options, &[&trace]);
            assert!(count(&run.summary, "/pending/lost") > 0, "{options}");
            assert!(run.alerts.len() > 10, "{options}: there is something to compare");
            (without_speed(run.summary), run.eve)
        });
        assert!(alone == divided, "{store}");
    }
}

#[test]
fn the_operator_has_a_pending_table_by_default() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 2k");
    for (options, slots) in [("--flows 1M", 250_000), ("--flows 100", 131_072)] {
        let (with, without) =
            (replay(options, &[&trace]), replay(&format!("{options} --pending none"), &[&trace]));
        // Rounded up to whole lines.
        let made = count(&with, "/pending/slots");
        assert!((slots..slots + 192).contains(&made), "{options}: {made}");
        // It is beside the store, which has fewer states to tell apart behind it.
        assert!(count(&with, "/store/bits") <= count(&without, "/store/bits"), "{options}");
        assert!(without["pending"].is_null());
        let lifetime = with["pending"]["lifetime_seconds"].as_f64().unwrap();
        let seconds = made as f64 / count(&with, "/pending/inserted") as f64;
        assert!(lifetime > seconds, "{options}: the trace is longer than a second");
    }
    let sized = replay("--flows 100 --memory 64KiB", &[&trace]);
    let [pending, store] = ["/pending/bits", "/store/bits"].map(|key| count(&sized, key) / 8);
    assert!(pending <= 16 << 10 && pending + store <= 64 << 10, "{pending} and {store}");
    assert!(replay("--preset paper", &[&trace])["pending"].is_null());
}

#[test]
fn pending_tables_that_cannot_be_are_refused() {
    let folder = Folder::new();
    let trace = answer_after(&folder, 0, 1);
    for (options, reason) in [
        ("--pending blom", "write a number of slots (64k), or none"),
        ("--pending 0", "a pending table has 1 to"),
        ("--pending 64k --memory 300KiB", "the least that works here is"),
    ] {
        let output = acsm(&format!("replay {options}"), &[&trace]);
        assert_eq!(output.status.code(), Some(2), "{options}");
        assert!(stderr(&output).contains(reason), "{options}: {}", stderr(&output));
    }
}
