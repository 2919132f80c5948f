//! Operations of a kBF on many keys: cells are computed once, and fetched while those of the keys before
//! them are used.

use std::ops::Deref;

use super::answer::{Answer, Write};
use super::cells::Cell;
use super::decode::{Decoding, KeyCell};
use super::kbf::KbfMap;
use super::locate::{Located, Places};
use crate::codes::Codes;
use crate::line::{Line, LineArray};
use crate::spec::HASHES_LIMIT;

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

/// What is known of a key without decoding sums.
enum Glance {
    Absent,
    Found(u32),
    /// No cell is its own.
    Shared,
}

impl<L: Deref<Target = [Line]>> KbfMap<L> {
    /// QUERY of several keys, in their order.
    #[inline(always)] // with what becomes of an answer, which then is not written to memory first
    pub(super) fn query_many(
        &self,
        digests: &[u128],
        assigned: u32,
        mut each: impl FnMut(Answer<u32>),
    ) {
        let mut room = [KeyCell::default(); HASHES_LIMIT];
        let query = |filter: &mut &Self, _, places: Places<'_>| match filter
            .at_a_glance(places, assigned)
        {
            Glance::Absent => each(Answer::Absent),
            Glance::Found(value) => each(Answer::Found(value)),
            Glance::Shared => each(filter.decoded(places.iter(), assigned, &mut room)),
        };
        in_groups(self, digests, |digest| digest, one_by_one(query));
    }

    /// What the first cell with one key tells, if there is one: most keys have one. All cells are read without
    /// a branch, since counters cannot be predicted.
    #[inline(always)] // into the loops over many keys
    fn at_a_glance(&self, places: Places<'_>, assigned: u32) -> Glance {
        let (mut has_empty, mut has_alone) = (false, false);
        let (mut alone, mut alone_salt) = (0, 0);
        for (cell, salt) in places.iter() {
            let Cell { count, sum } = self.cells.get(cell);
            has_empty |= count == 0;
            let is_first = (count == 1) & !has_alone;
            alone = if is_first { sum } else { alone };
            alone_salt = if is_first { salt } else { alone_salt };
            has_alone |= count == 1;
        }
        if has_empty {
            return Glance::Absent;
        }
        if !has_alone {
            return Glance::Shared;
        }
        let decoder = self.decoder(assigned);
        let value = decoder.alone_in_use(&KeyCell { count: 1, sum: alone, salt: alone_salt });
        match (self.parameters().decoding, value) {
            (Decoding::Joint, Some(value)) => match self.is_possible(places, value) {
                true => Glance::Found(value),
                false => Glance::Absent,
            },
            (Decoding::Joint, None) => Glance::Absent,
            (_, Some(value)) => Glance::Found(value),
            (_, None) => Glance::Shared, // undecided
        }
    }

    /// Whether no cell excludes the value.
    #[inline(never)]
    fn is_possible(&self, places: Places<'_>, value: u32) -> bool {
        let decoder = self.decoder(0);
        places.iter().all(|(cell, salt)| {
            let cell = self.read(cell, salt);
            decoder.allows(&cell, value)
        })
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
        let mut saturations = 0;
        let insert = |filter: &mut &mut Self, group: &[(u128, u32)], located: &Located| {
            // In any order: sums and counters do not depend on it.
            for (cells, salts) in located.parts() {
                for ((&cell, &salt), (_, value)) in cells.iter().zip(salts).zip(group) {
                    let index = value + salt as u32;
                    let code = code(index.min(index.wrapping_sub(values)));
                    saturations += u64::from(filter.cells.insert_in::<W>(cell as usize, code));
                }
            }
        };
        in_groups(&mut *self, pairs, |(digest, _)| digest, insert);
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
        let mut room = [KeyCell::default(); HASHES_LIMIT];
        let update = |filter: &mut &mut Self, (_, new), places: Places<'_>| {
            let write = |filter: &mut Self, old| filter.exchange(places, old, new);
            each(filter.written(places, assigned, &mut room, write));
        };
        in_groups(self, pairs, |(digest, _)| digest, one_by_one(update));
    }

    /// DELETE of several keys, as [`update_many`](Self::update_many).
    pub(super) fn delete_many(
        &mut self,
        digests: &[u128],
        assigned: u32,
        mut each: impl FnMut(Write),
    ) {
        let mut room = [KeyCell::default(); HASHES_LIMIT];
        let delete = |filter: &mut &mut Self, _, places: Places<'_>| {
            let write = |filter: &mut Self, old| filter.remove(places, old);
            each(filter.written(places, assigned, &mut room, write));
        };
        in_groups(self, digests, |digest| digest, one_by_one(delete));
    }

    /// Writes to the cells of a key if they have one value.
    #[inline(always)]
    fn written(
        &mut self,
        places: Places<'_>,
        assigned: u32,
        room: &mut [KeyCell; HASHES_LIMIT],
        write: impl FnOnce(&mut Self, u32),
    ) -> Write {
        let old = match self.at_a_glance(places, assigned) {
            Glance::Found(old) => old,
            Glance::Absent => return Write::Absent,
            Glance::Shared => match self.decoded(places.iter(), assigned, room) {
                Answer::Found(old) => old,
                Answer::Absent => return Write::Absent,
                Answer::OneOf(_) | Answer::Undecided => return Write::Undecided,
            },
        };
        write(self, old);
        Write::Done
    }

    fn exchange(&mut self, places: Places<'_>, old: u32, new: u32) {
        for (cell, salt) in places.iter() {
            let decoder = self.decoder(0);
            let codes = decoder.code(old, salt) ^ decoder.code(new, salt);
            self.cells.exchange(cell, codes);
        }
    }

    fn remove(&mut self, places: Places<'_>, value: u32) {
        for (cell, salt) in places.iter() {
            let code = self.decoder(0).code(value, salt);
            self.cells.remove(cell, code);
        }
        self.pairs = self.pairs.saturating_sub(1);
    }
}

/// An operation on a group as one on each of its items and their places.
#[inline(always)]
fn one_by_one<F, T: Copy>(
    mut each: impl FnMut(&mut F, T, Places<'_>),
) -> impl FnMut(&mut F, &[T], &Located) {
    move |filter, group, located| {
        for (number, item) in group.iter().enumerate() {
            each(filter, *item, located.places(number));
        }
    }
}

/// Takes `items` in groups: the cells of one are computed and fetched before those of the group ahead of it
/// are used. With more cells on their way than those of two groups, a processor would wait for the first ones.
#[inline(always)] // with the closures of one operation
fn in_groups<F, L, T>(
    mut filter: F,
    items: &[T],
    digest: impl Fn(T) -> u128,
    mut each: impl FnMut(&mut F, &[T], &Located),
) where
    F: Deref<Target = KbfMap<L>>,
    L: Deref<Target = [Line]>,
    T: Copy,
{
    let shape = filter.shape();
    let mut rooms = [Located::new(shape), Located::new(shape)];
    let [now, next] = &mut rooms;
    let (mut now, mut next) = (now, next);
    let mut groups = items.chunks(shape.group());
    let mut group: &[T] = &[];
    loop {
        let ahead = groups.next().unwrap_or(&[]);
        next.locate(ahead.iter().map(|item| digest(*item)));
        for cell in next.cells() {
            filter.cells.prefetch(*cell as usize);
        }
        each(&mut filter, group, now);
        if ahead.is_empty() {
            return;
        }
        group = ahead;
        std::mem::swap(&mut now, &mut next);
    }
}
