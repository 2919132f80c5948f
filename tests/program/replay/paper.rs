//! The papers' trace: flows with a FIN and with a RST, exactly and by filters.

use crate::runner::{Folder, count, replay};

/// What the papers counted in their hour.
const FLOWS: u64 = 908_522;
const FIN_FLOWS: u64 = 900;
const RST_FLOWS: u64 = 1_658;

fn marks_of_the_paper_profile(scale: u64) {
    let (flows, packets) = (FLOWS / scale, 5_000_000 / scale);
    let folder = Folder::new();
    let options = format!("--profile paper --packets {packets} --flows {flows}");
    let (trace, truth) = folder.generate("paper.pcap", &options);
    let expected = ["/flows_fin", "/flows_rst"].map(|key| count(&truth, key));
    if scale == 1 {
        assert_eq!(expected, [FIN_FLOWS, RST_FLOWS]);
    } else {
        for (scaled, full) in expected.into_iter().zip([FIN_FLOWS, RST_FLOWS]) {
            assert!((scaled * scale).abs_diff(full) <= scale, "{scaled} is not {full}/{scale}");
        }
    }
    let rate = "--fp-rate 0.001";
    let filters = [format!("kbf {rate}"), format!("sbf {rate}"), format!("fcf {rate}")];
    for store in ["exact", "bhbf"].map(str::to_owned).into_iter().chain(filters) {
        let options = format!("--preset paper --expire none --flows {flows} --backend {store}");
        let summary = replay(&options, &[&trace]);
        let marks = ["flow_fin", "flow_rst"]
            .map(|rule| count(&summary, &format!("/alerts/by_rule/{rule}")));
        println!("{store}: {marks:?} of {expected:?} flows with a FIN, with a RST");
        if store == "exact" {
            assert_eq!(marks, expected);
        }
        for (seen, there) in marks.into_iter().zip(expected) {
            // At p = 0.001 a mark is rarely missed or spurious; 5 % is far beyond chance.
            assert!(seen.abs_diff(there) * 20 <= there, "{store}: {seen} of {there}");
        }
    }
}

#[test]
fn a_fortieth_of_the_papers_trace() {
    marks_of_the_paper_profile(40);
}

/// A minute or more without optimisation: `cargo test --release -- --ignored`.
#[test]
#[ignore = "takes minutes in a debug build; scripts/test replays the whole trace with the release build"]
fn the_papers_trace_in_full() {
    marks_of_the_paper_profile(1);
}
