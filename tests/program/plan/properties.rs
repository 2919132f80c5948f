//! What holds for every plan.

use acsm::engine::plan::{
    Plan, PlanOption, Requirements, RequirementsError, Shape, Target, Traffic, plan,
};
use acsm_filters::{Backend, Expire, LayoutKind};
use proptest::prelude::*;

fn requirements(
    flows: Option<u64>,
    target: Option<Target>,
    memory_bytes: Option<u64>,
) -> Requirements {
    Requirements {
        flows,
        target,
        memory_bytes,
        traffic: Traffic::typical(6),
        arrivals_per_second: None,
        packets_per_second: None,
        decode: None,
    }
}

/// Every store, and every layout and expiry with some of them.
fn shapes() -> Vec<Shape> {
    let few = |shape: &Shape| {
        let in_lines = matches!(
            (shape.backend, shape.layout, shape.expire),
            (Backend::Kbf | Backend::Dbf, LayoutKind::Blocked(2), Expire::None)
                | (Backend::Bhbf, LayoutKind::Blocked(1), Expire::TwoPhase)
        );
        in_lines || shape.layout == LayoutKind::Spread
    };
    Shape::all().filter(few).collect()
}

fn planned(requirements: &Requirements) -> Plan {
    plan(requirements, &shapes(), &[Expire::Timer]).unwrap()
}

fn of(plan: &Plan, shape: Shape) -> Option<&PlanOption> {
    plan.options.iter().find(|option| option.shape == shape)
}

fn target() -> impl Strategy<Value = Target> {
    let rate = (-5.0..-0.5f64).prop_map(|exponent| 10f64.powf(exponent));
    (rate, any::<bool>()).prop_map(|(rate, of_absent)| match of_absent {
        true => Target::FpRate(rate),
        false => Target::Error(rate),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]

    /// The memory planned for an error rate gives that rate, or a lower one.
    #[test]
    fn there_and_back(flows in 1_000u64..1_000_000_000, target in target()) {
        let absent = Traffic::typical(6).absent;
        let there = planned(&requirements(Some(flows), Some(target), None));
        for option in &there.options {
            prop_assert!(option.meets, "{option:?}");
            prop_assert!(target.is_met(&option.errors, absent), "{option:?}");
        }
        // The shapes that took most and least.
        for option in [there.options.first(), there.options.last()].into_iter().flatten() {
            let bytes = (option.footprint.bits / 8.0) as u64;
            let shape = [option.shape];
            let back = plan(&requirements(Some(flows), None, Some(bytes)), &shape, &[]).unwrap();
            let again = of(&back, option.shape).unwrap();
            prop_assert!(again.footprint.bits <= option.footprint.bits);
            prop_assert!(again.total_rate <= option.total_rate * 1.001 + 1e-12
                || matches!(target, Target::FpRate(_)), "{option:?} {again:?}");
            let flows_back = plan(&requirements(None, Some(target), Some(bytes)), &shape, &[]).unwrap();
            let most = of(&flows_back, option.shape).unwrap();
            prop_assert!(most.flows as f64 >= 0.999 * flows as f64, "{option:?} {most:?}");
            prop_assert!(target.is_met(&most.errors, absent));
        }
    }

    /// More flows take more memory, and more memory errs less.
    #[test]
    fn more_is_more(flows in 10_000u64..100_000_000, times in 2u64..10, target in target()) {
        let few = planned(&requirements(Some(flows), Some(target), None));
        let many = planned(&requirements(Some(flows * times), Some(target), None));
        for option in &few.options {
            let more = of(&many, option.shape).unwrap();
            prop_assert!(more.footprint.bits >= option.footprint.bits, "{option:?} {more:?}");
        }
        let little = planned(&requirements(Some(flows), None, Some(4 * flows)));
        let much = planned(&requirements(Some(flows), None, Some(4 * flows * times)));
        for option in &little.options {
            let better = of(&much, option.shape).unwrap();
            prop_assert!(better.total_rate <= option.total_rate * 1.001, "{option:?} {better:?}");
        }
    }
}

#[test]
fn ten_thousand_million_flows_take_no_more_work_than_a_thousand() {
    // Errors depend on the flows per cell alone: the curves are the same, and so is every k.
    let target = Some(Target::FpRate(0.001));
    let [few, many] =
        [1_000_000, 10_000_000_000].map(|flows| planned(&requirements(Some(flows), target, None)));
    for option in &few.options {
        let larger = of(&many, option.shape).unwrap();
        assert_eq!(option.footprint.hashes, larger.footprint.hashes, "{option:?}");
        let ratio = larger.bits_per_flow / option.bits_per_flow;
        assert!((0.98..1.001).contains(&ratio), "{ratio} {option:?}");
    }
    // A kBF of 10^10 flows is too large for a run, which is reported; it can be planned nevertheless.
    let is_kbf = |option: &&PlanOption| option.shape.backend == Backend::Kbf;
    assert!(many.options.iter().filter(is_kbf).all(|option| !option.buildable));
    assert!(few.options.iter().all(|option| option.buildable));
}

#[test]
fn what_is_impossible_gets_the_nearest_there_is() {
    for (flows, target, memory) in [
        (2_000_000, Target::Error(1e-9), 1 << 20),
        (1_000_000_000, Target::FpRate(1e-3), 1),
        (1_000_000_000_000, Target::Error(0.5), 1 << 30),
    ] {
        let plan = planned(&requirements(Some(flows), Some(target), Some(memory)));
        assert!(plan.options.iter().all(|option| !option.meets));
        let best = &plan.options[plan.recommended.unwrap()];
        for option in plan.options.iter().filter(|option| option.shape.expire == Expire::Timer) {
            assert!(best.total_rate <= option.total_rate * 1.001 || !option.buildable);
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    for rate in [0.0, 1.0, -0.1, 2.0, f64::NAN, f64::INFINITY] {
        for target in [Target::FpRate(rate), Target::Error(rate)] {
            let refused =
                plan(&requirements(None, Some(target), None), &shapes(), &[]).unwrap_err();
            assert!(matches!(refused, RequirementsError::Rate { .. }), "{refused}");
        }
    }
    let refusal = |flows| plan(&requirements(Some(flows), None, None), &shapes(), &[]).unwrap_err();
    assert_eq!(refusal(0), RequirementsError::NoFlows);
    assert!(matches!(refusal(u64::MAX), RequirementsError::TooManyFlows { .. }));
    let pace = Requirements { packets_per_second: Some(0.0), ..requirements(None, None, None) };
    let refused = plan(&pace, &shapes(), &[]).unwrap_err();
    assert!(matches!(refused, RequirementsError::PacketRate { .. }), "{refused}");
}

#[test]
fn two_of_three_are_enough_and_none_too() {
    let asked = |flows, target, memory| requirements(flows, target, memory).resolve().unwrap();
    let fp_rate = Some(Target::FpRate(0.01));
    let nothing = asked(None, None, None);
    assert_eq!(
        (nothing.flows, nothing.target, nothing.memory_bytes),
        (Some(1_000_000), fp_rate, None)
    );
    let memory = asked(None, None, Some(1 << 20));
    assert_eq!((memory.flows, memory.target), (None, fp_rate));
    let both = asked(Some(5), None, Some(1 << 20));
    assert_eq!((both.flows, both.target), (Some(5), None));
}
