//! What a store said of the flows met last.
//!
//! Packets come in trains: most belong to a flow that was met a few packets before, and nothing
//! was written to its cells since. Where those are is known then, and so is what they say. Answers
//! and counts are those of the store alone: what is kept is used only while it is certain to be
//! the same.

use super::aging::{Epoch, Stamp};
use super::recycling::Erase;
use super::stats::{Insertion, StoreStats};
use super::{Flow, Store};
use crate::digest::FlowId;
use crate::key::FlowKey;
use crate::state::{Lookup, State};

/// A store that can say where it keeps what it knows of a flow.
pub trait Striped: Store {
    /// The parts of the store where the flow is. Within an epoch, what is known of it changes only
    /// with a flow that is inserted, modified or deleted and shares a stripe with it. So does it
    /// become less fresh than it was touched.
    fn stripes(&self, place: &Self::Place) -> Stripes;

    /// What a look-up in the same epoch would say of the flow that was just inserted or modified,
    /// if that is known without one.
    fn after_write(&self) -> Option<Lookup> {
        None
    }
}

/// Two of the 256 parts of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stripes([u8; 2]);

impl Stripes {
    /// For flows that are in too many places to name them: each shares its stripe with all others.
    pub(super) const WHOLE: Stripes = Stripes([0, 0]);

    /// Those of two lines.
    #[inline]
    pub(super) const fn of_lines(one: usize, other: usize) -> Stripes {
        Stripes([one as u8, other as u8])
    }
}

/// So many flows are kept in mind: the trains that run through a shard at a time, several times
/// over, for each has one place only.
const FLOWS: usize = 64;

/// A store, and what it said of the flows met last. That takes about 7 kB a shard, whatever its
/// size.
///
/// ```
/// use acsm_filters::FlowId;
/// # use acsm_filters::FlowKey;
/// use acsm_filters::{Backend, StoreSpec};
/// use acsm_filters::{Lookup, State};
/// use acsm_filters::{Epoch, Fcf, Flow, Recent, Store};
///
/// let spec = StoreSpec { flows: 16_000, ..StoreSpec::new(Backend::Fcf, 6) };
/// let mut shard = Recent::new(Fcf::<true>::new(6, &spec.sizing()?)?);
/// # let key = FlowKey { src: [0; 4].into(), dst: [0; 4].into(), src_port: 0, dst_port: 0, vlan: [0; 2] };
/// let (now, open) = (Epoch(0), State::new(2).unwrap());
/// let place = shard.locate(&Flow { key, id: FlowId(7) });
/// assert_eq!(shard.lookup(&place, now), Lookup::Absent);
/// shard.insert(&place, open, now.stamp());
/// assert_eq!(shard.lookup(&place, now), Lookup::Known(open));
/// // Kept in mind, but not for longer than it is true.
/// assert_eq!(shard.lookup(&place, now), Lookup::Known(open));
/// assert_eq!(shard.lookup(&place, Epoch(2)), Lookup::Absent);
/// # Ok::<(), acsm_filters::StoreError>(())
/// ```
pub struct Recent<S: Store> {
    store: S,
    /// That of all answers kept.
    epoch: Epoch,
    met: [Met; FLOWS],
    /// Where they are.
    places: [S::Place; FLOWS],
    /// How often each stripe was written to.
    writes: [u64; 256],
    /// The answer to the last look-up, if the flow is fresh.
    found_fresh: Option<Lookup>,
}

/// A flow met before.
#[derive(Clone, Copy)]
struct Met {
    id: FlowId,
    /// How often its stripes had been written to when it was asked for…
    writes: u64,
    stripes: Stripes,
    /// …and what was the answer.
    answer: Lookup,
    /// Whether it was touched since: to do so again would change nothing.
    is_fresh: bool,
}

/// It was not asked for: nobody writes so often.
const NEVER: u64 = u64::MAX;

impl<S: Striped> Recent<S> {
    /// A store with no flow in mind.
    pub fn new(store: S) -> Recent<S> {
        const { assert!(!S::BY_KEY, "only the digest is kept") };
        let id = FlowId(0);
        let place = store.locate(&Flow { key: FlowKey::UNSPECIFIED, id });
        let stripes = store.stripes(&place);
        let met = Met { id, writes: NEVER, stripes, answer: Lookup::Absent, is_fresh: false };
        Recent {
            store,
            epoch: Epoch::default(),
            met: [met; FLOWS],
            places: [place; FLOWS],
            writes: [0; 256],
            found_fresh: None,
        }
    }

    /// Where a flow is kept in mind, if at all.
    #[inline(always)]
    fn number(id: FlowId) -> usize {
        id.position_bits() as usize % FLOWS
    }

    #[inline(always)]
    fn writes(&self, Stripes([one, other]): Stripes) -> u64 {
        self.writes[usize::from(one)].wrapping_add(self.writes[usize::from(other)])
    }

    /// Whether the answer that is kept for this flow, if any, is what the store would say.
    #[inline(always)]
    fn remembers(&self, met: &Met, id: FlowId, now: Epoch) -> bool {
        met.id == id && met.writes == self.writes(met.stripes) && self.epoch == now
    }

