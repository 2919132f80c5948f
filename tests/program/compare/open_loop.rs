//! An open loop shows what theory predicts.

use super::compare;
use crate::runner::{Folder, count};

/// Nothing ages, so each flow is looked up once while absent, when n others are stored: it finds no
/// empty cell among its k with (1 − e^{−kn/m})^k. Summed over all flows that is how many errors
/// there should be.
#[test]
fn absent_flows_are_false_positives_as_often_as_theory_has_it() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--profile paper --packets 40k --flows 30k");
    let options = "--preset paper --backends kbf --expire none --loop open \
                   --fp-rates 0.1,0.03,0.01 --repeat 2";
    let report = compare(options, &[&trace]);
    for run in report["runs"].as_array().unwrap() {
        let errors = &run["errors"];
        let flows = count(errors, "/lookups_absent");
        assert_eq!(flows, 30_000);
        let (k, m) = (count(run, "/hashes") as f64, count(run, "/cells") as f64);
        let chance = |n: u64| (1.0 - (-k * n as f64 / m).exp()).powf(k);
        let expected: f64 = (0..flows).map(chance).sum();
        let seen = count(errors, "/false_positive") + count(errors, "/dont_know_absent");
        let off = (seen as f64 - expected) / expected.sqrt();
        assert!(off.abs() < 5.0, "{seen} seen, {expected:.1} expected, {off:.1} sigma");
    }
}

/// A kBF that is given the right states has each flow on all its cells, so it never returns a wrong
/// one. In a closed loop a flow that seemed present was never inserted.
#[test]
fn only_in_closed_loops_errors_lead_to_others() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 10k");
    let options =
        "--preset paper --backends kbf --expire none --loop closed,open --fp-rates 0.1 --repeat 1";
    let report = compare(options, &[&trace]);
    let [closed, open] = [0, 1].map(|n| &report["runs"][n]);
    for kind in ["false_negative", "false_return"] {
        assert_eq!(count(open, &format!("/errors/{kind}")), 0, "{kind}");
    }
    assert!(count(closed, "/errors/false_return") > 0);
    assert!(count(open, "/errors/dont_know") > 0, "it is full enough to err");
}
