//! Stores that recycle when they are full: what they forget is no error, since the exact shadow
//! forgets the same flows.

use crate::runner::{Folder, count, replay};

/// Stores far larger than the fill at which they recycle rarely err themselves: any difference would be
/// one in what is forgotten.
#[test]
fn what_is_forgotten_is_no_error() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 8k --flows 600 --attacks all");
    let absent = |options: &str| {
        let options = format!("--preset paper --verify --flows 20k --fp-rate 1e-6 {options}");
        let summary = replay(&options, &[&trace]);
        let errors = &summary["errors"];
        for kind in
            ["false_positive", "dont_know_absent", "false_negative", "dont_know", "false_return"]
        {
            assert_eq!(count(errors, &format!("/{kind}")), 0, "{options}: {kind}");
        }
        assert_eq!(count(errors, "/alerts_missed") + count(errors, "/alerts_spurious"), 0);
        let recycles = count(&summary, "/flows/recycles");
        assert_eq!(recycles > 40, options.contains("recycle-at"), "{options}: {recycles}");
        assert!(count(&summary, "/flows/inserted") >= count(errors, "/flows_total"), "{options}");
        count(&summary, "/lookups/absent")
    };
    for backend in ["kbf", "sbf --layout blocked:2", "dbf"] {
        let [recycled, forgetting, two_phase] = ["recycle", "recycle --no-retain", "two-phase"]
            .map(|expire| {
                absent(&format!("--backend {backend} --expire {expire} --recycle-at flows:160"))
            });
        let timed = absent(&format!("--backend {backend} --idle-timeout 1h"));
        // Forgotten flows are absent again; with --no-retain also the flow that ends a cycle.
        assert!(forgetting > recycled && recycled > timed, "{backend}: {forgetting} {recycled}");
        assert!(two_phase > timed, "{backend}: {two_phase}");
    }
}

/// Without --recycle-at: at the fill that the requested number of flows gives.
#[test]
fn stores_recycle_with_as_many_flows_as_they_are_made_for() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 40k --flows 8k");
    for (expire, flows_per_cycle) in [("recycle", 2000.0), ("two-phase", 1000.0)] {
        let summary = replay(&format!("--preset paper --flows 2k --expire {expire}"), &[&trace]);
        let at = summary["store"]["recycle_at"].as_str().expect("a threshold");
        let fill: f64 = at.strip_prefix("fill:").expect("a fill").parse().expect("a number");
        // ρ = 6/9.6 flows per cell: the default layout has k = 6.
        assert!((0.44..0.53).contains(&fill), "{fill}");
        let admitted = count(&summary, "/flows/inserted") + count(&summary, "/flows/moved");
        let cycles = count(&summary, "/flows/recycles") as f64 / 16.0;
        let per_cycle = admitted as f64 / cycles;
        // Shards are in the middle of a cycle when the trace ends: at most one each.
        let slack = flows_per_cycle / cycles;
        assert!(
            cycles > 3.0 && (per_cycle - flows_per_cycle).abs() < 0.1 * flows_per_cycle + slack,
            "{expire}: {per_cycle}"
        );
    }
}
