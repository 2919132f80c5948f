//! `kbf`: the key-value Bloom filter of Xiong et al. (INFOCOM 2014, and its journal version).
//!
//! A cell holds a 3-bit count and the XOR of the encodings of its flows' states. Encodings are
//! chosen so that the XOR of any two tells which two they are ([`Encodings`]); what the cells of a
//! flow have in common is its state.

use std::sync::Arc;

use crate::cell_filter::CellFilter;
use crate::cell_rule::CellRule;
use crate::codes::Encodings;
use crate::line::OwnedLines;
use crate::salts::Salts;
use crate::spec::{KbfDecode, StoreSpec, kbf_cell_bits};
use crate::state::{Lookup, State};

/// A key-value Bloom filter.
///
/// 164 bits per flow for a false-positive rate of 0.01 with six states, in two halves; 102 with
/// stamps. While no count saturates, no flow is inserted twice and none is removed or modified that was not inserted:
///
/// * a flow that was inserted is never answered `Absent`, and `Known` is its state;
/// * an absent flow is answered `Absent` except with probability (1−e^{−kn/m})^k;
/// * `DontKnow` when no cell is the flow's alone and what its cells have in common is not one
///   state: then it can be neither modified nor deleted, as both need the old state.
///
/// ```
/// use acsm_filters::{
///     Backend, Epoch, FlowId, HALVES, HashKey, Kbf, KbfDecode, KbfRule, Lookup, State, Store,
///     StoreSpec,
/// };
///
/// // One of 16 shards: 1,000 flows, at the default false-positive rate of 0.01.
/// let spec = StoreSpec { flows: 16_000, ..StoreSpec::new(Backend::Kbf, 6) };
/// let mut shard = Kbf::<8, HALVES>::new(KbfRule::new(6, KbfDecode::AllPairs), &spec.sizing()?)?;
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
///
/// # Rules
///
/// | operation | each cell of the flow |
/// |---|---|
/// | insert | count + 1, XOR the code of the state |
/// | modify | XOR the codes of the old and the new state |
/// | delete | count − 1, XOR the code of the state; empty at 0 |
///
/// A count of seven stays until the cell ages. Lookup: an empty cell: Absent; a cell with count 1
/// has the state; else the [decoding](KbfDecode).
///
/// # Joint decoding and salts
///
/// By these rules a filter wears out where many flows pass through it. A flow that is taken for another one
/// is deleted in the end, with codes that are not its own; and one whose state is unknown cannot be
/// deleted. [`KbfDecode::Joint`] makes the first rare in the same cells: the state of a flow is what
/// *all* its cells allow, one code of a cell with one flow, two and three codes of cells with two and
/// three flows, any of more. None: Absent; several: DontKnow. [`KbfDecode::Salt`], the rule of two
/// halves, makes both rare: a flow also rotates the codes by a salt that differs from cell to cell, so
/// that flows in the same state no longer cancel each other. For both, where cells are wide enough,
/// codes are such that the XOR of any three tells which three.
pub type Kbf<const BITS: u32, const AGING: u8, L = OwnedLines> =
    CellFilter<KbfRule, BITS, AGING, L>;

/// The rule of [`Kbf`].
#[derive(Debug, Clone)]
pub struct KbfRule {
    /// The codes of the states, and once more from the first on: a salt moves a state up.
    codes: [u32; 2 * State::LIMIT],
    decode: KbfDecode,
    /// Salts are below it: 0 or 1 if there are none.
    salts: u32,
    /// The states that can be in the store, in joint decoding.
    stored: Mask,
    /// One for all shards.
    decoder: Arc<Decoder>,
}

const COUNT_BITS: u32 = 3;
const COUNT_MAX: u32 = (1 << COUNT_BITS) - 1;

/// The count of a cell, and its sum of codes.
#[inline]
const fn parts(cell: u32) -> (u32, u32) {
    (cell & COUNT_MAX, cell >> COUNT_BITS)
}

const fn cell(count: u32, sum: u32) -> u32 {
    sum << COUNT_BITS | count
}

impl KbfRule {
    /// The rule for a machine with this many states, with the codes of the papers.
    pub fn new(states: usize, decode: KbfDecode) -> KbfRule {
        Self::of(&Encodings::new(states), decode)
    }

    fn of(encodings: &Encodings, decode: KbfDecode) -> KbfRule {
        let mut codes = [0; 2 * State::LIMIT];
        for (code, found) in codes.iter_mut().zip(encodings.codes().iter().cycle()) {
            *code = *found;
        }
        let decoder = Arc::new(Decoder::new(encodings));
        let salts = if decode == KbfDecode::Salt { encodings.codes().len() as u32 } else { 0 };
        KbfRule { codes, decode, salts, stored: decoder.all_states, decoder }
    }

