//! Operations on a store, and random lists of them.

use crate::rng::Random;
use crate::state::State;

/// How many flows the operations are about.
pub const FLOWS: usize = 14;

/// The most steps of a random list.
const STEPS_MAX: u64 = 120;

/// The answer that an operation is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// What the store answers.
    Answered,
    /// Any state, as after an error.
    Known(usize),
    /// That it does not know.
    DontKnow,
}

/// An operation on a store. States are taken modulo the number that the store has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// What a packet does: insert the flow if it is absent, else move it to this state.
    Packet(usize),
    /// Keep it alive.
    Touch(Claim),
    /// Touch it as if it were absent.
    TouchAsAbsent,
    /// Insert it, present or not.
    Insert(usize),
    /// Change its state.
    Modify(Claim, usize),
    /// Remove it.
    Delete(Claim),
    /// Delete a flow, insert a second, prefetch a third, then touch the one of the step.
    Interleaved {
        /// The flow that goes.
        deleted: usize,
        /// The flow that comes.
        inserted: usize,
        /// The flow that is prefetched.
        loaded: usize,
        /// The state of the first two.
        state: usize,
    },
    /// Sweep about this many cells.
    Sweep(usize),
    /// This many epochs pass.
    Wait(u32),
}

/// One step: an operation on a flow, with a stamp or a half stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Which of the [`FLOWS`] flows.
    pub flow: usize,
    /// What is done.
    pub operation: Operation,
    /// Whether its stamp is a half one.
    pub half: bool,
}

/// The random list of steps of a seed: 1 to 120 of them.
pub fn random_steps(seed: u64) -> Vec<Step> {
    let mut random = Random::for_purpose(seed, 0x7374_6570);
    let count = 1 + random.below(STEPS_MAX);
    (0..count).map(|_| random_step(&mut random)).collect()
}

fn random_step(random: &mut Random) -> Step {
    let flow = random.below(FLOWS as u64) as usize;
    let operation = random_operation(random);
    Step { flow, operation, half: random.chance(0.3) }
}

fn random_operation(random: &mut Random) -> Operation {
    let state = random.below(State::LIMIT as u64) as usize;
    let claim = match random.below(6) {
        0..4 => Claim::Answered,
        4 => Claim::Known(random.below(State::LIMIT as u64) as usize),
        _ => Claim::DontKnow,
    };
    let mut flow = || random.below(FLOWS as u64) as usize;
    let [deleted, inserted, loaded] = [flow(), flow(), flow()];
    match random.below(36) {
        0..8 => Operation::Packet(state),
        8..16 => Operation::Touch(claim),
        16 => Operation::TouchAsAbsent,
        17..19 => Operation::Insert(state),
        19..23 => Operation::Modify(claim, state),
        23..26 => Operation::Delete(claim),
        26..29 => Operation::Interleaved { deleted, inserted, loaded, state },
        29..32 => Operation::Sweep(random.below(200) as usize),
        _ => Operation::Wait(match random.below(10) {
            8 => 1 << 20,
            9 => u32::MAX / 3,
            _ => 1 + random.below(5) as u32,
        }),
    }
}
