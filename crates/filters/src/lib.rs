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
mod dbf;
pub mod digest;
mod error;
mod exact;
mod fcf;
mod filter;
mod gate;
mod kbf;
mod lanes;
mod layout;
mod line;
pub mod memory;
mod planes;
pub mod prefetch;
mod recycling;
pub mod rng;
mod sbf;
pub mod spec;
mod state;
mod static_set;
mod stats;
mod store;

pub use aging::{Epoch, Stamp};
pub use bhbf::{Bhbf, BhbfRule};
pub use dbf::{Dbf, FlowDigest};
pub use error::StoreError;
pub use exact::{Exact, ExactHandle, ExactPlace, FlowLookups, History};
pub use fcf::{Fcf, FcfPlace, Matches};
pub use filter::{CellFilter, CellHandle, CellPlace, CellRule};
pub use gate::{Gate, GateStats, Gated, GatedHandle, GatedPlace};
pub use kbf::{Encodings, Kbf, KbfRule};
pub use recycling::{Erase, Recycling, RecyclingHandle};
pub use sbf::{Sbf, SbfRule};
pub use static_set::{Membership, StaticSet, StaticSetSpec};
pub use stats::StoreStats;
pub use store::{Found, Insertion, Lines, Store};

pub use digest::{FlowId, HashKey};
pub use rng::Random;
pub use spec::*;
pub use state::{Lookup, State};