    /// The rule of a store of this kind with cells of this width.
    pub fn for_spec(spec: &StoreSpec, cell_bits: u32) -> KbfRule {
        let decode = spec.kbf_decode();
        if !decode.is_joint() {
            return KbfRule::new(spec.states, decode);
        }
        // As many codes as fit the cell. The number of salts is the number of codes.
        let fit = |states: &usize| kbf_cell_bits(*states) <= cell_bits;
        let codes = (spec.stored_states()..=spec.states).take_while(fit).last();
        let codes = codes.unwrap_or(spec.states);
        let encodings = Encodings::within(cell_bits.saturating_sub(COUNT_BITS), codes);
        Self::of(&encodings, decode).for_states(spec.stored_states())
    }

    /// The same, if only this many of the states are ever stored: the others are not decoded.
    fn for_states(self, stored: usize) -> KbfRule {
        let all = self.decoder.all_states;
        KbfRule { stored: all & ((1u32 << stored) - 1) as Mask, ..self }
    }

    #[inline]
    fn code(&self, state: State, salt: u32) -> u32 {
        // Never wraps; it avoids a check per cell.
        self.codes[(state.index() + salt as usize) % (2 * State::LIMIT)]
    }

    /// The states that every cell can contain, with the salts that the flow has there.
    #[inline]
    fn read_jointly(&self, cells: &[u32], salts: impl Iterator<Item = u32>) -> Lookup {
        let stored = u32::from(self.stored);
        let possible = cells.iter().zip(salts).fold(stored, |states, (&cell, salt)| {
            let codes = u32::from(self.decoder.candidates(cell));
            states & (codes >> salt | codes << (self.salts - salt))
        });
        match State::new(possible.trailing_zeros() as usize) {
            None => Lookup::Absent,
            Some(state) if possible.is_power_of_two() => Lookup::Known(state),
            Some(_) => Lookup::DontKnow,
        }
    }
}

impl CellRule for KbfRule {
    /// By how much a flow rotates the codes at one of its cells: 0 without salts.
    type Salt = u32;

    const WRITES_WITHOUT_OLD_STATE: bool = false;

    #[inline]
    fn salts(&self, digest: u64) -> impl Iterator<Item = u32> {
        Salts::new(digest).map(|salt| (salt * self.salts) >> Salts::BITS)
    }

    #[inline]
    fn insert(&self, old: u32, salt: u32, state: State) -> u32 {
        let (count, sum) = parts(old);
        cell(COUNT_MAX.min(count + 1), sum ^ self.code(state, salt))
    }

    #[inline]
    fn modify(&self, shared: u32, salt: u32, old: Option<State>, new: State) -> u32 {
        let Some(old) = old else { return shared };
        let (count, sum) = parts(shared);
        cell(count, sum ^ self.code(old, salt) ^ self.code(new, salt))
    }

    #[inline]
    fn delete(&self, shared: u32, salt: u32, old: Option<State>) -> u32 {
        match (parts(shared), old) {
            ((0..=1, _), Some(_)) => 0,
            ((count, sum), Some(old)) if count < COUNT_MAX => {
                cell(count - 1, sum ^ self.code(old, salt))
            }
            _ => shared,
        }
    }

    #[inline]
    fn read(&self, cells: &[u32], salts: impl Iterator<Item = u32>) -> Lookup {
        match self.decode {
            KbfDecode::Joint | KbfDecode::Salt => self.read_jointly(cells, salts),
            KbfDecode::AllPairs => self.decoder.state(cells, Decoder::all_pairs),
            KbfDecode::Literal => self.decoder.state(cells, Decoder::literal),
            KbfDecode::ThreeWay => self.decoder.state(cells, Decoder::three_way),
        }
    }

    #[inline]
    fn is_saturated(&self, cell: u32) -> bool {
        parts(cell).0 == COUNT_MAX
    }
}

/// A set of states, one bit each.
type Mask = u16;

/// From the cells of a flow to its state. For the XOR of two and of three encodings a table has the
/// states that can be among them, as a mask, so that decoding is one AND per cell.
#[derive(Debug, Clone)]
struct Decoder {
    /// The state of a code.
    alone: Vec<Lookup>,
    all_states: Mask,
    /// The states that can be in the sum of two codes.
    of_two: Vec<Mask>,
    /// The states that can be in the sum of three codes.
    of_three: Vec<Mask>,
}

