//! The state machine as one table, with one access per packet.

use crate::flow::{Direction, TcpFlags};
use acsm_filters::{Lookup, State, StateSet};

/// The input of a machine: eight flag bits, and whether the packet carries data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Input(u16);

impl Input {
    /// How many different inputs there are.
    pub const COUNT: usize = 512;
    /// The bit that says "carries data", above the eight flags.
    pub const DATA_BIT: u16 = 0x100;

    /// The input of a packet with these flags, with or without payload.
    pub const fn new(flags: TcpFlags, data: bool) -> Input {
        Input(flags.0 as u16 | if data { Self::DATA_BIT } else { 0 })
    }

    /// Every input there is.
    pub fn all() -> impl Iterator<Item = Input> {
        (0..Self::COUNT as u16).map(Input)
    }

    /// The nine bits.
    pub const fn bits(self) -> u16 {
        self.0
    }
}

/// The new state of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Next {
    /// It stays as it is: absent, or in its state.
    Keep,
    /// It becomes this one: an insert if it was absent, else a modification.
    Go(State),
    /// The flow is forgotten.
    Delete,
}

/// The effect of a packet on its flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// The new state.
    pub next: Next,
    /// Which rules the packet fires.
    pub alerts: RuleSet,
}

/// One state of a machine: its description, and what matters for aging.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateInfo {
    /// Its name. Two states that differ only in the end they remember share it.
    pub name: String,
    /// What it means.
    pub doc: String,
    /// An unfinished handshake: forgotten after half a phase to one and a half, where other states
    /// have one to two.
    pub half_open: bool,
    /// The connection is over; the state is kept so that late packets raise no alert.
    pub lingering: bool,
    /// Only one direction of the flow has been seen.
    pub one_way: bool,
    /// The end that the state remembers (the one that opened or closed), as the direction of the
    /// packets that it sends.
    pub end: Option<Direction>,
}

/// What it means that both ends of a flow go on after it seemed to be over: see `docs/rules.md`,
/// `[resume]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resumption {
    /// The states, by index, that the flow can be in.
    pub states: [bool; State::LIMIT],
    /// The state that it has been in all the time.
    pub state: State,
    /// The rules that this fires.
    pub alerts: RuleSet,
}

/// A compiled state machine: for every lookup, direction and input, what follows.
///
/// A step is total, pure and one indexed load: 4 bytes out of 72 KiB, of which real traffic keeps
/// a few lines hot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    states: Vec<StateInfo>,
    entries: Vec<Entry>,
    /// The distinct sets that entries point to; the first is empty.
    alert_sets: Vec<RuleSet>,
    resumption: Option<Resumption>,
}

/// 16 states, "absent" and "don't know".
const ROWS: usize = State::LIMIT + 2;
const DIRECTIONS: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    next: Next,
    alerts: u16,
}

const NOTHING: Outcome = Outcome { next: Next::Keep, alerts: RuleSet::EMPTY };

impl Machine {
    /// The effect of a packet on its flow.
    ///
    /// On [`Lookup::DontKnow`] only rules that need no state fire, and [`Next::Go`] names the state
    /// that the flow is in now whatever state it was in: the packet leads there from every one.
    /// A store that can write without knowing what it overwrites may use it.
    #[inline]
    pub fn step(
        &self,
        lookup: Lookup,
        direction: Direction,
        flags: TcpFlags,
        data: bool,
    ) -> Outcome {
        let Some(entry) = self.entries.get(index(lookup, direction, Input::new(flags, data)))
        else {
            return NOTHING; // unreachable: the table is full
        };
        let alerts = match entry.alerts {
            0 => RuleSet::EMPTY,
            set => self.alert_sets.get(usize::from(set)).copied().unwrap_or_default(),
        };
        Outcome { next: entry.next, alerts }
    }

    /// Its states; a [`State`] is an index here.
    pub fn states(&self) -> &[StateInfo] {
        &self.states
    }

    /// Which states are half-open, by index.
    pub fn half_open(&self) -> [bool; State::LIMIT] {
        let is = |index: usize| self.states.get(index).is_some_and(|state| state.half_open);
        std::array::from_fn(is)
    }

