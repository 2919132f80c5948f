//! `bhbf`: a B_h-sequence Bloom filter with hashed increments.
//!
//! A cell holds a 4-bit count and the sum of its flows' codes, modulo 4095. The
//! [codes](crate::codes) are such that the sum of any three tells which three they are; the sum of
//! more flows still rules codes out. What a flow adds for a state differs from cell to cell, by a
//! salt that comes from the flow's digest: so the remains of other flows in its cells point to
//! different states, and what all its cells agree on is its own.
//!
//! Sums of a B_h set in the cells of a Bloom filter are from Pei et al., *BhBF: A Bloom Filter Using
//! Bh Sequences for Multi-set Membership Query* (TKDD 2022); increments by hash from Rottenstreich
//! et al., *The Variable-Increment Counting Bloom Filter* (INFOCOM 2012). Here they are combined:
//! the hash selects which code stands for the state.

use std::sync::LazyLock;

use crate::cell_filter::CellFilter;
use crate::cell_rule::CellRule;
use crate::codes::bose_chowla::{code, minus, plus};
use crate::line::OwnedLines;
use crate::salts::Salts;
use crate::spec::BHBF_TABLE_COUNTS;
use crate::state::{Lookup, State};

/// A B_h-sequence Bloom filter with hashed increments.
///
/// At 3.5 cells of 16 bits per flow and k = 7, about one lookup in 8,000 of flows in six states is
/// `DontKnow`, and one in 80,000 of absent flows is not `Absent`; at 2 cells, 1 in 90 and 1 in 300.
/// While no count saturates, no flow is inserted twice and none is removed or modified that was not
/// inserted:
///
/// * a flow that was inserted is never answered `Absent`, and `Known` is its state;
/// * the state follows from all cells together, so a flow needs no unshared cell: the best filter
///   has two flows per cell, k = 2 m/n;
/// * the content of a cell does not depend on the order of operations, and the cells of two filters
///   of different flows can be added: counts, and sums modulo 4095.
///
/// ```
/// use acsm_filters::{
///     Backend, Bhbf, BhbfRule, Budget, Epoch, FlowId, HALVES, HashKey, Lookup, State, Store,
///     StoreSpec,
/// };
///
/// // One of 16 shards: 10,000 flows at 14 bytes per flow, 3.3 cells in each half.
/// let budget = Budget::MemoryBytes(14 * 160_000);
/// let spec = StoreSpec { flows: 160_000, budget, ..StoreSpec::new(Backend::Bhbf, 6) };
/// let mut shard = Bhbf::<HALVES>::new(BhbfRule::new(6), &spec.sizing()?)?;
/// let key = HashKey::from_seed(1);
/// let id = |flow: u64| FlowId(key.digest([flow]));
/// let state = |flow: u64| State::new(flow as usize % 6).unwrap();
/// let now = Epoch(0);
///
/// for flow in 0..10_000 {
///     shard.insert(&shard.locate(id(flow), ()), state(flow), now.stamp());
/// }
/// let mut answer = |flow: u64| shard.lookup(&shard.locate(id(flow), ()), now).answer;
/// let wrong = (0..10_000).filter(|&flow| answer(flow) != Lookup::Known(state(flow))).count();
/// assert!(wrong < 30);
/// let false_positives = (10_000..20_000).filter(|&absent| answer(absent) != Lookup::Absent).count();
/// assert!(false_positives < 10);
/// # Ok::<(), acsm_filters::StoreError>(())
/// ```
///
/// # Rules
///
/// | operation | each cell of the flow |
/// |---|---|
/// | insert | count + 1, add the salted code of the state |
/// | modify | subtract the salted code of the old state, add that of the new one |
/// | delete | count − 1, subtract the salted code; empty at 0 |
///
/// A count of fifteen stays, and the cell then carries no information, until it ages. Lookup: an empty cell,
/// or no state possible in all cells: Absent; one state: Known; several: DontKnow.
pub type Bhbf<const AGING: u8, L = OwnedLines> = CellFilter<BhbfRule, 16, AGING, L>;

