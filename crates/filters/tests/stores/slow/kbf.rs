//! The kBF: encodings and decoding by trying everything.

use std::collections::HashMap;

use super::{Counts, Grid, Shape, Slow};
use crate::support::Flow;
use acsm_filters::digest::mix;
use acsm_filters::{KbfDecode, Lookup, State};

pub struct SlowKbf {
    grid: Grid<Cell>,
    codes: Vec<u32>,
    /// By count and sum: the states that are in some choice of `count` codes with that sum.
    in_sums: HashMap<(u32, u32), Vec<usize>>,
    decode: KbfDecode,
}

/// Tries every choice of one, two and three codes.
fn in_sums(codes: &[u32]) -> HashMap<(u32, u32), Vec<usize>> {
    let mut found: HashMap<(u32, u32), Vec<usize>> = HashMap::new();
    let mut note = |choice: &[usize]| {
        let sum = choice.iter().fold(0, |sum, &i| sum ^ codes[i]);
        let states = found.entry((choice.len() as u32, sum)).or_default();
        states.extend(choice);
        states.sort_unstable();
        states.dedup();
    };
    for a in 0..codes.len() {
        note(&[a]);
        for b in 0..=a {
            note(&[a, b]);
            (0..=b).for_each(|c| note(&[a, b, c]));
        }
    }
    found
}

#[derive(Clone, Copy)]
struct Cell {
    count: u32,
    sum: u32,
}

/// The first codes of which any `order` have a sum of their own.
fn codes(order: u32, states: usize) -> Vec<u32> {
    let mut codes = vec![];
    for candidate in 1u32.. {
        codes.push(candidate);
        let choices = (1u32..1 << codes.len()).filter(|choice| choice.count_ones() <= order);
        let sum = |choice: u32| {
            (0..codes.len()).filter(|i| choice >> i & 1 == 1).fold(0, |sum, i| sum ^ codes[i])
        };
        let mut sums: Vec<u32> = choices.map(sum).collect();
        let count = sums.len();
        sums.sort_unstable();
        sums.dedup();
        if sums.len() < count || sums[0] == 0 {
            codes.pop();
        }
        if codes.len() == states {
            break;
        }
    }
    codes
}

impl SlowKbf {
    pub fn new(shape: Shape, states: usize, decode: KbfDecode) -> SlowKbf {
        let codes = codes(2, states);
        let (in_sums, grid) = (in_sums(&codes), Grid::new(shape));
        SlowKbf { grid, in_sums, codes, decode }
    }

    /// For joint decoding: codes that tell three flows, if they fit.
    pub fn joint(shape: Shape, states: usize, decode: KbfDecode, cell_bits: u32) -> SlowKbf {
        let wide = codes(3, states);
        let fits = wide.iter().all(|code| code >> (cell_bits - 3) == 0);
        let codes = if fits { wide } else { codes(2, states) };
        let (in_sums, grid) = (in_sums(&codes), Grid::new(shape));
        SlowKbf { grid, in_sums, codes, decode }
    }

    /// The salts of the flow, one for each of its cells.
    fn salts(&self, flow: &Flow) -> impl Iterator<Item = usize> + use<> {
        let (digest, range) = (flow.id.position_bits(), self.codes.len());
        let is_salted = self.decode == KbfDecode::Salt;
        (0..).map(move |i: u64| {
            let steps = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(1 + i / 16);
            let word = mix((digest ^ 0x6a09_e667_f3bc_c908).wrapping_add(steps));
            if is_salted { ((word >> (4 * (i % 16))) as usize & 15) * range / 16 } else { 0 }
        })
    }

    fn code(&self, state: State, salt: usize) -> u32 {
        self.codes[(state.index() + salt) % self.codes.len()]
    }

    /// The states that every cell allows.
    fn decode_jointly(&self, cells: &[Cell], salts: impl Iterator<Item = usize>) -> Lookup {
        let salts: Vec<usize> = salts.take(cells.len()).collect();
        let allows =
            |cell: Cell, code: usize| cell.count > 3 || self.candidates(cell).contains(&code);
        let is_possible = |state: &usize| {
            cells
                .iter()
                .zip(&salts)
                .all(|(&cell, salt)| allows(cell, (state + salt) % self.codes.len()))
        };
        match (0..self.codes.len()).filter(is_possible).collect::<Vec<_>>()[..] {
            [] => Lookup::Absent,
            [state] => Lookup::Known(State::new(state).unwrap()),
            _ => Lookup::DontKnow,
        }
    }

    /// All states that are in some choice of as many codes as the cell counts, with the cell's sum.
    fn candidates(&self, cell: Cell) -> Vec<usize> {
        self.in_sums.get(&(cell.count, cell.sum)).cloned().unwrap_or_default()
    }

    fn one(&self, candidates: &[Vec<usize>]) -> Lookup {
        let common: Vec<usize> = (0..self.codes.len())
            .filter(|i| candidates.iter().all(|set| set.contains(i)))
            .collect();
        match common[..] {
            [only] if !candidates.is_empty() => Lookup::Known(State::new(only).unwrap()),
            _ => Lookup::DontKnow,
        }
    }

