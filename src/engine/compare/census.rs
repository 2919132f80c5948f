//! The census: at the end of the trace every flow is asked once, whatever its traffic was.
//!
//! A rate per lookup is an average over the filling of the store and over the traffic, in which one long flow can
//! be most of the lookups. In a census each flow has one vote: all flows that the exact table holds, then as
//! many that it no longer holds, then as many that never came.

use std::net::{IpAddr, Ipv6Addr};

use super::run_errors::FlowSet;
use crate::flow::{Direction, FlowKey, TcpFlags};
use crate::machine::Rules;
use acsm_filters::rng::Random;
use acsm_filters::{GroundTruth, Lookup, RememberedFlow, State, StateSet};

/// Flows that never came are the same every time.
const SEED: u64 = 0x6365_6e73_7573;
/// `2001:db8::/32`: addresses that no host has.
const DOCUMENTATION: u128 = 0x2001_0db8 << 96;

/// What one store answered at the end of the trace. "Found" is any answer but "absent".
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Census {
    /// Flows that the exact table holds.
    pub held: u64,
    /// Of these, answered with their state.
    pub held_right: u64,
    /// Of these, answered with another state.
    pub held_wrong: u64,
    /// Of these, answered with "don't know".
    pub held_undecided: u64,
    /// Of these, answered with "absent".
    pub held_absent: u64,
    /// Flows asked that aged or were deleted: as many as are held, if there are as many.
    pub gone: u64,
    /// Of these, found.
    pub gone_found: u64,
    /// Flows asked that never came: as many as are held.
    pub unseen: u64,
    /// Of these, found: the rate of false positives at the end.
    pub unseen_found: u64,
    /// Flows held that were never inserted into this store: it seemed to have them before they came.
    pub never_inserted: u64,
    /// Flows held whose state says that they had a FIN.
    pub fin: u64,
    /// Of these, answered with a state that says so.
    pub fin_right: u64,
    /// Flows held whose state says that they had a RST.
    pub rst: u64,
    /// Of these, answered with a state that says so.
    pub rst_right: u64,
}

/// A flow to be asked about.
#[derive(Debug, Clone, Copy)]
pub struct Question {
    /// Its full key.
    pub key: FlowKey,
    /// Its number in the exact table, if it came.
    pub flow: u32,
    /// What is true of it.
    pub fate: Fate,
}

/// What became of a flow by the end of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The exact table holds it in this state.
    Held(State),
    /// It aged or was deleted.
    Gone,
    /// It never came.
    Unseen,
}

/// The states that say of a flow that it had a FIN, or a RST.
#[derive(Debug, Clone, Copy, Default)]
pub struct MarkedStates {
    fin: StateSet,
    rst: StateSet,
}

impl MarkedStates {
    /// Those of a machine with these rules: states in which no packet is the first FIN (`flow_fin`), or the
    /// first RST (`flow_rst`). None if it has no such rule.
    pub fn of(rules: &Rules) -> MarkedStates {
        let machine = &rules.machine;
        let after = |rule: &str| {
            let Some(rule) = rules.list.find(rule).map(|rule| rule.id) else {
                return StateSet::EMPTY;
            };
            let can_fire = |state: Option<State>| {
                let answer = state.map_or(Lookup::Absent, Lookup::Known);
                (0..=u8::MAX).any(|flags| {
                    [Direction::Forward, Direction::Backward].into_iter().any(|direction| {
                        let outcome = machine.step(answer, direction, TcpFlags(flags), false);
                        outcome.alerts.contains(rule)
                    })
                })
            };
            let states = (0..machine.states().len()).filter_map(State::new);
            match can_fire(None) {
                true => states.filter(|&state| !can_fire(Some(state))).collect(),
                false => StateSet::EMPTY,
            }
        };
        MarkedStates { fin: after("flow_fin"), rst: after("flow_rst") }
    }
}

impl Census {
    /// Counts one answer. `inserted`: the flows that this store ever inserted.
    pub fn count(
        &mut self,
        question: &Question,
        answer: Lookup,
        inserted: &FlowSet,
        marked: &MarkedStates,
    ) {
        let found = u64::from(answer != Lookup::Absent);
        let state = match question.fate {
            Fate::Held(state) => state,
            Fate::Gone => {
                self.gone += 1;
                self.gone_found += found;
                return;
            }
            Fate::Unseen => {
                self.unseen += 1;
                self.unseen_found += found;
                return;
            }
        };
        self.held += 1;
        match answer {
            Lookup::Known(told) if told == state => self.held_right += 1,
            Lookup::Known(_) => self.held_wrong += 1,
            Lookup::DontKnow => self.held_undecided += 1,
            Lookup::Absent => self.held_absent += 1,
        }
        self.never_inserted += u64::from(!inserted.has(question.flow));
        let says =
            |states: StateSet| matches!(answer, Lookup::Known(told) if states.contains(told));
        if marked.fin.contains(state) {
            self.fin += 1;
            self.fin_right += u64::from(says(marked.fin));
        }
        if marked.rst.contains(state) {
            self.rst += 1;
            self.rst_right += u64::from(says(marked.rst));
        }
    }
}

/// All questions of a census. Of the flows that are gone, those asked are spread evenly over the trace.
pub fn questions(history: &GroundTruth<FlowKey>) -> impl Iterator<Item = Question> {
    let held = move || {
        (0..).zip(history.remembered()).filter_map(|(flow, remembered)| {
            let fate = Fate::Held(remembered.state?);
            Some(Question { key: remembered.key, flow, fate })
        })
    };
    let gone = move || {
        let is_gone = |flow: &RememberedFlow<FlowKey>| flow.state.is_none() && flow.was_alive;
        let gone = (0..).zip(history.remembered()).filter(move |(_, flow)| is_gone(flow));
        gone.map(|(flow, gone)| Question { key: gone.key, flow, fate: Fate::Gone })
    };
    let (wanted, there) = (held().count(), gone().count());
    // The n-th of them is asked where n · wanted / there passes a whole number.
    let is_asked = move |n: usize| there <= wanted || (n * wanted) % there < wanted;
    let some_gone = gone().enumerate().filter_map(move |(n, gone)| is_asked(n).then_some(gone));
    let mut random = Random::new(SEED);
    let unseen = (0..wanted).map(move |_| {
        let mut address = || {
            let bits = u128::from(random.next_u64()) << 32 ^ u128::from(random.next_u64());
            IpAddr::V6(Ipv6Addr::from_bits(DOCUMENTATION | bits))
        };
        let key = FlowKey { src: address(), dst: address(), ..FlowKey::default() };
        Question { key, flow: u32::MAX, fate: Fate::Unseen }
    });
    held().chain(some_gone).chain(unseen)
}