/// The rule of [`Bhbf`].
#[derive(Debug, Clone, Copy)]
pub struct BhbfRule {
    masks: &'static [Mask],
    /// The states that the machine has.
    states: Mask,
}

const SUM_BITS: u32 = 12;
const COUNT_MAX: u32 = 15;
/// A cell whose count is at its maximum. Its sum means nothing any more.
const SATURATED: u32 = cell(COUNT_MAX, 0);

/// The count of a cell, and its sum of codes.
#[inline]
const fn parts(cell: u32) -> (u32, u32) {
    (cell >> SUM_BITS, cell & ((1 << SUM_BITS) - 1))
}

#[inline]
const fn cell(count: u32, sum: u32) -> u32 {
    count << SUM_BITS | sum
}

impl BhbfRule {
    /// The rule for a machine with this many states.
    pub fn new(states: usize) -> BhbfRule {
        let all = Mask::MAX.checked_shr((State::LIMIT.saturating_sub(states)) as u32);
        BhbfRule { masks: &MASKS, states: all.unwrap_or(0) }
    }
}

/// What a flow in this state adds to a cell where it has this salt.
#[inline]
const fn increment(state: State, salt: u32) -> u32 {
    code(state.index() as u32 + salt)
}

impl CellRule for BhbfRule {
    /// By how much a flow rotates the codes at one of its cells: below 16.
    type Salt = u32;

    const WRITES_WITHOUT_OLD_STATE: bool = false;

    #[inline]
    fn salts(&self, digest: u64) -> impl Iterator<Item = u32> {
        Salts::new(digest)
    }

    #[inline]
    fn insert(&self, shared: u32, salt: u32, state: State) -> u32 {
        match parts(shared) {
            (14.., _) => SATURATED,
            (count, sum) => cell(count + 1, plus(sum, increment(state, salt))),
        }
    }

    #[inline]
    fn modify(&self, shared: u32, salt: u32, old: Option<State>, new: State) -> u32 {
        match (parts(shared), old) {
            ((COUNT_MAX, _), _) | (_, None) => shared,
            ((count, sum), Some(old)) => {
                cell(count, plus(minus(sum, increment(old, salt)), increment(new, salt)))
            }
        }
    }

    #[inline]
    fn delete(&self, shared: u32, salt: u32, old: Option<State>) -> u32 {
        match (parts(shared), old) {
            ((COUNT_MAX, _), _) | (_, None) => shared,
            ((0..=1, _), Some(_)) => 0,
            ((count, sum), Some(old)) => cell(count - 1, minus(sum, increment(old, salt))),
        }
    }

    /// A state is possible if every cell can contain its code, rotated by the salt of the cell.
    #[inline]
    fn read(&self, cells: &[u32], salts: impl Iterator<Item = u32>) -> Lookup {
        let possible = cells.iter().zip(salts).fold(self.states, |states, (&cell, salt)| {
            states & candidates(self.masks, cell).rotate_right(salt)
        });
        match State::new(possible.trailing_zeros() as usize) {
            None => Lookup::Absent,
            Some(state) if possible.is_power_of_two() => Lookup::Known(state),
            Some(_) => Lookup::DontKnow,
        }
    }

    #[inline]
    fn is_saturated(&self, cell: u32) -> bool {
        parts(cell).0 == COUNT_MAX
    }
}

/// A set of codes, or of states, one bit each.
type Mask = u16;

/// The codes that can be in a cell with at most [`BHBF_TABLE_COUNTS`] flows, by the number that the
/// cell is: one table for all shards.
///
/// A code can be among c if the rest of the sum can be made of c − 1. Up to three flows leave no
/// more candidates than there are flows; four leave 5.3 of 16 on average, five 12.2, six 15.98. So
/// the table ends at five: more rows would reduce errors by half a percent, and push the rows in
/// use out of the nearest cache.
static MASKS: LazyLock<Vec<Mask>> = LazyLock::new(|| {
    let mut masks = vec![0; (BHBF_TABLE_COUNTS as usize + 1) << SUM_BITS];
    for shared in cell(1, 0)..masks.len() as u32 {
        let (count, sum) = parts(shared);
        let is_candidate = |&number: &u32| match (count, minus(sum, code(number))) {
            (1, rest) => rest == 0,
            (_, rest) => masks[cell(count - 1, rest) as usize] != 0,
        };
        let candidates = (0..State::LIMIT as u32).filter(is_candidate);
        masks[shared as usize] = candidates.fold(0, |mask, number| mask | 1 << number);
    }
    masks
});

