//! `acsm inspect` against what tshark counted in real captures.

use std::path::Path;

use acsm_test_support::corpus::{Corpus, Row};
use serde_json::Value;

use crate::runner::json;

/// Which column of `truth.tsv` each figure of `inspect --json` must equal.
const COLUMNS: [(&str, &str); 10] = [
    ("flows", "pairs"),
    ("flows_fin", "pairs_fin"),
    ("flows_rst", "pairs_rst"),
    ("flows_syn", "pairs_syn"),
    ("flows_syn_only", "pairs_synonly"),
    ("flows_syn_fin", "pairs_synfin"),
    ("flows_null", "pairs_null"),
    ("flows_xmas", "pairs_xmas"),
    ("five_tuples", "fivetuples"),
    ("ipv6_tcp_packets", "tcp_pkts_ipv6"),
];

/// Where we deliberately interpret bytes differently from tshark, with the reason.
const EXPLAINED: [(&str, &str); 3] = [
    (
        "suricata-verify__fuzz.pcap",
        "record 2 claims 1,409,179,648 bytes: damage to us and to tcpdump; tshark guesses another \
         header layout there and reads one more frame",
    ),
    (
        "nDPI__fuzz-2006-09-29-28586.pcap",
        "frame 111: an IP length of 35 leaves 15 bytes of TCP, which hold the flags byte",
    ),
    (
        "pcapng-test-generator__test202.pcapng",
        "tshark lists its three custom blocks (bytes 216, 1412, 2468) as frames; they are no \
         packets, and capinfos counts 8 as we do",
    ),
];

fn inspect(options: &str, file: &Path) -> Value {
    json(&format!("inspect --json {options}"), &[file])
}

/// What differs between tshark's counts and ours, one line each.
fn differences(row: &Row, ours: &Value, prefix: &str) -> Vec<String> {
    let column = |name: &str| row[&format!("{prefix}{name}")].parse::<u64>().unwrap();
    let mut found = Vec::new();
    let mut compare = |name: &str, theirs: u64| {
        if ours[name].as_u64() != Some(theirs) {
            found.push(format!(
                "{} {prefix}{name}: tshark {theirs}, acsm {}",
                row["file"], ours[name]
            ));
        }
    };
    compare("packets", row["frames"].parse().unwrap());
    // tshark leaves packets whose flags byte was not captured out of this column already.
    compare("tcp_packets", column("tcp_pkts"));
    for (name, theirs) in COLUMNS {
        compare(name, column(theirs));
    }
    found
}

#[test]
fn every_capture_gives_tsharks_counts_in_both_views() {
    let Some(corpus) = Corpus::find() else { return };
    let rows = corpus.truth();
    assert!(rows.len() >= 60, "the corpus holds {} captures", rows.len());
    let mut wrong = Vec::new();
    for row in &rows {
        let path = corpus.capture(&row["file"]);
        for (options, prefix) in [("", ""), ("--no-tunnels", "outer_")] {
            let ours = inspect(options, &path);
            let skipped: u64 =
                ours["skipped"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
            assert_eq!(
                ours["packets"].as_u64().unwrap(),
                ours["tcp_packets"].as_u64().unwrap() + skipped,
                "{}: every packet is TCP or skipped for a reason",
                row["file"]
            );
            wrong.extend(differences(row, &ours, prefix));
        }
    }
    let reason = |line: &str| EXPLAINED.iter().find(|(file, _)| line.starts_with(file));
    wrong.retain(|line| match reason(line) {
        Some((_, why)) => {
            eprintln!("{line}: {why}");
            false
        }
        None => true,
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}
