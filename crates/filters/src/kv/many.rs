//! Operations of a kBF on many keys: cells are computed once, and fetched while those of the keys before
//! them are used.

use std::ops::Deref;

use super::answer::{Answer, Write};
use super::cells::Cell;
use super::decode::{Decoding, KeyCell};
use super::kbf::KbfMap;
use crate::codes::Codes;
use crate::line::{Line, LineArray};
use crate::spec::HASHES_LIMIT;

/// How many cells are fetched together. Two such groups are on their way: more than that, and a
/// processor waits for the first ones.
const GROUP_CELLS: usize = 48;
const _: () = assert!(GROUP_CELLS >= HASHES_LIMIT);

/// A cell, and what the operation needs there: a salt, or a code.
type Place = (usize, u64);

/// What the counters of a key's cells say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clue {
    /// A cell is empty: the key is absent.
    Absent,
    /// A cell has one key, or two with different codes: no more than two values are possible.
    Few,
    /// A cell has three keys, none has fewer.
    Three,
    /// All cells have more, or codes that cancel.
    None,
}

impl<L: Deref<Target = [Line]>> KbfMap<L> {
    /// QUERY of several keys, in their order.
    pub(super) fn query_many(
        &self,
        digests: &[u128],
        assigned: u32,
        mut each: impl FnMut(Answer<u32>),
    ) {
        let mut room = [KeyCell::default(); HASHES_LIMIT];
        let is_joint = self.parameters().decoding == Decoding::Joint;
        let fetch = |filter: &&Self, digest, places: &mut [Place]| filter.fetch(digest, places);
        in_groups(&mut &*self, self.hashes(), digests, fetch, |filter, _, places| {
            let alone = if is_joint { None } else { filter.decoded_alone(places, assigned) };
            each(alone.unwrap_or_else(|| filter.decoded(with_salts(places), assigned, &mut room)));
        });
    }

    /// The value in the first cell with one key, if there is such a cell: what all decodings but the joint
    /// one begin with.
    #[inline(always)]
    fn decoded_alone(&self, places: &[Place], assigned: u32) -> Option<Answer<u32>> {
        let mut alone = None;
        for (cell, salt) in with_salts(places) {
            let Cell { count, sum } = self.cells.get(cell);
            match count {
                0 => return Some(Answer::Absent),
                1 if alone.is_none() => alone = Some(KeyCell { count, sum, salt }),
                _ => {}
            }
        }
        alone.map(|cell| self.decoder(assigned).decode_alone(&cell))
    }

    /// How a key's value can be found.
    pub(super) fn clue(&self, digest: u128) -> Clue {
        let (mut has_few, mut has_three) = (false, false);
        for (cell, _) in self.cells_of(digest) {
            let Cell { count, sum } = self.cells.get(cell);
            if count == 0 {
                return Clue::Absent;
            }
            has_few |= count == 1 || count == 2 && sum != 0;
            has_three |= count == 3;
        }
        match (has_few, has_three) {
            (true, _) => Clue::Few,
            (false, true) => Clue::Three,
            (false, false) => Clue::None,
        }
    }

    fn hashes(&self) -> usize {
        self.parameters().hashes as usize
    }

    /// Starts loading the cells of a key, which are entered with their salts.
    #[inline(always)]
    fn fetch(&self, digest: u128, places: &mut [Place]) {
        for (place, (cell, salt)) in places.iter_mut().zip(self.cells_of(digest)) {
            self.cells.prefetch(cell);
            *place = (cell, salt.into());
        }
    }
}

impl<L: LineArray> KbfMap<L> {
    /// INSERT of several pairs with values that there are.
    pub(super) fn insert_many(&mut self, pairs: &[(u128, u32)]) {
        let codes = self.codes();
        match (&*codes, self.cells.are_narrow()) {
            (Codes::Greedy(codes), true) => self.insert_coded::<4>(pairs, |n| codes.code(n)),
            (Codes::Greedy(codes), false) => self.insert_coded::<8>(pairs, |n| codes.code(n)),
            (Codes::Algebraic(codes), true) => self.insert_coded::<4>(pairs, |n| codes.code(n)),
            (Codes::Algebraic(codes), false) => self.insert_coded::<8>(pairs, |n| codes.code(n)),
        }
    }