/// The codes that can be in this cell: none if it is empty or no flows have that sum.
#[inline]
fn candidates(masks: &[Mask], cell: u32) -> Mask {
    masks.get(cell as usize).copied().unwrap_or(Mask::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::bose_chowla::MODULUS;
    use crate::rng::Random;

    fn state(index: usize) -> State {
        State::new(index).unwrap()
    }

    #[test]
    fn a_full_count_stays_and_rules_nothing_out() {
        let rule = BhbfRule::new(6);
        let mut crowded = 0;
        for n in 0..14 {
            crowded = rule.insert(crowded, 3, state(n % 6));
            assert!(!rule.is_saturated(crowded));
        }
        crowded = rule.insert(crowded, 3, state(0));
        assert_eq!(crowded, SATURATED);
        assert!(rule.is_saturated(crowded));
        assert_eq!(rule.insert(crowded, 1, state(5)), crowded);
        assert_eq!(rule.modify(crowded, 1, Some(state(5)), state(4)), crowded);
        assert_eq!(rule.delete(crowded, 1, Some(state(5))), crowded);
        let own = rule.insert(0, 9, state(2));
        let salts = [1, 9, 4].into_iter();
        assert_eq!(rule.read(&[crowded, own, crowded], salts), Lookup::Known(state(2)));
    }

    #[test]
    fn cells_that_agree_on_nothing_prove_absence() {
        let rule = BhbfRule::new(6);
        let [one, other] = [state(1), state(2)].map(|state| rule.insert(0, 0, state));
        assert_eq!(rule.read(&[one, one], [0, 0].into_iter()), Lookup::Known(state(1)));
        assert_eq!(rule.read(&[one, other], [0, 0].into_iter()), Lookup::Absent);
        // The same code, but the machine has no state 15.
        assert_eq!(rule.read(&[one], [2].into_iter()), Lookup::Absent);
        let both = rule.insert(one, 0, state(2));
        assert_eq!(rule.read(&[both, both], [0, 0].into_iter()), Lookup::DontKnow);
        assert_eq!(rule.read(&[both, other], [0, 0].into_iter()), Lookup::Known(state(2)));
    }

    #[test]
    fn every_machine_has_its_states() {
        let masks: Vec<Mask> = (0..=17).map(|states| BhbfRule::new(states).states).collect();
        assert_eq!([masks[0], masks[1], masks[6], masks[16], masks[17]], [0, 1, 63, !0, !0]);
    }

    #[test]
    fn one_two_and_three_flows_are_told_exactly() {
        for (a, b, c) in (0..16).flat_map(|a| (0..16).map(move |b| (a, b, (a * 7 + b) % 16))) {
            let (one, two) = (code(a), plus(code(a), code(b)));
            let three = plus(two, code(c));
            assert_eq!(candidates(&MASKS, cell(1, one)), 1 << a);
            assert_eq!(candidates(&MASKS, cell(2, two)), 1 << a | 1 << b);
            assert_eq!(candidates(&MASKS, cell(3, three)), 1 << a | 1 << b | 1 << c);
        }
        let possible = |count: u32| {
            (0..MODULUS).filter(|&sum| candidates(&MASKS, cell(count, sum)) != 0).count()
        };
        assert_eq!([1, 2, 3].map(possible), [16, 136, 816]);
        assert_eq!(candidates(&MASKS, 0), 0);
    }

    #[test]
    fn what_is_in_a_cell_is_never_ruled_out() {
        let mut random = Random::new(1);
        for _ in 0..2000 {
            let (mut sum, mut inside) = (0, 0);
            for count in 1..=15 {
                let number = random.below(16) as u32;
                (sum, inside) = (plus(sum, code(number)), inside | 1 << number);
                assert_eq!(inside & !candidates(&MASKS, cell(count, sum)), 0, "{count} flows");
            }
        }
    }
}
