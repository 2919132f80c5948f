//! A store with a gate before it, or without.

use super::waiting::Gate;
use crate::aging::{Epoch, Stamp};
use crate::error::StoreError;
use crate::spec::Sizing;
use crate::state::{Lookup, State};
use crate::stats::{Insertion, StoreStats};
use crate::{Flow, Store};

/// A store that flows enter with their second packet; or with their first, if there is no gate.
/// One type serves both: without a gate every operation is the store's, behind one branch.
///
/// ```
/// use acsm_filters::FlowId;
/// # use acsm_filters::FlowKey;
/// use acsm_filters::Random;
/// use acsm_filters::{Backend, GateSpec, StoreSpec};
/// use acsm_filters::{Lookup, State};
/// use acsm_filters::{Epoch, Fcf, Flow, Gated, Store};
///
/// let gate: GateSpec = "bloom-1".parse()?;
/// let spec = StoreSpec { gate: Some(gate), flows: 16_000, ..StoreSpec::new(Backend::Fcf, 6) };
/// let fcf = Fcf::<true>::new(spec.states, &spec.sizing()?)?;
/// let mut shard = Gated::new(fcf, Some(&gate.sizing(&spec)?))?;
/// let mut random = Random::new(1);
/// # let key = FlowKey { src: [0; 4].into(), dst: [0; 4].into(), src_port: 0, dst_port: 0, vlan: [0; 2] };
/// let mut word = || u128::from(random.next_u64());
/// let mut flow = || Flow { key, id: FlowId(word() << 64 | word()) };
/// let (now, syn, open) = (Epoch(0), State::new(0).unwrap(), State::new(2).unwrap());
///
/// // A flood a hundred times as large as the store. One in a thousand finds the marks of flows
/// // that were let in, made up of others' bits.
/// for _ in 0..100_000 {
///     let place = shard.locate(&flow());
///     if shard.lookup(&place, now) == Lookup::Absent {
///         shard.insert(&place, syn, now.stamp());
///     }
/// }
/// assert!(shard.stats().inserted < 200);
///
/// // A flow that is answered.
/// let place = shard.locate(&flow());
/// shard.insert(&place, syn, now.stamp());
/// assert_eq!(shard.lookup(&place, now), Lookup::Known(syn));
/// shard.modify(&place, Lookup::Known(syn), open, now.stamp());
/// assert_eq!(shard.lookup(&place, now), Lookup::Known(open));
/// assert_eq!(shard.stats().gate.passed, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Gated<S: Store> {
    store: S,
    /// Boxed, so that stores without one stay close together.
    gate: Option<Box<Gate>>,
    /// The flow looked up last, and whether the store has it, if nothing was written since.
    asked: Option<(u64, bool)>,
}

/// Where a flow is to be found, in the store and at the gate.
#[derive(Debug, Clone, Copy)]
pub struct GatedPlace<P> {
    store: P,
    digest: u64,
}

impl<S: Store> Gated<S> {
    /// `store`, with an empty gate of this size if one is given.
    pub fn new(store: S, gate: Option<&Sizing>) -> Result<Self, StoreError> {
        let gate = gate.map(|sizing| Gate::new(sizing).map(Box::new)).transpose()?;
        Ok(Gated { store, gate, asked: None })
    }
}

/// What happens with a gate: kept out of the way of stores without.
impl<S: Store> Gated<S> {
    /// What is known of a flow of which the store says `answer`.
    #[inline(never)]
    fn ask(&mut self, place: &GatedPlace<S::Place>, answer: Lookup, now: Epoch) -> Lookup {
        self.asked = Some((place.digest, answer != Lookup::Absent));
        match (answer, &mut self.gate) {
            (Lookup::Absent, Some(gate)) => gate.ask(place.digest, now),
            _ => answer,
        }
    }

    /// The gate, if there is one and the store does not have the flow.
    fn gate_of(&mut self, place: &GatedPlace<S::Place>, now: Epoch) -> Option<&mut Gate> {
        let gate = self.gate.as_mut()?;
        let in_store = match self.asked.take() {
            Some((digest, in_store)) if digest == place.digest => in_store,
            _ => self.store.lookup(&place.store, now) != Lookup::Absent,
        };
        (!in_store).then_some(gate)
    }

    /// Brings a flow that waited into the store.
    fn pass(&mut self, place: &GatedPlace<S::Place>, state: State, stamp: Stamp) {
        if let Some(gate) = &mut self.gate {
            gate.let_in(place.digest, stamp.now());
            gate.count_passed();
        }
        // A store without room for it leaves it out, as it does without a gate.
        self.store.insert(&place.store, state, stamp);
    }

