//! The options of the profile `paper`: shares are exact, times are those asked for, and other bytes come of it.

use std::collections::HashMap;
use std::net::IpAddr;

use acsm::generate::{Pace, PaperTraffic, TraceSpec};

use super::recount::Record;
use super::{confirm, generate, paper};
use crate::runner::{command, stderr};

const SYN: u8 = 2;

/// The packets of each flow, in order.
fn flows(records: &[Record]) -> HashMap<(IpAddr, IpAddr), Vec<&Record>> {
    let mut flows: HashMap<(IpAddr, IpAddr), Vec<&Record>> = HashMap::new();
    for record in records {
        flows.entry((record.src, record.dst)).or_default().push(record);
    }
    flows
}

fn with(paper_traffic: PaperTraffic) -> TraceSpec {
    TraceSpec { paper: paper_traffic, ..paper(60_000, 10_000) }
}

#[test]
fn shares_are_exact() {
    for (syn_only, opening, fin, rst) in [(0.3, 0.25, 0.1, 0.2), (0.0, 1.0, 1.0, 1.0)] {
        let (records, truth) = confirm(with(PaperTraffic {
            syn_only_share: Some(syn_only),
            opening_share: Some(opening),
            fin_share: Some(fin),
            rst_share: Some(rst),
            ..PaperTraffic::default()
        }));
        let of_all = |share: f64| (share * 10_000.0) as u64;
        assert_eq!(truth["flows_syn_only"], of_all(syn_only));
        assert_eq!(truth["flows_fin"], of_all(fin));
        assert_eq!(truth["flows_rst"], of_all(rst));
        let opening_flows = flows(&records)
            .values()
            .filter(|packets| packets[0].flags == SYN && packets.len() > 1)
            .count();
        assert_eq!(opening_flows as u64, of_all(opening));
    }
}

/// One share alone leaves the other as it was by default: a fifth of the flows that could.
#[test]
fn one_share_alone_leaves_the_others() {
    let (records, truth) =
        confirm(with(PaperTraffic { syn_only_share: Some(0.0), ..PaperTraffic::default() }));
    assert_eq!(truth["flows_syn_only"], 0);
    let flows = flows(&records);
    let longer: Vec<_> = flows.values().filter(|packets| packets.len() > 1).collect();
    let opening = longer.iter().filter(|packets| packets[0].flags == SYN).count() as f64;
    // Five standard deviations of a binomial count.
    let expected = 0.2 * longer.len() as f64;
    assert!((opening - expected).abs() < 5.0 * (0.8 * expected).sqrt(), "{opening} {expected}");
}

#[test]
fn times_are_those_asked_for() {
    let median_of = |pace: Pace, time: fn(&[&Record]) -> u64| -> f64 {
        let (records, _) = confirm(with(PaperTraffic { pace, ..PaperTraffic::default() }));
        let flows = flows(&records);
        let mut times: Vec<u64> = flows
            .values()
            .filter(|packets| packets.len() > 2)
            .map(|packets| time(packets))
            .collect();
        times.sort_unstable();
        times[times.len() / 2] as f64 / 1e9
    };
    let lifetime = |packets: &[&Record]| {
        packets[packets.len() - 1].time.as_nanos() - packets[0].time.as_nanos()
    };
    let gap = |packets: &[&Record]| packets[1].time.as_nanos() - packets[0].time.as_nanos();
    for seconds in [0.01, 1.0] {
        let nanos = (seconds * 1e9) as u64;
        // A mean from `seconds` to ten times that, most near the lower end; a wait is mostly shorter than its mean.
        let pace = Pace::Lifetimes { least: nanos, most: 10 * nanos };
        let median = median_of(pace, lifetime);
        assert!((0.4 * seconds..4.0 * seconds).contains(&median), "{seconds} s: {median}");
        let median = median_of(Pace::Gaps { least: nanos, most: 10 * nanos }, gap);
        assert!((0.2 * seconds..4.0 * seconds).contains(&median), "{seconds} s: {median}");
    }
}

#[test]
fn the_defaults_said_out_loud_give_the_same_pace() {
    let options = |more: &[&str]| {
        let base = ["-o", "-", "--profile", "paper", "--packets", "5k", "--flows", "900"];
        command("generate", &[]).args(base).args(more).output().expect("acsm runs").stdout
    };
    let default = options(&[]);
    assert_eq!(default, generate(paper(5_000, 900)).0);
    assert_eq!(default, options(&["--gaps", "10ms..10s"]));
    for other in [
        &["--gaps", "1s"][..],
        &["--lifetimes", "1s..10m"],
        &["--syn-only-share", "0"],
        &["--opening-share", "5%"],
        &["--fin-share", "5%"],
        &["--rst-share", "5%"],
    ] {
        assert_ne!(default, options(other), "{other:?}");
    }
}

#[test]
fn impossible_traffic_is_refused_with_advice() {
    for (args, advice) in [
        (&["--gaps", "1s"][..], "--profile paper"),
        (&["--profile", "paper", "--gaps", "1s", "--lifetimes", "1s"], "cannot be used with"),
        (&["--profile", "paper", "--gaps", "2s..1s"], "its least is more than its most"),
        (&["--profile", "paper", "--lifetimes", "0"], "a time is zero"),
        (&["--profile", "paper", "--gaps", "fast"], "250ms"),
        (&["--profile", "paper", "--syn-only-share", "60%", "--fin-share", "50%"], "too few"),
        (&["--profile", "paper", "--packets", "1M", "--opening-share", "50%"], "raise --packets"),
    ] {
        let output = command("generate", &[]).args(["-o", "-"]).args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(advice), "{args:?}: {}", stderr(&output));
    }
}
