//! `sbf`: the stateful Bloom filter of ACSM 2006 §3.3, a state and a count in each cell.

use crate::cell_filter::CellFilter;
use crate::cell_rule::CellRule;
use crate::line::OwnedLines;
use crate::spec::{Expire, SbfRules, StoreSpec};
use crate::state::{Lookup, State};

/// A stateful Bloom filter.
///
/// 164 bits per flow for a false-positive rate of 0.01, in two halves; 102 with stamps. While no
/// count saturates, no flow is inserted twice and none is removed that was not inserted:
///
/// * a flow that was inserted is never answered `Absent`, and `Known` is its state;
/// * an absent flow is answered `Absent` except with probability (1−e^{−kn/m})^k;
/// * flows of one state share cells without loss; flows of two states turn a cell into "don't
///   know", and a flow is answered `DontKnow` when all its k cells are so.
///
/// ```
/// use acsm_filters::{
///     Backend, Epoch, FlowId, HALVES, HashKey, Lookup, Sbf, SbfRule, SbfRules, State, Store,
///     StoreSpec,
/// };
///
/// // One of 16 shards: 1,000 flows, at the default false-positive rate of 0.01.
/// let spec = StoreSpec { flows: 16_000, ..StoreSpec::new(Backend::Sbf, 6) };
/// let mut shard = Sbf::<8, HALVES>::new(SbfRule::new(SbfRules::Stateful), &spec.sizing()?)?;
/// let key = HashKey::from_seed(1);
/// let id = |flow: u64| FlowId(key.digest([flow]));
/// let (now, open) = (Epoch(0), State::new(2).unwrap());
///
/// for flow in 0..1000 {
///     let place = shard.locate(id(flow), ());
///     shard.insert(&place, open, now.stamp());
///     assert_eq!(shard.lookup(&place, now).answer, Lookup::Known(open));
/// }
/// let false_positives = (1000..11_000).filter(|&absent| {
///     let place = shard.locate(id(absent), ());
///     shard.lookup(&place, now).answer != Lookup::Absent
/// });
/// assert!(false_positives.count() < 150);
/// # Ok::<(), acsm_filters::StoreError>(())
/// ```
///
/// # Rules
///
/// The published fragment of the paper ends before its rules. These are ours:
///
/// | | empty | same value | other value | don't know |
/// |---|---|---|---|---|
/// | insert | write, count 1 | count + 1 | count + 1, don't know | count + 1 |
/// | modify | — | stays | write if count 1, else don't know | stays |
/// | delete | — | count − 1, empty at 0 | the same | the same |
///
/// Lookup: an empty cell: Absent; all don't know: DontKnow; one distinct value: Known; several:
/// Absent. A count at its maximum stays there until the cell ages.
///
/// # Flows that come and go
///
/// By these rules a cell that two long-lived flows share does not recover from a short one that was in another
/// state for a moment. With two halves ([`SbfRule::lasting`]) a cell has one more kind of value, "one
/// flow is apart from this state", which reads as "don't know":
///
/// | | all in state s | one apart from s | don't know |
/// |---|---|---|---|
/// | insert t ≠ s | one apart from s | don't know | stays |
/// | modify to t ≠ s | one apart from s | stays if it was the one apart, else don't know | stays |
/// | modify to s | stays | all in s if it was the one apart, else stays | stays |
/// | delete | stays | all in s if it was the one apart; don't know if that one is left alone | stays |
///
/// A flow that is alone on a cell writes its new state there, whatever the cell was; and when it is
/// touched while its state is known by another cell, it repairs those on which it is alone.
///
/// # Without counters
///
/// The kBF papers' introduction describes cells that hold the value itself, without a count
/// ([`SbfRules::NoCounters`]). Such a cell cannot tell "mine alone" from "shared":
///
/// | | empty | same value | other value | don't know |
/// |---|---|---|---|---|
/// | insert | write | stays | don't know | stays |
/// | modify | — | stays | don't know | stays |
/// | delete | — | stays | stays | stays |
///
/// So a flow that changes its state is answered `DontKnow` from then on, whatever the number of cells, and
/// cells are emptied by the timer alone. The bits of the count are there and not used: at equal cells the
/// memory is that of the other rules.
pub type Sbf<const BITS: u32, const AGING: u8, L = OwnedLines> =
    CellFilter<SbfRule<BITS>, BITS, AGING, L>;

/// The rule of [`Sbf`]: a 5-bit value, and the rest of the cell for the count.
#[derive(Debug, Clone, Copy)]
pub struct SbfRule<const BITS: u32> {
    /// Whether flows of one state share a cell without loss.
    merges_equal: bool,
    /// Whether a cell remembers what all of its flows but one have in common.
    keeps_rest: bool,
    /// Whether a cell counts its flows.
    counts: bool,
}

const VALUE_BITS: u32 = 5;
const VALUE_MASK: u32 = (1 << VALUE_BITS) - 1;
const DONT_KNOW: u32 = State::LIMIT as u32;
/// One flow is in another state than the rest: this plus their state, where that fits.
const ONE_APART: u32 = DONT_KNOW + 1;

