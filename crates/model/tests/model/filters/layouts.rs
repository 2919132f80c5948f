//! Cells in few lines per flow, `blocked:G`, by every store.

use acsm_model::bhbf::Masks;
use acsm_model::kbf::Decoding;
use acsm_model::{ErrorRates, StateMix, kbf, sbf};

use super::bhbf::bhbf_judge;
use super::kbf::kbf_judge;
use super::sbf::judge_sbf;
use super::simulated::{Case, Judge, Kind, Layout};
use crate::evidence::mean_of;

/// The parts of a line that a flow has one cell in each of are taken for equal, and the states of
/// flows for independent of the line: the model's simplifications; their error is bounded here.
#[test]
fn blocked_layouts() {
    let mix = StateMix::new(&[60.0, 20.0, 10.0, 4.0, 3.0, 3.0]);
    let masks = Masks::new();
    let decode = Decoding::AllPairs;
    // bhbf errs too rarely to see where the others do well.
    for (lines, hashes, cells, load, salted) in [
        (1, 4, 26, 0.9, false),
        (2, 4, 26, 0.9, false),
        (2, 7, 51, 0.9, false),
        (3, 6, 26, 0.9, false),
        (1, 3, 26, 1.5, true),
        (2, 3, 26, 1.5, true),
    ] {
        let layout = Layout::Blocked { lines, cells };
        let case =
            Case { name: "blocked", layout, hashes, load, mix: mix.clone(), resolution: 1.0 };
        let flow_cells = case.cells();
        let judges: Vec<(&str, ErrorRates, Box<Judge>)> = if salted {
            vec![("bhbf", masks.errors(&flow_cells, 6), Box::new(bhbf_judge(6)))]
        } else {
            vec![
                ("sbf", sbf::errors(&flow_cells, &mix), Box::new(judge_sbf)),
                ("kbf", kbf::errors(&flow_cells, &mix, decode), Box::new(kbf_judge(decode))),
            ]
        };
        for (store, model, judge) in judges {
            let runs = case.runs(&*judge);
            let kinds: [Kind; 2] =
                [("absent flows", ErrorRates::of_absent), ("flows", ErrorRates::of_extant)];
            for (kind, of) in kinds {
                let (mean, half) = mean_of(&runs.iter().map(of).collect::<Vec<_>>());
                let ratio = of(&model) / mean;
                println!(
                    "{store}, {kind}, blocked:{lines} k {hashes}: model {:.3e}, simulated {mean:.3e} ± {half:.0e}, ratio {ratio:.2}",
                    of(&model)
                );
                // 99.9 % interval of the ratio, and what the model leaves out: the flows of a line
                // are in the same states on each of its cells, which sbf sees.
                let left_out = if lines == 1 { 0.2 } else { 0.1 };
                let off = (of(&model) - mean).abs();
                assert!(off < half + left_out * mean, "{store} {kind}: {ratio}");
                assert!(half < 0.8 * mean, "{store} {kind}: too rare to see");
            }
        }
    }
}
