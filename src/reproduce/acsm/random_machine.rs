//! Random state machines and the streams of ACSM 2006 §3: flows that begin, make transitions and end, and
//! systems that are not well-behaved.

use acsm_filters::rng::Random;
use acsm_filters::{Epoch, FlowId, Lookup, State};

use super::flow_map::{Action, FlowMap};
use crate::reproduce::{Context, Failure, Rate};

/// V: states of a machine. The first is the initial one.
pub const STATES: usize = 6;
/// Different strings of the stream.
const INPUTS: usize = 8;
/// Of these, the first ones name the new state: "go to state 7", whatever the old one.
const DIRECT: usize = 2;

/// What a string does in a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The next state.
    To(State),
    /// The flow ends.
    End,
    /// It is not valid: the flow stays in its state.
    Invalid,
}

/// A state machine: a step for each state and string.
pub struct Machine {
    steps: Vec<[Step; INPUTS]>,
}

impl Machine {
    /// A random one. From each state at least one string leads on and one ends the flow.
    pub fn random(random: &mut Random) -> Machine {
        let mut any = || State::new(random.below(STATES as u64) as usize).unwrap_or(State::FIRST);
        let direct: [State; DIRECT] = std::array::from_fn(|_| any());
        let mut row = |_| {
            std::array::from_fn(|input| match input {
                0..DIRECT => Step::To(direct[input]),
                DIRECT => Step::End,
                3 => Step::Invalid,
                _ if random.chance(0.2) => Step::Invalid,
                _ => Step::To(
                    State::new(random.below(STATES as u64) as usize).unwrap_or(State::FIRST),
                ),
            })
        };
        Machine { steps: (0..STATES).map(&mut row).collect() }
    }

    fn step(&self, state: State, input: usize) -> Step {
        self.steps.get(state.index()).map_or(Step::Invalid, |row| row[input])
    }

    /// What somebody does who believes the answer.
    fn action(&self, answer: Lookup, input: usize) -> Action {
        match answer {
            Lookup::Absent => Action::None,
            Lookup::Known(state) => match self.step(state, input) {
                Step::To(new) => Action::Modify(new),
                Step::End => Action::Delete,
                Step::Invalid => Action::Touch,
            },
            // Only a string that names the state says what to write.
            Lookup::DontKnow if input < DIRECT => match self.step(State::FIRST, input) {
                Step::To(new) => Action::Modify(new),
                _ => Action::Touch,
            },
            Lookup::DontKnow => Action::Touch,
        }
    }
}

/// A stream of operations.
#[derive(Debug, Clone, Copy)]
pub struct Stream {
    /// Flows that are extant at any time.
    pub extant: usize,
    /// Operations per phase.
    pub phase: u64,
    /// Phases; the first quarter is not counted.
    pub phases: u32,
    /// The share of strings that end a flow.
    pub ends: f64,
    /// The share of strings for flows that are not there, of invalid ones, and of flows that fall silent in
    /// place of ending. 0 in a well-behaved system.
    pub ill: f64,
    /// Whether a phase ends: otherwise nothing ages.
    pub timer: bool,
}

/// What lookups got wrong, by kind, as the paper names them.
#[derive(Debug, Clone, Default)]
pub struct Errors {
    /// Extant flows that are not found.
    pub false_negative: Rate,
    /// Extant flows in another state.
    pub false_return: Rate,
    /// Extant flows whose state is not known.
    pub dont_know: Rate,
    /// Flows that are not there and have a state.
    pub false_positive: Rate,
    /// Fill at the end of each phase.
    pub fill: Vec<f64>,
}

impl Errors {
    /// Extant flows that were not answered rightly.
    pub fn extant(&self) -> Rate {
        let all = [self.false_negative, self.false_return, self.dont_know];
        Rate { events: all.iter().map(|rate| rate.events).sum(), trials: self.dont_know.trials }
    }

    fn count_extant(&mut self, answer: Lookup, state: State) {
        let wrong = [
            (&mut self.false_negative, answer == Lookup::Absent),
            (&mut self.false_return, matches!(answer, Lookup::Known(other) if other != state)),
            (&mut self.dont_know, answer == Lookup::DontKnow),
        ];
        for (rate, wrong) in wrong {
            rate.trials += 1;
            rate.events += u64::from(wrong);
        }
    }
}

fn flow(random: &mut Random) -> FlowId {
    let [high, low] = [random.next_u64(), random.next_u64()].map(u128::from);
    FlowId(high << 64 | low)
}

/// Drives a store in a closed loop: what it answers decides what is written.
pub fn drive(
    context: &Context<'_>,
    store: &mut dyn FlowMap,
    machine: &Machine,
    stream: &Stream,
    random: &mut Random,
) -> Result<Errors, Failure> {
    let mut errors = Errors::default();
    let mut extant: Vec<(FlowId, State)> = vec![];
    for phase in 0..stream.phases {
        context.done(0.0)?;
        let now = Epoch(if stream.timer { phase } else { 0 });
        let counts = phase >= stream.phases / 4;
        for _ in 0..stream.phase {
            // A new flow begins whenever one has ended.
            if extant.len() < stream.extant {
                let new = flow(random);
                store.act(new, now, &|_| Action::Insert(State::FIRST));
                extant.push((new, State::FIRST));
                continue;
            }
            if random.chance(stream.ill) {
                let stranger = flow(random);
                let input = random.below(INPUTS as u64) as usize;
                let answer = store.act(stranger, now, &|answer| machine.action(answer, input));
                if counts {
                    errors.false_positive.trials += 1;
                    errors.false_positive.events += u64::from(matches!(answer, Lookup::Known(_)));
                }
            }
            let at = random.below(extant.len() as u64) as usize;
            let (id, state) = extant[at];
            let ends = random.chance(stream.ends);
            if ends && random.chance(stream.ill) {
                extant.swap_remove(at); // falls silent
                continue;
            }
            let input = if ends { DIRECT } else { valid_input(machine, state, stream.ill, random) };
            let answer = store.act(id, now, &|answer| machine.action(answer, input));
            if counts {
                errors.count_extant(answer, state);
            }
            match machine.step(state, input) {
                Step::To(new) => extant[at].1 = new,
                Step::End => drop(extant.swap_remove(at)),
                Step::Invalid => {}
            }
        }
        store.sweep(now);
        errors.fill.push(store.fill());
    }
    Ok(errors)
}

/// A string that leads on from a state; in an ill-behaved system now and then one that is invalid.
fn valid_input(machine: &Machine, state: State, ill: f64, random: &mut Random) -> usize {
    let wants_invalid = random.chance(ill);
    loop {
        let input = random.below(INPUTS as u64) as usize;
        let step = machine.step(state, input);
        let fits = if wants_invalid { step == Step::Invalid } else { matches!(step, Step::To(_)) };
        if fits {
            return input;
        }
    }
}