    #[inline(never)]
    fn touch_gated(&mut self, place: &GatedPlace<S::Place>, found: Lookup, stamp: Stamp) {
        match (self.gate_of(place, stamp.now()), found) {
            (None, _) | (_, Lookup::Absent) => self.store.touch(&place.store, found, stamp),
            (Some(_), Lookup::Known(state)) => self.pass(place, state, stamp),
            (Some(gate), Lookup::DontKnow) => gate.count_dont_know(),
        }
    }

    #[inline(never)]
    fn insert_gated(
        &mut self,
        place: &GatedPlace<S::Place>,
        state: State,
        stamp: Stamp,
    ) -> Insertion {
        let now = stamp.now();
        let gate = self.gate_of(place, now);
        match gate.is_some_and(|gate| gate.holds(place.digest, state, now)) {
            true => Insertion::Held,
            false => self.store.insert(&place.store, state, stamp),
        }
    }

    #[inline(never)]
    fn modify_gated(
        &mut self,
        place: &GatedPlace<S::Place>,
        old: Lookup,
        new: State,
        stamp: Stamp,
    ) {
        match (self.gate_of(place, stamp.now()), old) {
            (None, _) | (_, Lookup::Absent) => self.store.modify(&place.store, old, new, stamp),
            (Some(gate), Lookup::DontKnow) => {
                gate.count_dont_know();
                if S::WRITES_UNKNOWN {
                    self.pass(place, new, stamp);
                }
            }
            (Some(_), Lookup::Known(_)) => self.pass(place, new, stamp),
        }
    }

    #[inline(never)]
    fn delete_gated(&mut self, place: &GatedPlace<S::Place>, old: Lookup, now: Epoch) {
        match (self.gate_of(place, now), old) {
            (None, _) | (_, Lookup::Absent) => self.store.delete(&place.store, old, now),
            (Some(_), Lookup::DontKnow) if !S::WRITES_UNKNOWN => {}
            // What waits no longer is marked as if it were in.
            (Some(gate), _) => gate.let_in(place.digest, now),
        }
    }
}

impl<S: Store> Store for Gated<S> {
    type Place = GatedPlace<S::Place>;

    const WRITES_UNKNOWN: bool = S::WRITES_UNKNOWN;
    const BY_KEY: bool = S::BY_KEY;
    const LOCATES_FREELY: bool = S::LOCATES_FREELY;

    #[inline]
    fn locate(&self, flow: &Flow) -> Self::Place {
        GatedPlace { store: self.store.locate(flow), digest: flow.id.position_bits() }
    }

    #[inline]
    fn prefetch(&mut self, place: &Self::Place) {
        self.store.prefetch(&place.store);
        if let Some(gate) = &mut self.gate {
            gate.prefetch(place.digest);
        }
    }

    #[inline]
    fn lookup(&mut self, place: &Self::Place, now: Epoch) -> Lookup {
        let answer = self.store.lookup(&place.store, now);
        match &self.gate {
            None => answer,
            Some(_) => self.ask(place, answer, now),
        }
    }

    #[inline]
    fn touch(&mut self, place: &Self::Place, found: Lookup, stamp: Stamp) {
        match &self.gate {
            None => self.store.touch(&place.store, found, stamp),
            Some(_) => self.touch_gated(place, found, stamp),
        }
    }

    #[inline]
    fn touch_again(&mut self, place: &Self::Place, found: Lookup, stamp: Stamp) {
        match &self.gate {
            None => self.store.touch_again(&place.store, found, stamp),
            Some(_) => self.touch_gated(place, found, stamp),
        }
    }

    #[inline]
    fn insert(&mut self, place: &Self::Place, state: State, stamp: Stamp) -> Insertion {
        match &self.gate {
            None => self.store.insert(&place.store, state, stamp),
            Some(_) => self.insert_gated(place, state, stamp),
        }
    }

    #[inline]
    fn modify(&mut self, place: &Self::Place, old: Lookup, new: State, stamp: Stamp) {
        match &self.gate {
            None => self.store.modify(&place.store, old, new, stamp),
            Some(_) => self.modify_gated(place, old, new, stamp),
        }
    }

    #[inline]
    fn delete(&mut self, place: &Self::Place, old: Lookup, now: Epoch) {
        match &self.gate {
            None => self.store.delete(&place.store, old, now),
            Some(_) => self.delete_gated(place, old, now),
        }
    }

    #[inline]
    fn sweep(&mut self, now: Epoch, budget_cells: usize) -> usize {
        self.store.sweep(now, budget_cells)
    }

    #[inline]
    fn epoch(&self, now: Epoch) -> Epoch {
        self.store.epoch(now)
    }

    fn stats(&self) -> StoreStats {
        let stats = self.store.stats();
        let Some(gate) = &self.gate else { return stats };
        let miss = (1.0 - stats.false_positive_chance) * (1.0 - gate.false_positive_chance());
        StoreStats { gate: gate.stats(), false_positive_chance: 1.0 - miss, ..stats }
    }
}