impl<const BITS: u32> SbfRule<BITS> {
    const COUNT_MAX: u32 = u32::MAX >> (32 - (BITS - VALUE_BITS));

    /// The rule, or one of the two readings of what the kBF papers compare with.
    pub const fn new(rules: SbfRules) -> Self {
        SbfRule {
            merges_equal: !matches!(rules, SbfRules::PaperKbf),
            keeps_rest: false,
            counts: !matches!(rules, SbfRules::NoCounters),
        }
    }

    /// The rule of a store of this kind.
    pub const fn for_spec(spec: &StoreSpec) -> Self {
        match spec.expire {
            Expire::Timer => Self::lasting(spec.sbf),
            _ => Self::new(spec.sbf),
        }
    }

    /// The rule for flows that come and go: a cell keeps what all of its flows but one have in
    /// common, and a flow repairs the cells that are its own.
    pub const fn lasting(rules: SbfRules) -> Self {
        let rule = Self::new(rules);
        SbfRule { keeps_rest: rule.merges_equal && rule.counts, ..rule }
    }

    const fn cell(count: u32, value: u32) -> u32 {
        count << VALUE_BITS | value
    }

    /// The value of a cell with several flows in the state `value` when one of them has the value
    /// `new`.
    const fn shared(&self, value: u32, new: u32) -> u32 {
        match self.merges_equal && value == new {
            true => value,
            false if self.keeps_rest && value <= VALUE_MASK - ONE_APART => ONE_APART + value,
            false => DONT_KNOW,
        }
    }

    /// The value of a cell with one flow apart from `rest` after a flow changed its state.
    const fn apart(rest: u32, old: Option<State>, new: u32) -> u32 {
        match old {
            Some(old) if old.index() as u32 != rest && new == rest => rest,
            Some(old) if old.index() as u32 != rest || new == rest => ONE_APART + rest,
            _ => DONT_KNOW,
        }
    }
}

const fn parts(cell: u32) -> (u32, u32) {
    (cell >> VALUE_BITS, cell & VALUE_MASK)
}

impl<const BITS: u32> CellRule for SbfRule<BITS> {
    type Salt = ();

    const WRITES_WITHOUT_OLD_STATE: bool = true;
    const REPAIRS: bool = true;

    #[inline]
    fn salts(&self, _digest: u64) -> impl Iterator<Item = ()> {
        std::iter::repeat(())
    }

    #[inline]
    fn insert(&self, cell: u32, _salt: (), state: State) -> u32 {
        let new = state.index() as u32;
        let (count, value) = parts(cell);
        let value = match (count, value) {
            (0, _) => new,
            (_, DONT_KNOW) => DONT_KNOW,
            (_, ONE_APART..) if value - ONE_APART == new => value,
            (_, ONE_APART..) => DONT_KNOW,
            _ => self.shared(value, new),
        };
        let count_max = if self.counts { Self::COUNT_MAX } else { 1 };
        Self::cell(count_max.min(count + 1), value)
    }

    #[inline]
    fn modify(&self, cell: u32, _salt: (), old: Option<State>, new: State) -> u32 {
        let new = new.index() as u32;
        match parts(cell) {
            (1, _) if self.keeps_rest => Self::cell(1, new),
            (_, DONT_KNOW) => cell,
            (1, _) if self.counts => Self::cell(1, new),
            (count, value @ ONE_APART..) => {
                Self::cell(count, Self::apart(value - ONE_APART, old, new))
            }
            (count, value) => Self::cell(count, self.shared(value, new)),
        }
    }

    #[inline]
    fn delete(&self, cell: u32, _salt: (), old: Option<State>) -> u32 {
        match parts(cell) {
            _ if !self.counts => cell,
            (0..=1, _) => 0,
            (count, _) if count == Self::COUNT_MAX => cell,
            (count, value @ ONE_APART..) => {
                let rest = value - ONE_APART;
                let value = match old {
                    Some(old) if old.index() as u32 != rest => rest,
                    Some(_) if count > 2 => value,
                    _ => DONT_KNOW,
                };
                Self::cell(count - 1, value)
            }
            (count, value) => Self::cell(count - 1, value),
        }
    }

    #[inline]
    fn read(&self, cells: &[u32], _salts: impl Iterator<Item = ()>) -> Lookup {
        let mut seen = 0u32;
        for &cell in cells {
            seen |= 1 << parts(cell).1;
        }
        let values = seen & ((1 << DONT_KNOW) - 1);
        match (values.count_ones(), State::new(values.trailing_zeros() as usize)) {
            (0, _) => Lookup::DontKnow,
            (1, Some(state)) => Lookup::Known(state),
            _ => Lookup::Absent,
        }
    }

    #[inline]
    fn is_saturated(&self, cell: u32) -> bool {
        parts(cell).0 == Self::COUNT_MAX
    }

    /// The only flow on the cell is the one whose state is known by its other cells.
    #[inline]
    fn repaired(&self, cell: u32, state: State) -> u32 {
        match parts(cell) {
            (1, DONT_KNOW) if self.keeps_rest => Self::cell(1, state.index() as u32),
            _ => cell,
        }
    }
}
