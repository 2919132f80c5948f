//! What the flows of a kBF do to a cell: Algorithms 2, 4 and 5.

use super::decode::Decoder;
use super::encodings::Encodings;
use crate::filter::{CellFilter, CellRule};
use crate::spec::KbfDecode;
use crate::state::{Lookup, State};

/// A key-value Bloom filter. While no count saturates, no flow is inserted twice and none removed
/// or modified that is not there:
///
/// * a flow that is there is never answered `Absent`, and `Known` tells its state;
/// * a flow that is not there is answered `Absent` but for a chance of (1−e^{−kn/m})^k;
/// * `DontKnow` when none of the flow's cells is its own and what they have in common is not one
///   state: then it can be neither modified nor deleted, as both need the old state.
///
/// A cell that was emptied keeps nothing. A count of seven stays, whatever leaves, until the cell
/// ages.
///
/// ```
/// use acsm_filters::{
///     Backend, Epoch, FlowId, HashKey, Kbf, KbfDecode, KbfRule, Lookup, State, Store, StoreSpec,
/// };
///
/// // One of 16 shards: 1,000 flows, at the default false-positive rate of 0.01.
/// let spec = StoreSpec { flows: 16_000, ..StoreSpec::new(Backend::Kbf, 6) };
/// let mut shard = Kbf::<8, true>::new(KbfRule::new(6, KbfDecode::AllPairs), &spec.sizing()?)?;
/// let key = HashKey::from_seed(1);
/// let id = |flow: u64| FlowId(key.digest([flow]));
/// let state = |flow: u64| State::new(flow as usize % 6).unwrap();
/// let now = Epoch(0);
///
/// for flow in 0..1000 {
///     shard.insert(&shard.locate(id(flow), ()), state(flow), now.stamp());
/// }
/// let mut answer = |flow: u64| shard.lookup(&shard.locate(id(flow), ()), now).answer;
/// let known = (0..1000).filter(|&flow| answer(flow) == Lookup::Known(state(flow))).count();
/// assert!(known > 980);
/// let false_positives = (1000..11_000).filter(|&absent| answer(absent) != Lookup::Absent).count();
/// assert!(false_positives < 150);
/// # Ok::<(), acsm_filters::StoreError>(())
/// ```
pub type Kbf<const BITS: u32, const TIMED: bool> = CellFilter<KbfRule, BITS, TIMED>;

/// The rule of [`Kbf`].
#[derive(Debug, Clone)]
pub struct KbfRule {
    codes: [u32; State::LIMIT],
    decoder: Decoder,
}

const COUNT_BITS: u32 = 3;
const COUNT_MAX: u32 = (1 << COUNT_BITS) - 1;

/// The count of a cell, and its sum of codes.
#[inline]
pub(super) const fn parts(cell: u32) -> (u32, u32) {
    (cell & COUNT_MAX, cell >> COUNT_BITS)
}

const fn cell(count: u32, sum: u32) -> u32 {
    sum << COUNT_BITS | count
}

impl KbfRule {
    /// The rule for a machine with so many states.
    pub fn new(states: usize, decode: KbfDecode) -> KbfRule {
        let encodings = Encodings::new(states);
        let mut codes = [0; State::LIMIT];
        for (code, found) in codes.iter_mut().zip(encodings.codes()) {
            *code = *found;
        }
        KbfRule { codes, decoder: Decoder::new(&encodings, decode) }
    }

    #[inline]
    fn code(&self, state: State) -> u32 {
        self.codes[state.index() % State::LIMIT] // never beyond: so nothing is checked, cell by cell
    }
}

impl CellRule for KbfRule {
    type Salt = ();

    const WRITES_WITHOUT_OLD_STATE: bool = false;

    #[inline]
    fn salts(_digest: u64) -> impl Iterator<Item = ()> {
        std::iter::repeat(())
    }

    #[inline]
    fn insert(&self, old: u32, _salt: (), state: State) -> u32 {
        let (count, sum) = parts(old);
        cell(COUNT_MAX.min(count + 1), sum ^ self.code(state))
    }

    #[inline]
    fn modify(&self, shared: u32, _salt: (), old: Option<State>, new: State) -> u32 {
        let Some(old) = old else { return shared };
        let (count, sum) = parts(shared);
        cell(count, sum ^ self.code(old) ^ self.code(new))
    }

    #[inline]
    fn delete(&self, shared: u32, _salt: (), old: Option<State>) -> u32 {
        match (parts(shared), old) {
            ((1, _), Some(_)) => 0,
            ((count, sum), Some(old)) if count < COUNT_MAX => cell(count - 1, sum ^ self.code(old)),
            _ => shared,
        }
    }

    #[inline]
    fn read(&self, cells: &[u32], _salts: impl Iterator<Item = ()>) -> Lookup {
        self.decoder.state(cells)
    }

    #[inline]
    fn is_saturated(&self, cell: u32) -> bool {
        parts(cell).0 == COUNT_MAX
    }
}
