//! A store with a gate in front of it, or without.

use super::pending::Gate;
use crate::aging::{Epoch, Stamp};
use crate::digest::FlowId;
use crate::error::StoreError;
use crate::spec::Sizing;
use crate::state::{Lookup, State};
use crate::stats::StoreStats;
use crate::store::{Found, Insertion, Lines, Store};

/// A store that flows enter with their second packet; or with their first, if there is no gate.
/// One type for both: without a gate every operation is that of the store, after one branch.
///
/// ```
/// use acsm_filters::{
///     Backend, Epoch, Fcf, FlowId, Gated, GateSpec, HashKey, Lookup, State, Store, StoreSpec,
/// };
///
/// let gate: GateSpec = "bloom-1".parse()?;
/// let spec = StoreSpec { gate: Some(gate), flows: 16_000, ..StoreSpec::new(Backend::Fcf, 6) };
/// let fcf = Fcf::<true>::new(spec.states, &spec.sizing()?)?;
/// let mut shard = Gated::new(fcf, Some(&gate.sizing(&spec)?))?;
/// let key = HashKey::from_seed(1);
/// let id = |flow: u64| FlowId(key.digest([flow]));
/// let (now, syn, open) = (Epoch(0), State::new(0).unwrap(), State::new(2).unwrap());
///
/// // A flood of single packets, a hundred times as large as the store, stays out of it. (About one
/// // flow in a thousand matches bits that other flows set and is admitted at once.)
/// for flow in 0..100_000 {
///     let place = shard.locate(id(flow), ());
///     if shard.lookup(&place, now).answer == Lookup::Absent {
///         shard.insert(&place, syn, now.stamp());
///     }
/// }
/// assert!(shard.stats().inserted < 200);
///
/// // A flow with a second packet enters the store.
/// let place = shard.locate(id(100_000), ());
/// shard.insert(&place, syn, now.stamp());
/// let found = shard.lookup(&place, now);
/// assert_eq!(found.answer, Lookup::Known(syn));
/// shard.modify(&place, &found, open, now.stamp());
/// assert_eq!(shard.lookup(&place, now).answer, Lookup::Known(open));
/// assert_eq!(shard.stats().gate.passed, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Gated<S: Store> {
    store: S,
    /// Boxed, so that stores without one stay close together.
    gate: Option<Box<Gate>>,
}

/// Where a flow is stored, and its digest for the gate.
#[derive(Debug, Clone, Copy)]
pub struct GatedPlace<P> {
    store: P,
    digest: u64,
}

/// Whether the store or the gate answered a lookup, and where in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GatedHandle<H> {
    /// The store does not have the flow, so a gate decides.
    at_gate: bool,
    store: H,
}

/// What the store itself found.
fn in_store<H: Copy>(found: &Found<GatedHandle<H>>) -> Found<H> {
    Found { answer: found.answer, settled: found.settled, handle: found.handle.store }
}

impl<S: Store> Gated<S> {
    /// `store`, with an empty gate of this size if one is given.
    pub fn new(store: S, gate: Option<&Sizing>) -> Result<Self, StoreError> {
        let gate = gate.map(|sizing| Gate::new(sizing).map(Box::new)).transpose()?;
        Ok(Gated { store, gate })
    }

    /// The gate, if there is one and it decides about this flow.
    fn gate_of(&mut self, handle: GatedHandle<S::Handle>) -> Option<&mut Gate> {
        self.gate.as_deref_mut().filter(|_| handle.at_gate)
    }

    /// Whether an answer of the store is the answer of a lookup: a flow that is absent in the store
    /// is looked up at the gate.
    fn is_final(&self, answer: Lookup) -> bool {
        self.gate.is_none() || answer != Lookup::Absent
    }

    /// Brings a pending flow into the store.
    fn admit(&mut self, place: &GatedPlace<S::Place>, state: State, stamp: Stamp) {
        if let Some(gate) = &mut self.gate {
            gate.mark_admitted(place.digest, stamp.now());
            gate.count_passed();
        }
        // If the store is full, the flow is left out, as it is without a gate.
        self.store.insert(&place.store, state, stamp);
    }
}

impl<S: Store> Store for Gated<S> {
    type Key = S::Key;
    type Place = GatedPlace<S::Place>;
    type Handle = GatedHandle<S::Handle>;

    const WRITES_WITHOUT_OLD_STATE: bool = S::WRITES_WITHOUT_OLD_STATE;

