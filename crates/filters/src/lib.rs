//! Approximate maps from flows to small states, in fixed memory: what an approximate concurrent
//! state machine keeps per flow.
//!
//! # Properties
//!
//! * All structures implement [`Store`]: one shard, driven by one thread. Shards share nothing.
//! * Memory is allocated when a store is made and never grows (except [`Exact::growing`] and
//!   [`GroundTruth`]). [`CellFilter`], [`Dbf`] and [`Fcf`] also work on borrowed bytes of any alignment.
//! * No clock, no files: the caller supplies the time as an [`Epoch`] that never goes back. Answers
//!   depend on the operations before and their epochs alone, never on when [`Store::sweep`] ran.
//! * Answers may be wrong, with a probability that the memory determines; "don't know" is one of
//!   the answers ([`Lookup`]).
//!
//! # Usage
//!
//! A [`StoreSpec`] says which structure, for how many flows and at which error rate; its
//! [`Sizing`] has the cells, hashes and bits that this takes in all of the
//! [`FlowId::SHARDS`] shards.
//!
//! ```
//! use acsm_filters::{Backend, Epoch, Fcf, FlowId, HashKey, Lookup, State, Store, StoreSpec};
//!
//! let spec = StoreSpec { flows: 1_000_000, ..StoreSpec::new(Backend::Fcf, 6) };
//! let sizing = spec.sizing()?;
//! println!("{:.1} bits per flow", sizing.bits_per_flow);
//! let mut shard = Fcf::<true>::new(6, &sizing)?;
//!
//! // A flow is known by its keyed digest.
//! let key = HashKey::from_seed(1);
//! let place = shard.locate(FlowId(key.digest([443, 51_234])), ());
//! let (opening, open) = (State::new(0).unwrap(), State::new(2).unwrap());
//!
//! shard.insert(&place, opening, Epoch(0).stamp());
//! let found = shard.lookup(&place, Epoch(0));
//! shard.modify(&place, &found, open, Epoch(0).stamp());
//!
//! assert_eq!(shard.lookup(&place, Epoch(1)).answer, Lookup::Known(open));
//! assert_eq!(shard.lookup(&place, Epoch(2)).answer, Lookup::Absent); // idle for too long
//! # Ok::<(), acsm_filters::StoreError>(())
//! ```
//!
//! # Implementation
//!
//! | modules | subject |
//! |---|---|
//! | `spec` | from a specification to cells, hashes and bits |
//! | `store`, `state`, `stats`, `error` | the interface |
//! | `aging` | epochs, stamps and halves: the aging rule |
//! | `line`, `cell_line`, `cells` | lines of 64 bytes, cells in lines, arrays of cells |
//! | `layout` | the cells of a flow |
//! | `cell_filter`, `cell_rule` | filters of shared cells, with a [`CellRule`] each: `sbf`, `kbf`, `bhbf` |
//! | [`codes`], `salts` | codes for states and values, of `kbf`, `bhbf` and `kv`, and by how much a flow rotates them |
//! | `dbf`, `fcf`, `exact` | the other structures |
//! | [`pending`] | not a store: where flows wait until both of their ends have been heard |
//! | `recycling` | stores that empty themselves |
//! | `stored_states` | stores that hold only some of a machine's states |
//! | [`snapshot`], `saved_spec` | structures saved in a container of sections, with the specification of a store |
//! | `bloom_g`, `static_set` | not stores of flows: sets that are queried with few memory accesses, Bloom-g and Bloom-α |
//! | `static_map` | a map that never changes: a binary fuse filter with values |
//! | `element` | the words and bits of their elements |
//! | [`kv`] | not a store of flows: maplets from byte strings to byte strings |
//! | [`testing`] | checks for a store of one's own: random operations against a slow model, errors by kind |
//! | [`balance`] | not a store: which slabs of a distributed kv filter to exchange between servers |
//!
//! # References
//!
//! Bonomi et al., *Beyond Bloom Filters: From Approximate Membership Checks to Approximate State
//! Machines* (SIGCOMM 2006, "ACSM 2006"); Xiong et al., *kBF: a Bloom Filter for Key-Value Storage
//! with an Application on Approximate State Machines* (INFOCOM 2014, and its journal version); Pei
//! et al., *BhBF* (TKDD 2022); Fan et al., *Cuckoo Filter* (CoNEXT 2014); Qiao et al., *Fast Bloom
//! Filters and Their Generalization* (TPDS 2014); Dozier et al., *Modeling Average False Positive
//! Rates of Recycling Bloom Filters*.

mod aging;
pub mod balance;
mod bhbf;
mod bloom_g;
mod cell_filter;
mod cell_line;
mod cell_rule;
mod cells;
pub mod codes;
mod dbf;
pub mod digest;
mod element;
mod error;
mod exact;
mod fcf;
mod kbf;
pub mod kv;
mod layout;
mod line;
pub mod memory;
pub mod pending;
mod recycling;
pub mod rng;
mod salts;
mod saved_spec;
mod sbf;
pub mod snapshot;
pub mod spec;
mod state;
mod static_map;
mod static_set;
mod stats;
mod store;
mod stored_states;
pub mod testing;

pub use aging::{Epoch, HALVES, STAMPS, Stamp, UNTIMED};
pub use bhbf::{Bhbf, BhbfRule};
pub use bloom_g::{BloomG, BloomGError, BloomGSpec};
pub use cell_filter::{CellFilter, CellHandle};
pub use cell_rule::CellRule;
pub use codes::Encodings;
pub use dbf::{Dbf, DbfHandle, DbfPlace};
pub use digest::{FlowId, HashKey};
pub use error::StoreError;
pub use exact::{Exact, ExactHandle, ExactPlace, FlowLookups, GroundTruth, RememberedFlow};
pub use fcf::{Fcf, FcfHandle, FcfPlace};
pub use kbf::{Kbf, KbfRule};
pub use layout::CellPlace;
pub use line::{Line, LineArray, OwnedLines, array_bytes};
pub use recycling::{Erase, Recycling, RecyclingHandle};
pub use rng::Random;
pub use sbf::{Sbf, SbfRule};
pub use spec::*;
pub use state::{Lookup, State, StateSet};
pub use static_map::{StaticMap, StaticMapSpec};
pub use static_set::{Membership, StaticSet, StaticSetSpec};
pub use stats::StoreStats;
pub use store::{Found, Insertion, Lines, Store};
pub use stored_states::StoredStates;

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