    /// The same for cells of `W` bytes, with the codes of one family.
    fn insert_coded<const W: usize>(&mut self, pairs: &[(u128, u32)], code: impl Fn(u32) -> u64) {
        let values = self.parameters().values;
        let fetch = |filter: &Self, (digest, value): (u128, u32), places: &mut [Place]| {
            for (place, (cell, salt)) in places.iter_mut().zip(filter.cells_of(digest)) {
                filter.cells.prefetch(cell);
                let index = value + salt;
                *place = (cell, code(if index < values { index } else { index - values }));
            }
        };
        let mut saturations = 0;
        in_groups(self, self.hashes(), pairs, fetch, |filter, _, places| {
            for &(cell, code) in places {
                saturations += u64::from(filter.cells.insert_in::<W>(cell, code));
            }
        });
        self.saturations += saturations;
        self.pairs += pairs.len() as u64;
    }

    /// UPDATE of several keys, one after another, each from the value that is found among those below
    /// `assigned`. The values are there.
    pub(super) fn update_many(
        &mut self,
        pairs: &[(u128, u32)],
        assigned: u32,
        mut each: impl FnMut(Write),
    ) {
        let fetch = |filter: &Self, (digest, _), places: &mut [Place]| filter.fetch(digest, places);
        in_groups(self, self.hashes(), pairs, fetch, |filter, (_, new), places| {
            each(filter.written(places, assigned, |filter, old| filter.exchange(places, old, new)));
        });
    }

    /// DELETE of several keys, as [`update_many`](Self::update_many).
    pub(super) fn delete_many(
        &mut self,
        digests: &[u128],
        assigned: u32,
        mut each: impl FnMut(Write),
    ) {
        let fetch = |filter: &Self, digest, places: &mut [Place]| filter.fetch(digest, places);
        in_groups(self, self.hashes(), digests, fetch, |filter, _, places| {
            each(filter.written(places, assigned, |filter, old| filter.remove(places, old)));
        });
    }

    /// Writes to the cells of a key if they have one value.
    #[inline(always)]
    fn written(
        &mut self,
        places: &[Place],
        assigned: u32,
        write: impl FnOnce(&mut Self, u32),
    ) -> Write {
        let mut room = [KeyCell::default(); HASHES_LIMIT];
        match self.decoded(with_salts(places), assigned, &mut room) {
            Answer::Found(old) => {
                write(self, old);
                Write::Done
            }
            Answer::Absent => Write::Absent,
            Answer::OneOf(_) | Answer::Undecided => Write::Undecided,
        }
    }

    fn exchange(&mut self, places: &[Place], old: u32, new: u32) {
        for (cell, salt) in with_salts(places) {
            let decoder = self.decoder(0);
            let codes = decoder.code(old, salt) ^ decoder.code(new, salt);
            self.cells.exchange(cell, codes);
        }
    }

    fn remove(&mut self, places: &[Place], value: u32) {
        for (cell, salt) in with_salts(places) {
            let code = self.decoder(0).code(value, salt);
            self.cells.remove(cell, code);
        }
        self.pairs = self.pairs.saturating_sub(1);
    }
}

#[inline(always)]
fn with_salts(places: &[Place]) -> impl Iterator<Item = (usize, u32)> {
    places.iter().map(|&(cell, salt)| (cell, salt as u32))
}

/// Takes `items` in groups: `fetch` enters the places of each, one group ahead of `each`.
#[inline(always)] // with the closures of one operation
fn in_groups<F, T: Copy>(
    filter: &mut F,
    hashes: usize,
    items: &[T],
    fetch: impl Fn(&F, T, &mut [Place]),
    mut each: impl FnMut(&mut F, T, &[Place]),
) {
    let mut groups = items.chunks((GROUP_CELLS / hashes).max(1));
    let mut rooms = [[(0, 0); GROUP_CELLS]; 2];
    let [now, next] = &mut rooms;
    let (mut now, mut next) = (now, next);
    let mut following = groups.next();
    let mut group: &[T] = &[];
    loop {
        let ahead = following.unwrap_or(&[]);
        let mut room = &mut next[..];
        for &item in ahead {
            let (places, rest) = std::mem::take(&mut room).split_at_mut(hashes);
            fetch(filter, item, places);
            room = rest;
        }
        let mut room = &now[..];
        for &item in group {
            let (places, rest) = room.split_at(hashes);
            each(filter, item, places);
            room = rest;
        }
        if ahead.is_empty() {
            return;
        }
        group = ahead;
        following = groups.next();
        std::mem::swap(&mut now, &mut next);
    }
}