    /// Which states are half-open or over, by index.
    pub fn half_open_or_over(&self) -> [bool; State::LIMIT] {
        let is = |state: &StateInfo| state.half_open || state.lingering;
        std::array::from_fn(|index| self.states.get(index).is_some_and(is))
    }

    /// The states that are half-open or over: where there is a pending table, it holds them.
    pub fn held(&self) -> StateSet {
        let is_held = self.half_open_or_over();
        (0..State::LIMIT).filter(|&index| is_held[index]).filter_map(State::new).collect()
    }

    /// The name of a state; "?" if the machine does not have it.
    pub fn state_name(&self, state: State) -> &str {
        self.states.get(state.index()).map_or("?", |info| info.name.as_str())
    }

    /// What it means that both ends of a flow in this state go on, if anything.
    #[inline]
    pub fn resumption(&self, state: State) -> Option<Resumption> {
        self.resumption.filter(|resumption| resumption.states[state.index()])
    }

    /// The same machine with this resumption.
    pub(super) fn with_resumption(self, resumption: Option<Resumption>) -> Machine {
        Machine { resumption, ..self }
    }

    /// The machine with these states (at most [`State::LIMIT`]) whose steps from known and absent
    /// states are `step`'s, and whose rules that need no state are `stateless`'s.
    pub(super) fn build(
        mut states: Vec<StateInfo>,
        step: impl Fn(Option<State>, Direction, Input) -> Outcome,
        stateless: impl Fn(Input) -> RuleSet,
    ) -> Machine {
        states.truncate(State::LIMIT);
        let known: Vec<State> = (0..states.len()).filter_map(State::new).collect();
        let empty = Entry { next: Next::Keep, alerts: 0 };
        let mut machine = Machine {
            states,
            entries: vec![empty; ROWS * DIRECTIONS * Input::COUNT],
            alert_sets: vec![RuleSet::EMPTY],
            resumption: None,
        };
        for direction in [Direction::Forward, Direction::Backward] {
            for input in Input::all() {
                let mut agreed = Agreement::Open;
                for &state in &known {
                    let outcome = plain(step(Some(state), direction, input), state);
                    agreed = agreed.and(state, outcome.next);
                    machine.set(Lookup::Known(state), direction, input, outcome);
                }
                machine.set(Lookup::Absent, direction, input, step(None, direction, input));
                let unknown = Outcome { next: agreed.next(), alerts: stateless(input) };
                machine.set(Lookup::DontKnow, direction, input, unknown);
            }
        }
        machine
    }

    fn set(&mut self, lookup: Lookup, direction: Direction, input: Input, outcome: Outcome) {
        let known = self.alert_sets.iter().position(|&set| set == outcome.alerts);
        let alerts = known.unwrap_or_else(|| {
            self.alert_sets.push(outcome.alerts);
            self.alert_sets.len() - 1
        });
        // a table of 18,432 entries has no more sets than that
        let entry = Entry { next: outcome.next, alerts: alerts as u16 };
        if let Some(slot) = self.entries.get_mut(index(lookup, direction, input)) {
            *slot = entry;
        }
    }
}

/// A transition to the same state keeps it: the store has nothing to write.
fn plain(outcome: Outcome, state: State) -> Outcome {
    match outcome.next {
        Next::Go(same) if same == state => Outcome { next: Next::Keep, ..outcome },
        _ => outcome,
    }
}

/// The transition that all states have in common, if there is one.
enum Agreement {
    Open,
    On(Next),
    Broken,
}

impl Agreement {
    fn and(self, from: State, next: Next) -> Agreement {
        let result = if next == Next::Keep { Next::Go(from) } else { next };
        match self {
            Agreement::Open => Agreement::On(result),
            Agreement::On(agreed) if agreed == result => Agreement::On(agreed),
            _ => Agreement::Broken,
        }
    }

    fn next(self) -> Next {
        match self {
            Agreement::On(next) => next,
            Agreement::Open | Agreement::Broken => Next::Keep,
        }
    }
}