    /// Keeps a flow in mind; says where.
    #[inline(always)]
    fn meet(&mut self, id: FlowId) -> usize {
        let number = Self::number(id);
        if self.met[number].id != id {
            self.meet_stranger(id);
        }
        number
    }

    /// Keeps a flow in mind in place of another, and begins to load what it needs.
    #[inline(never)]
    fn meet_stranger(&mut self, id: FlowId) {
        let number = Self::number(id);
        let place = self.store.locate(&Flow { key: FlowKey::UNSPECIFIED, id });
        let met = &mut self.met[number];
        (met.id, met.writes, met.stripes) = (id, NEVER, self.store.stripes(&place));
        self.store.prefetch(&place);
        self.places[number] = place;
    }

    #[inline(never)]
    fn ask(&mut self, id: FlowId, now: Epoch) -> Lookup {
        self.found_fresh = None;
        let number = self.meet(id);
        let answer = self.store.lookup(&self.places[number], now);
        if self.epoch != now {
            self.forget();
            self.epoch = now;
        }
        let writes = self.writes(self.met[number].stripes);
        let met = &mut self.met[number];
        (met.writes, met.answer, met.is_fresh) = (writes, answer, false);
        answer
    }

    #[inline(never)]
    fn touch_met(&mut self, id: FlowId, found: Lookup, stamp: Stamp) {
        let number = self.meet(id);
        self.store.touch(&self.places[number], found, stamp);
        let met = &self.met[number];
        let is_sure = self.remembers(met, id, stamp.now()) && met.answer == found;
        self.met[number].is_fresh = is_sure && !stamp.half;
    }

    /// Keeps no answers.
    fn forget(&mut self) {
        self.met.iter_mut().for_each(|met| met.writes = NEVER);
    }

    /// Takes note that a flow was written.
    #[inline]
    fn wrote(&mut self, number: usize) {
        for stripe in self.met[number].stripes.0 {
            self.writes[usize::from(stripe)] += 1;
        }
    }

    /// Takes note that a flow was written and touched, and keeps what is known of it now.
    #[inline]
    fn wrote_and_touched(&mut self, number: usize, stamp: Stamp) {
        self.wrote(number);
        if let Some(answer) = self.store.after_write()
            && self.epoch == stamp.now()
        {
            let writes = self.writes(self.met[number].stripes);
            let met = &mut self.met[number];
            (met.writes, met.answer, met.is_fresh) = (writes, answer, !stamp.half);
        }
    }
}

impl<S: Striped> Store for Recent<S> {
    type Place = FlowId;

    const WRITES_UNKNOWN: bool = S::WRITES_UNKNOWN;
    const LOCATES_FREELY: bool = true;

    #[inline]
    fn locate(&self, flow: &Flow) -> FlowId {
        flow.id
    }

    #[inline]
    fn prefetch(&mut self, &id: &FlowId) {
        self.meet(id);
    }

    #[inline]
    fn lookup(&mut self, &id: &FlowId, now: Epoch) -> Lookup {
        let met = &self.met[Self::number(id)];
        if !self.remembers(met, id, now) {
            return self.ask(id, now);
        }
        self.found_fresh = met.is_fresh.then_some(met.answer);
        met.answer
    }

    #[inline]
    fn touch(&mut self, &id: &FlowId, found: Lookup, stamp: Stamp) {
        let met = &self.met[Self::number(id)];
        let changes_nothing =
            met.is_fresh && met.answer == found && self.remembers(met, id, stamp.now());
        if !changes_nothing {
            self.touch_met(id, found, stamp);
        }
    }

    #[inline]
    fn touch_again(&mut self, &id: &FlowId, found: Lookup, stamp: Stamp) {
        if self.found_fresh != Some(found) {
            self.touch_met(id, found, stamp);
        }
    }

    fn insert(&mut self, &id: &FlowId, state: State, stamp: Stamp) -> Insertion {
        let number = self.meet(id);
        let insertion = self.store.insert(&self.places[number], state, stamp);
        self.wrote_and_touched(number, stamp);
        insertion
    }

    fn modify(&mut self, &id: &FlowId, old: Lookup, new: State, stamp: Stamp) {
        let number = self.meet(id);
        self.store.modify(&self.places[number], old, new, stamp);
        self.wrote_and_touched(number, stamp);
    }

    fn delete(&mut self, &id: &FlowId, old: Lookup, now: Epoch) {
        let number = self.meet(id);
        self.wrote(number);
        self.store.delete(&self.places[number], old, now);
    }

    fn sweep(&mut self, now: Epoch, budget_cells: usize) -> usize {
        self.store.sweep(now, budget_cells)
    }

    #[inline]
    fn epoch(&self, now: Epoch) -> Epoch {
        self.store.epoch(now)
    }

    fn stats(&self) -> StoreStats {
        self.store.stats()
    }
}

impl<S: Striped + Erase> Erase for Recent<S> {
    #[inline]
    fn occupied(&self) -> u64 {
        self.store.occupied()
    }

    fn erase(&mut self) {
        self.forget();
        self.store.erase();
    }
}
