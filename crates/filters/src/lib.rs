//! Where flows and their states are kept: one structure a file, all behind [`Store`].
//!
//! # Properties
//!
//! A store is one shard: the worker that owns it calls it, and nothing else does. Memory is
//! allocated when it is made and never grows (but for the uncapped [`Exact`] and [`History`], the oracle). Stores
//! read no clock: the caller says which [`Epoch`] it is, and never goes back. What an operation
//! answers depends on the operations before it and their epochs alone, never on when
//! [`Store::sweep`] came by.
//!
//! # Usage
//!
//! [`with_store`] picks the structure once per run and hands a generic function a way to make its
//! shards.
//!
//! # Implementation
//!
//! | file | what |
//! |---|---|
//! | `exact` | hash table of full keys, with generations of least recently used flows |
//! | `dbf` | Bloom filter of (flow, state), 2-bit counters |
//! | `sbf`, `kbf`, `bhbf` | what one cell does: a [`CellRule`] each |
//! | `fcf` | fingerprints and states in a cuckoo table |
//! | `filter` | the rest of a cell filter, the same for each rule |
//! | `gate` | what flows pass with their second packet, before any store |
//! | `recent` | what a store said of the flows met last |
//! | `recycling` | stores that empty themselves when full, at once or by halves |
//! | `static_set` | no store of flows: Bloom-α, for sets that never change |
//! | `cells`, `line` | packed cells with stamps, by line |
//! | `lanes`, `planes`, `cell_set` | several cells of a line at once: their values, their stamps, which they are |
//! | `layout`, `aging` | a flow's positions; epochs |
//!
//! # References
//!
//! Bonomi et al., *Beyond Bloom Filters* (SIGCOMM 2006); Xiong et al., *kBF* (INFOCOM 2014, and
//! its journal version); Qiao et al., *Fast Bloom Filters and Their Generalization* (2013); Dozier
//! et al., *Modeling Average False Positive Rates of Recycling Bloom Filters*; Fan et al., *Cuckoo
//! Filter* (CoNEXT 2014). For `bhbf` see its module.

mod aging;
mod bhbf;
mod cell_set;
mod cells;
mod choose;
mod dbf;
pub mod digest;
mod error;
mod exact;
mod fcf;
mod filter;
mod gate;
mod kbf;
mod key;
mod lanes;
mod layout;
mod line;
pub mod memory;
mod planes;
pub mod prefetch;
mod recent;
mod recycling;
pub mod rng;
mod sbf;
pub mod spec;
mod state;
mod static_set;
mod stats;

pub use aging::{Epoch, Stamp};
pub use bhbf::{Bhbf, BhbfRule};
pub use choose::{StoreUser, with_store};
pub use dbf::{Dbf, FlowDigest};
pub use error::StoreError;
pub use exact::{Exact, ExactPlace, FlowLookups, History};
pub use fcf::{Fcf, FcfPlace};
pub use filter::{CellFilter, CellPlace, CellRule};
pub use gate::{Gate, GateStats, Gated, GatedPlace};
pub use kbf::{Encodings, Kbf, KbfRule};
pub use recent::{Recent, Striped, Stripes};
pub use recycling::{Erase, Recycling};
pub use sbf::{Sbf, SbfRule};
pub use static_set::{Membership, StaticSet, StaticSetSpec};
pub use stats::{Insertion, StoreStats};

pub use digest::{FlowId, HashKey};
pub use key::FlowKey;
pub use rng::Random;
pub use spec::*;
pub use state::{Lookup, State};

/// A flow as stores are asked for it: filters take the digest, the exact table the full key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// What makes it the flow it is.
    pub key: FlowKey,
    /// The keyed digest of `key`.
    pub id: FlowId,
}

/// One shard of flow state.
pub trait Store: Sized + Send {
    /// Where a flow is to be found: computed once per packet.
    type Place: Copy + Send;

    /// Whether [`modify`](Store::modify) and [`delete`](Store::delete) can do without the old
    /// state, so that a flow answered `DontKnow` can still be written.
    const WRITES_UNKNOWN: bool;

    /// Whether flows are told apart by their full key. All others go by the digest alone, and may
    /// be given any key.
    const BY_KEY: bool = false;

    /// Whether it costs nothing to [`locate`](Store::locate) a flow, so that nobody has to keep its
    /// place.
    const LOCATES_FREELY: bool = false;

    /// Where this flow is to be found.
    fn locate(&self, flow: &Flow) -> Self::Place;

    /// Begins to load what an operation on this place will need, and does not wait for it.
    fn prefetch(&mut self, place: &Self::Place);

    /// What is known of the flow. Touches nothing.
    fn lookup(&mut self, place: &Self::Place, now: Epoch) -> Lookup;

    /// Keeps a flow alive that was found to be `found`. (`Absent` touches what cells there are:
    /// the wording of ACSM 2006, not our default.)
    fn touch(&mut self, place: &Self::Place, found: Lookup, stamp: Stamp);

    /// The same, right after a [`lookup`](Store::lookup) of the flow in the same epoch.
    #[inline]
    fn touch_again(&mut self, place: &Self::Place, found: Lookup, stamp: Stamp) {
        self.touch(place, found, stamp);
    }

    /// Adds a flow that is absent.
    fn insert(&mut self, place: &Self::Place, state: State, stamp: Stamp) -> Insertion;

    /// Changes the state of a flow found to be `old`, and touches it. With `old` = `DontKnow` it
    /// only touches, unless the store [can write](Store::WRITES_UNKNOWN) that.
    fn modify(&mut self, place: &Self::Place, old: Lookup, new: State, stamp: Stamp);

    /// Removes a flow found to be `old`. With `old` = `DontKnow` nothing happens, unless the store
    /// [can write](Store::WRITES_UNKNOWN) that.
    fn delete(&mut self, place: &Self::Place, old: Lookup, now: Epoch);

    /// Clears what is stale among the next cells, at most about `budget_cells` of them. Returns
    /// how many it looked at: 0 when all have been seen in this epoch.
    fn sweep(&mut self, now: Epoch, budget_cells: usize) -> usize;

    /// The epoch by which flows come and go here: the caller's, unless the store counts its own. A
    /// flow last seen before the previous epoch is gone, whatever the reason.
    #[inline]
    fn epoch(&self, now: Epoch) -> Epoch {
        now
    }

    /// Counts so far. Figures of what is in the store are right after a complete sweep.
    fn stats(&self) -> StoreStats;
}