#[inline]
fn index(lookup: Lookup, direction: Direction, input: Input) -> usize {
    let row = match lookup {
        Lookup::Known(state) => state.index(),
        Lookup::Absent => State::LIMIT,
        Lookup::DontKnow => State::LIMIT + 1,
    };
    (row * DIRECTIONS + direction as usize) * Input::COUNT + usize::from(input.bits())
}

/// Which flags no honest stack sends, whatever the state of their flow, and the rule that says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OddFlags(Box<[Option<RuleId>; 256]>);

impl OddFlags {
    /// Those that fire one of these rules.
    pub fn new(machine: &Machine, rules: RuleSet) -> OddFlags {
        let rule = |flags: usize| {
            let step = |data| {
                machine.step(Lookup::DontKnow, Direction::Forward, TcpFlags(flags as u8), data)
            };
            step(false).alerts.intersection(rules).iter().next()
        };
        OddFlags(Box::new(std::array::from_fn(rule)))
    }

    /// The rule about these flags.
    #[inline]
    pub fn rule(&self, flags: TcpFlags) -> Option<RuleId> {
        self.0[usize::from(flags.0)]
    }
}

/// None.
impl Default for OddFlags {
    fn default() -> OddFlags {
        OddFlags(Box::new([None; 256]))
    }
}

/// A rule's index in its [`RuleList`](super::RuleList).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub u8);

/// A set of rules: one bit for each [`RuleId`] below [`RuleSet::LIMIT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RuleSet(u64);

impl RuleSet {
    /// No rule.
    pub const EMPTY: RuleSet = RuleSet(0);
    /// The largest number of rules.
    pub const LIMIT: usize = 64;

    /// The set of this rule alone; empty for an id at or above [`RuleSet::LIMIT`].
    pub const fn of(rule: RuleId) -> RuleSet {
        if (rule.0 as usize) < Self::LIMIT { RuleSet(1 << rule.0) } else { Self::EMPTY }
    }

    /// Whether no rule is in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many rules are in it.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether `rule` is in it.
    pub const fn contains(self, rule: RuleId) -> bool {
        self.0 & Self::of(rule).0 != 0
    }

    /// The rules in either.
    pub const fn union(self, other: RuleSet) -> RuleSet {
        RuleSet(self.0 | other.0)
    }

    /// The rules in both.
    pub const fn intersection(self, other: RuleSet) -> RuleSet {
        RuleSet(self.0 & other.0)
    }

    /// The rules in this one and not in `other`.
    pub const fn without(self, other: RuleSet) -> RuleSet {
        RuleSet(self.0 & !other.0)
    }

    /// Its rules, lowest id first.
    pub fn iter(self) -> impl Iterator<Item = RuleId> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let lowest = left.trailing_zeros() as u8;
            left &= left.wrapping_sub(1);
            (lowest < 64).then_some(RuleId(lowest))
        })
    }
}

impl FromIterator<RuleId> for RuleSet {
    fn from_iter<I: IntoIterator<Item = RuleId>>(rules: I) -> RuleSet {
        rules.into_iter().map(RuleSet::of).fold(RuleSet::EMPTY, RuleSet::union)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_contains_its_rules_and_no_others() {
        let rules = [RuleId(0), RuleId(7), RuleId(63)];
        let set: RuleSet = rules.into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), rules);
        assert_eq!(set.len(), 3);
        assert!(set.contains(RuleId(63)) && !set.contains(RuleId(1)));
        assert_eq!(set.without(RuleSet::of(RuleId(7))).len(), 2);
        assert_eq!(set.intersection(RuleSet::of(RuleId(7))), RuleSet::of(RuleId(7)));
    }

    #[test]
    fn an_id_beyond_the_limit_is_in_no_set() {
        assert!(RuleSet::of(RuleId(64)).is_empty());
        assert!(!RuleSet(u64::MAX).contains(RuleId(200)));
        assert_eq!(RuleSet(u64::MAX).iter().count(), 64);
    }
}
