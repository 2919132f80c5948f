//! A key-value Bloom filter written from its rules: a list of codes for each cell, and every value
//! tried on every cell.

use std::collections::HashSet;

use acsm_filters::codes::Codes;
use acsm_filters::digest::mix;
use acsm_filters::kv::{Answer, Decoding, KbfParameters};

pub struct SlowKbf {
    parameters: KbfParameters,
    codes: Vec<u64>,
    pair_sums: HashSet<u64>,
    cells: Vec<Vec<u64>>,
}

impl SlowKbf {
    pub fn new(parameters: KbfParameters) -> SlowKbf {
        let values = parameters.values;
        let codes = Codes::new(parameters.family, values as usize).unwrap();
        let codes: Vec<u64> = (0..values).map(|index| codes.code(index)).collect();
        let pairs = (0..codes.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
        let pair_sums = pairs.map(|(i, j)| codes[i] ^ codes[j]).collect();
        SlowKbf { parameters, codes, pair_sums, cells: vec![vec![]; parameters.cells()] }
    }

    /// The cells of a key, and what each adds to the index of a value.
    fn cells_of(&self, digest: u128) -> Vec<(usize, u64)> {
        let (low, high) = (digest as u64, (digest >> 64) as u64);
        let part_cells = u64::from(self.parameters.cells_per_part);
        let values = u64::from(self.parameters.values);
        (0..u64::from(self.parameters.hashes))
            .map(|part| {
                let word = mix(low.wrapping_add(part.wrapping_mul(0x9e37_79b9_7f4a_7c15))) ^ high;
                let position = ((word >> 32) * part_cells) >> 32;
                let salt = ((word & 0xffff_ffff) * values) >> 32;
                let salt = if self.parameters.salted { salt } else { 0 };
                ((part * part_cells + position) as usize, salt)
            })
            .collect()
    }

    fn code(&self, value: u32, salt: u64) -> u64 {
        self.codes[((u64::from(value) + salt) % self.codes.len() as u64) as usize]
    }

    pub fn insert(&mut self, digest: u128, value: u32) {
        for (cell, salt) in self.cells_of(digest) {
            let code = self.code(value, salt);
            self.cells[cell].push(code);
        }
    }

    pub fn delete(&mut self, digest: u128, value: u32) {
        for (cell, salt) in self.cells_of(digest) {
            let code = self.code(value, salt);
            let at = self.cells[cell].iter().position(|other| *other == code).unwrap();
            self.cells[cell].swap_remove(at);
        }
    }

    /// Whether a counter would be at its maximum.
    pub fn is_saturated(&self) -> bool {
        let bits = self.parameters.cell_bits - self.parameters.family.bits();
        self.cells.iter().any(|cell| cell.len() >= (1 << bits) - 1)
    }

    pub fn query(&self, digest: u128, assigned: u32) -> Answer<u32> {
        let cells: Vec<(&Vec<u64>, u64)> =
            self.cells_of(digest).iter().map(|&(cell, salt)| (&self.cells[cell], salt)).collect();
        if cells.iter().any(|(cell, _)| cell.is_empty()) {
            return Answer::Absent;
        }
        if self.parameters.decoding == Decoding::Joint {
            let all = (0..assigned).filter(|v| cells.iter().all(|cell| self.allows(*cell, *v)));
            return answer(all.collect());
        }
        let found = match cells.iter().find(|(cell, _)| cell.len() == 1) {
            Some(alone) => self.values_in(*alone),
            None => self.of_shared(&cells),
        };
        match found.as_slice() {
            [value] => Answer::Found(*value),
            _ => Answer::Undecided,
        }
    }

    /// What the papers' decodings make of cells that are all shared.
    fn of_shared(&self, cells: &[(&Vec<u64>, u64)]) -> Vec<u32> {
        let speaks = |count: usize| {
            let speaks = move |(cell, _): &(&Vec<u64>, u64)| cell.len() == count && sum(cell) != 0;
            cells.iter().copied().filter(speaks)
        };
        let mut pairs: Vec<Vec<u32>> = speaks(2).map(|cell| self.values_in(cell)).collect();
        let mut threes: Vec<_> = cells.iter().copied().filter(|(c, _)| c.len() == 3).collect();
        match self.parameters.decoding {
            Decoding::Option1 => threes.clear(),
            Decoding::Literal => {
                let different = pairs.iter().position(|pair| *pair != pairs[0]);
                pairs = pairs
                    .first()
                    .into_iter()
                    .chain(different.map(|at| &pairs[at]))
                    .cloned()
                    .collect();
                threes = if pairs.len() == 1 { speaks(3).take(1).collect() } else { vec![] };
            }
            _ => {}
        }
        let Some(first) = pairs.first() else { return vec![] };
        let in_pairs = first.iter().copied().filter(|v| pairs.iter().all(|pair| pair.contains(v)));
        let left: Vec<u32> = in_pairs.collect();
        match left.len() {
            2 => left.into_iter().filter(|v| threes.iter().all(|&c| self.allows(c, *v))).collect(),
            _ => left,
        }
    }

    fn values_in(&self, cell: (&Vec<u64>, u64)) -> Vec<u32> {
        (0..self.parameters.values).filter(|value| self.allows(cell, *value)).collect()
    }

    /// Whether some codes beside that of the value give the sum.
    fn allows(&self, (cell, salt): (&Vec<u64>, u64), value: u32) -> bool {
        let rest = sum(cell) ^ self.code(value, salt);
        match cell.len() {
            1 => rest == 0,
            2 => self.codes.contains(&rest),
            3 => rest == 0 || self.pair_sums.contains(&rest),
            _ => true,
        }
    }
}

fn sum(cell: &[u64]) -> u64 {
    cell.iter().fold(0, |sum, code| sum ^ code)
}

pub fn answer(candidates: Vec<u32>) -> Answer<u32> {
    match candidates.as_slice() {
        [] => Answer::Absent,
        [value] => Answer::Found(*value),
        several if several.len() <= 64 => Answer::OneOf(candidates),
        _ => Answer::Undecided,
    }
}
