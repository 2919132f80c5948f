//! Operations on a store, at random: as `testing::random_steps` has them, in a form that proptest can
//! shrink.

use acsm_filters::State;
use acsm_filters::testing::{Claim, FLOWS, Operation, Step};
use proptest::prelude::*;

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let claim = || {
        prop_oneof![
            4 => Just(Claim::Answered),
            1 => (0..State::LIMIT).prop_map(Claim::Known),
            1 => Just(Claim::DontKnow),
        ]
    };
    let wait = prop_oneof![8 => 1..6u32, 1 => Just(1 << 20), 1 => Just(u32::MAX / 3)];
    let operation = prop_oneof![
        8 => (0..State::LIMIT).prop_map(Operation::Packet),
        8 => claim().prop_map(Operation::Touch),
        1 => Just(Operation::TouchAsAbsent),
        2 => (0..State::LIMIT).prop_map(Operation::Insert),
        4 => (claim(), 0..State::LIMIT).prop_map(|(old, new)| Operation::Modify(old, new)),
        3 => claim().prop_map(Operation::Delete),
        3 => (0..FLOWS, 0..FLOWS, 0..FLOWS, 0..State::LIMIT).prop_map(
            |(deleted, inserted, loaded, state)| {
                Operation::Interleaved { deleted, inserted, loaded, state }
            }
        ),
        3 => (0..200usize).prop_map(Operation::Sweep),
        4 => wait.prop_map(Operation::Wait),
    ];
    let step = (0..FLOWS, operation, prop::bool::weighted(0.3));
    let step = step.prop_map(|(flow, operation, half)| Step { flow, operation, half });
    prop::collection::vec(step, 1..120)
}