    fn decode(&self, cells: &[Cell], salts: impl Iterator<Item = usize>) -> Lookup {
        if matches!(self.decode, KbfDecode::Joint | KbfDecode::Salt) {
            return self.decode_jointly(cells, salts);
        }
        if let Some(own) = cells.iter().find(|cell| cell.count == 1) {
            return self.one(&[self.candidates(*own)]);
        }
        let of = |count: u32| -> Vec<Cell> {
            cells.iter().copied().filter(|cell| cell.count == count && cell.sum != 0).collect()
        };
        let sets = |cells: &[Cell]| cells.iter().map(|&cell| self.candidates(cell)).collect();
        let (twos, threes): (Vec<Vec<usize>>, Vec<Vec<usize>>) = (sets(&of(2)), sets(&of(3)));
        match self.decode {
            // Queues are sets: equal sums are one.
            KbfDecode::Literal => {
                let different = of(2).into_iter().find(|cell| cell.sum != of(2)[0].sum);
                match (&twos[..], different, &threes[..]) {
                    ([], ..) => Lookup::DontKnow,
                    ([two, ..], Some(other), _) => self.one(&[two.clone(), self.candidates(other)]),
                    (_, None, []) => Lookup::DontKnow,
                    ([two, ..], None, [three, ..]) => self.decode23(of(2)[0], two, of(3)[0], three),
                }
            }
            KbfDecode::AllPairs if twos.is_empty() => Lookup::DontKnow,
            // Sums of two that differ, or contradict each other: the twos decide.
            KbfDecode::AllPairs if twos.iter().any(|set| *set != twos[0]) => self.one(&twos),
            KbfDecode::AllPairs if twos[0].is_empty() => Lookup::DontKnow,
            KbfDecode::AllPairs => {
                let all_threes: Vec<Cell> =
                    cells.iter().copied().filter(|cell| cell.count == 3).collect();
                self.one(&[twos, sets(&all_threes)].concat())
            }
            _ => {
                let shared = cells.iter().filter(|cell| cell.count <= 3);
                self.one(&shared.map(|&cell| self.candidates(cell)).collect::<Vec<_>>())
            }
        }
    }

    /// Algorithm 7 as printed.
    fn decode23(&self, v1: Cell, two: &[usize], v3: Cell, _three: &[usize]) -> Lookup {
        let is_code = |value: u32| self.codes.contains(&value);
        let is_sum_of_two = |value: u32| {
            self.codes.iter().any(|a| self.codes.iter().any(|b| a != b && a ^ b == value))
        };
        let [i, j] = two[..] else { return Lookup::DontKnow };
        if is_code(v1.sum ^ v3.sum) {
            return Lookup::DontKnow;
        }
        let (v5, v6) = (self.codes[i] ^ v3.sum, self.codes[j] ^ v3.sum);
        match (is_sum_of_two(v5), is_sum_of_two(v6)) {
            (true, false) => Lookup::Known(State::new(i).unwrap()),
            (false, true) => Lookup::Known(State::new(j).unwrap()),
            _ => Lookup::DontKnow,
        }
    }
}

impl Slow for SlowKbf {
    fn advance(&mut self, now: i64) {
        self.grid.advance(now);
    }

    fn lookup(&self, flow: &Flow) -> Lookup {
        let positions = self.grid.positions(flow.id.position_bits());
        let cells: Option<Vec<Cell>> =
            positions.iter().map(|&i| self.grid.cells[i].map(|(cell, _)| cell)).collect();
        cells.map_or(Lookup::Absent, |cells| self.decode(&cells, self.salts(flow)))
    }

    fn touch(&mut self, flow: &Flow, _found: Lookup, at: i64) {
        let positions = self.grid.positions(flow.id.position_bits());
        self.grid.touch(&positions, at);
    }

    fn insert(&mut self, flow: &Flow, state: State, at: i64) {
        let positions = self.grid.positions(flow.id.position_bits());
        self.grid.counts.inserts_of_present += u64::from(self.grid.all_used(&positions));
        for (i, salt) in positions.into_iter().zip(self.salts(flow)) {
            let code = self.code(state, salt);
            let slot = &mut self.grid.cells[i];
            let (mut cell, touched) = slot.unwrap_or((Cell { count: 0, sum: 0 }, at));
            self.grid.counts.saturations += u64::from(cell.count == 6);
            cell.count = (cell.count + 1).min(7);
            cell.sum ^= code;
            *slot = Some((cell, touched.max(at)));
        }
    }

    fn modify(&mut self, flow: &Flow, old: Lookup, new: State, at: i64) {
        let positions = self.grid.positions(flow.id.position_bits());
        if let Lookup::Known(old) = old {
            self.grid.counts.writes_to_absent += u64::from(!self.grid.all_used(&positions));
            for (&i, salt) in positions.iter().zip(self.salts(flow)) {
                let change = self.code(old, salt) ^ self.code(new, salt);
                if let Some((cell, _)) = &mut self.grid.cells[i] {
                    cell.sum ^= change;
                }
            }
        }
        self.grid.touch(&positions, at);
    }

    fn delete(&mut self, flow: &Flow, old: Lookup) {
        let Lookup::Known(old) = old else { return };
        let positions = self.grid.positions(flow.id.position_bits());
        self.grid.counts.writes_to_absent += u64::from(!self.grid.all_used(&positions));
        for (i, salt) in positions.into_iter().zip(self.salts(flow)) {
            let code = self.code(old, salt);
            match &mut self.grid.cells[i] {
                Some((Cell { count: 7, .. }, _)) | None => {}
                Some((Cell { count: 1, .. }, _)) => self.grid.cells[i] = None,
                Some((cell, _)) => {
                    cell.count -= 1;
                    cell.sum ^= code;
                }
            }
        }
    }

    fn counts(&self) -> Counts {
        self.grid.counts()
    }
}
