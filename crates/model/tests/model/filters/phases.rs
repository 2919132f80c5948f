//! Stores that recycle: two phases, and the average over a cycle.

use acsm_model::counts::FlowCells;
use acsm_model::{ErrorRates, StateMix, dbf, recycling, sbf};

use super::sbf::judge_sbf;
use super::simulated::{ABSENT_FLOWS, Answer, CELLS, Filter, Flow, Layout};
use crate::evidence::{assert_in_interval, mean_of};

/// An sbf at half its load over one at all of it; absent flows, flows of the one and of the other.
#[test]
fn two_phases_of_a_store() {
    let mix = StateMix::new(&[80.0, 15.0, 5.0]);
    let (hashes, load) = (3, 0.8);
    let errors_at = |load: f64| sbf::errors(&FlowCells::at_load(hashes, load), &mix);
    let in_frozen = 0.5;
    let model = recycling::two_phase(&errors_at(load / 2.0), &errors_at(load), in_frozen);
    let part = CELLS / hashes;
    let mut runs = vec![];
    for seed in 0..10 {
        let [mut active, mut frozen] =
            [0, 100].map(|of| Filter::new(Layout::Spread, part * hashes, hashes, seed + of));
        active.fill(&mix, (load * 0.5 * part as f64) as usize);
        frozen.fill(&mix, (load * part as f64) as usize);
        let answer = |flow: &Flow| match judge_sbf(&active.residents(flow)) {
            Answer::Absent => judge_sbf(&frozen.residents(flow)),
            other => other,
        };
        let mut errors = ErrorRates::default();
        for (flows, weight) in [(&active.flows, 1.0 - in_frozen), (&frozen.flows, in_frozen)] {
            let each = weight / flows.len() as f64;
            for flow in flows {
                match answer(flow) {
                    Answer::Known(state) if state == flow.state => {}
                    Answer::Known(_) => errors.false_return += each,
                    Answer::DontKnow => errors.dont_know += each,
                    Answer::Absent => errors.false_negative += each,
                }
            }
        }
        let mut source = Filter::new(Layout::Spread, part * hashes, hashes, seed + 200);
        for _ in 0..ABSENT_FLOWS {
            match answer(&source.random_flow(&mix)) {
                Answer::Known(_) => errors.false_positive += 1.0 / ABSENT_FLOWS as f64,
                Answer::DontKnow => errors.dont_know_absent += 1.0 / ABSENT_FLOWS as f64,
                Answer::Absent => {}
            }
        }
        runs.push(errors);
    }
    let of = |kind: fn(&ErrorRates) -> f64| runs.iter().map(kind).collect::<Vec<f64>>();
    let positive = of(|errors| errors.false_positive);
    assert_in_interval("two phases: false positive", model.false_positive, &positive, 0.1);
    let dont_know = of(|errors| errors.dont_know);
    assert_in_interval("two phases: don't know", model.dont_know, &dont_know, 0.2);
    // Flows in the state that the active store answers by chance are right: most are in one state.
    let (wrong, _) = mean_of(&of(|errors| errors.false_return));
    assert!(wrong <= model.false_return && wrong > 0.2 * model.false_return, "{wrong}");
    assert!(runs.iter().all(|errors| errors.false_negative == 0.0));
}

#[test]
fn cycles_average_what_they_pass_through() {
    let errors_at = |flows: f64| dbf::errors(&FlowCells::at_load(4, flows / 1000.0), 6);
    let steps = 20_000;
    let at = |step: i32| errors_at(700.0 * (f64::from(step) + 0.5) / f64::from(steps));
    let sum = (0..steps).map(at).fold(ErrorRates::default(), |sum, errors| sum.plus(&errors, 1.0));
    let mean = recycling::over_cycle(700.0, errors_at);
    for (model, sum) in [(mean.false_positive, sum.false_positive), (mean.dont_know, sum.dont_know)]
    {
        assert!((model * f64::from(steps) / sum - 1.0).abs() < 1e-6, "{model} {sum}");
    }
}