    #[inline]
    fn locate(&self, id: FlowId, key: S::Key) -> Self::Place {
        GatedPlace { store: self.store.locate(id, key), digest: id.position_bits() }
    }

    #[inline]
    fn prefetch(&self, place: &Self::Place) {
        self.store.prefetch(&place.store);
        if let Some(gate) = &self.gate {
            gate.prefetch(place.digest);
        }
    }

    #[inline]
    fn lookup(&mut self, place: &Self::Place, now: Epoch) -> Found<Self::Handle> {
        let Found { answer, settled, handle } = self.store.lookup(&place.store, now);
        let (answer, at_gate) = match (answer, &mut self.gate) {
            (Lookup::Absent, Some(gate)) => (gate.ask(place.digest, now), true),
            _ => (answer, false),
        };
        let settled = settled && !at_gate;
        Found { answer, settled, handle: GatedHandle { at_gate, store: handle } }
    }

    /// A settled answer came from the store.
    #[inline]
    fn handle_of(&mut self, place: &Self::Place, answer: Lookup, now: Epoch) -> Self::Handle {
        GatedHandle { at_gate: false, store: self.store.handle_of(&place.store, answer, now) }
    }

    #[inline]
    fn touch(&mut self, place: &Self::Place, found: &Found<Self::Handle>, stamp: Stamp) {
        match (self.gate_of(found.handle), found.answer) {
            (None, _) | (_, Lookup::Absent) => {
                self.store.touch(&place.store, &in_store(found), stamp);
            }
            (Some(_), Lookup::Known(state)) => self.admit(place, state, stamp),
            (Some(gate), Lookup::DontKnow) => gate.count_dont_know(),
        }
    }

    #[inline]
    fn insert(&mut self, place: &Self::Place, state: State, stamp: Stamp) -> Insertion {
        let now = stamp.now();
        if let Some(gate) = &mut self.gate
            && self.store.lookup(&place.store, now).answer == Lookup::Absent
            && gate.try_hold(place.digest, state, now)
        {
            return Insertion::Pending;
        }
        match self.store.insert(&place.store, state, stamp) {
            Insertion::Stored { shared_cells, answer } => {
                let answer = answer.filter(|answer| self.is_final(*answer));
                Insertion::Stored { shared_cells, answer }
            }
            insertion => insertion,
        }
    }

    #[inline]
    fn modify(
        &mut self,
        place: &Self::Place,
        found: &Found<Self::Handle>,
        new: State,
        stamp: Stamp,
    ) -> Option<Lookup> {
        match (self.gate_of(found.handle), found.answer) {
            (None, _) | (_, Lookup::Absent) => {
                let answer = self.store.modify(&place.store, &in_store(found), new, stamp);
                return answer.filter(|answer| self.is_final(*answer));
            }
            (Some(gate), Lookup::DontKnow) => {
                gate.count_dont_know();
                if S::WRITES_WITHOUT_OLD_STATE {
                    self.admit(place, new, stamp);
                }
            }
            (Some(_), Lookup::Known(_)) => self.admit(place, new, stamp),
        }
        None
    }

    #[inline]
    fn delete(&mut self, place: &Self::Place, found: &Found<Self::Handle>, now: Epoch) {
        match (self.gate_of(found.handle), found.answer) {
            (None, _) | (_, Lookup::Absent) => {
                self.store.delete(&place.store, &in_store(found), now);
            }
            (Some(_), Lookup::DontKnow) if !S::WRITES_WITHOUT_OLD_STATE => {}
            // A pending flow that is deleted is marked like an admitted one.
            (Some(gate), _) => gate.mark_admitted(place.digest, now),
        }
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.store.has_room()
    }

    #[inline]
    fn sweep(&mut self, now: Epoch, budget_cells: usize) -> usize {
        self.store.sweep(now, budget_cells)
    }

    #[inline]
    fn epoch(&self, now: Epoch) -> Epoch {
        self.store.epoch(now)
    }

    #[inline]
    fn lines(&self, place: &Self::Place) -> Lines {
        self.store.lines(&place.store)
    }

    fn stats(&self) -> StoreStats {
        let stats = self.store.stats();
        let Some(gate) = &self.gate else { return stats };
        let miss = (1.0 - stats.false_positive_chance) * (1.0 - gate.false_positive_chance());
        StoreStats { gate: gate.stats(), false_positive_chance: 1.0 - miss, ..stats }
    }
}