impl Decoder {
    fn new(encodings: &Encodings) -> Decoder {
        let codes = encodings.codes();
        let size = 1 << encodings.bits();
        let mut tables = Decoder {
            alone: vec![Lookup::DontKnow; size],
            all_states: ((1u32 << codes.len()) - 1) as Mask,
            of_two: vec![0; size],
            of_three: vec![0; size],
        };
        let mark = |table: &mut Vec<Mask>, sum: u32, states: Mask| {
            if let Some(mask) = table.get_mut(sum as usize) {
                *mask |= states;
            }
        };
        for (a, code_a) in codes.iter().enumerate() {
            if let (Some(alone), Some(state)) =
                (tables.alone.get_mut(*code_a as usize), State::new(a))
            {
                *alone = Lookup::Known(state);
            }
            for (b, code_b) in codes.iter().enumerate() {
                mark(&mut tables.of_two, code_a ^ code_b, 1 << a | 1 << b);
                for (c, code_c) in codes.iter().enumerate() {
                    let states = 1 << a | 1 << b | 1 << c;
                    mark(&mut tables.of_three, code_a ^ code_b ^ code_c, states);
                }
            }
        }
        tables
    }

    /// The state by the cells of a flow, none of them empty, as in the papers. The first cell that is
    /// the flow's alone decides. If it holds no code, as after operations on a wrong answer, the state
    /// is unknown.
    #[inline]
    fn state(&self, cells: &[u32], of_shared: fn(&Decoder, &[u32]) -> Lookup) -> Lookup {
        match cells.iter().map(|&cell| parts(cell)).find(|&(count, _)| count == 1) {
            Some((_, code)) => self.alone.get(code as usize).copied().unwrap_or(Lookup::DontKnow),
            None => of_shared(self, cells),
        }
    }

    /// decode22 of all pairs of cells with two flows: what they all have in common. Two different
    /// sums share at most one code, so one such pair is enough. Else decode23 of the one sum with
    /// all cells of three flows.
    #[cold]
    fn all_pairs(&self, cells: &[u32]) -> Lookup {
        let anchored =
            cells.iter().map(|&cell| parts(cell)).any(|(count, sum)| count == 2 && sum != 0);
        let common = self.common_to_two(cells);
        match common.count_ones() {
            _ if !anchored => Lookup::DontKnow,
            0 | 1 => only(common),
            _ => only(common & self.common_to_three(cells)),
        }
    }

    /// Algorithm 6 as printed, after the membership test that it omits (without which no flow would
    /// ever be absent). Its queues are sets: it takes two *different* sums of two flows.
    #[cold]
    fn literal(&self, cells: &[u32]) -> Lookup {
        let sums_of = |wanted: u32| {
            let parts = cells.iter().map(|&cell| parts(cell));
            parts.filter(move |&(count, sum)| count == wanted && sum != 0).map(|(_, sum)| sum)
        };
        let first = sums_of(2).next();
        let other = sums_of(2).find(|&sum| Some(sum) != first);
        match (first, other, sums_of(3).next()) {
            (Some(first), Some(second), _) => {
                only(get(&self.of_two, first) & get(&self.of_two, second))
            }
            // Algorithm 7: its test of V4 catches two encodings in common, V5 and V6 one.
            (Some(two), None, Some(three)) => {
                only(get(&self.of_two, two) & get(&self.of_three, three))
            }
            _ => Lookup::DontKnow,
        }
    }

    /// What all cells with two or three flows have in common.
    #[cold]
    fn three_way(&self, cells: &[u32]) -> Lookup {
        only(self.common_to_two(cells) & self.common_to_three(cells))
    }

    /// The codes that can be in a cell: all if it has too many flows to tell.
    #[inline]
    fn candidates(&self, cell: u32) -> Mask {
        match parts(cell) {
            (1, sum) => match self.alone.get(sum as usize) {
                Some(Lookup::Known(state)) => 1 << state.index(),
                _ => 0,
            },
            (2, sum) => get(&self.of_two, sum),
            (3, sum) => get(&self.of_three, sum),
            _ => self.all_states,
        }
    }

    fn common_to_two(&self, cells: &[u32]) -> Mask {
        common(&self.of_two, 2, cells)
    }

    fn common_to_three(&self, cells: &[u32]) -> Mask {
        common(&self.of_three, 3, cells)
    }
}

/// The states that can be in every cell with this count.
fn common(table: &[Mask], count: u32, cells: &[u32]) -> Mask {
    cells
        .iter()
        .map(|&cell| parts(cell))
        .filter(|&(of, _)| of == count)
        .fold(Mask::MAX, |mask, (_, sum)| mask & get(table, sum))
}

#[inline]
fn get(table: &[Mask], sum: u32) -> Mask {
    table.get(sum as usize).copied().unwrap_or(0)
}

/// The one state in the mask, if it is one.
#[inline]
fn only(mask: Mask) -> Lookup {
    match State::new(mask.trailing_zeros() as usize) {
        Some(state) if mask.is_power_of_two() => Lookup::Known(state),
        _ => Lookup::DontKnow,
    }
}
