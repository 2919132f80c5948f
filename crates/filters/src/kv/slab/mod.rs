//! Slabs: a kBF in bytes that someone else keeps, with its parameters and counts in front of its cells.
//!
//! # Properties
//!
//! * A slab is one string of at most [`SLAB_BYTES_MAX`] bytes of any alignment, borrowed for each operation:
//!   a value of a Redis or Valkey server, a file in memory. It can be copied, moved and saved like any bytes.
//! * Cells, salt and decoding are those of [`KbfMap`](super::KbfMap): the same pairs give the same cells.
//! * The header is checked before it is used: bytes that were altered are an error, or a slab with other
//!   cells, whose answers are wrong. Sizes beyond the limits are refused before memory is taken.
//! * No clock, no randomness: the same operations on the same bytes give the same bytes, on any server.
//! * An operation is applied as a whole or not at all.
//!
//! # Batches
//!
//! XOR is not idempotent: a batch of insertions that is sent twice undoes itself. So a write may carry the
//! [client and the sequence](Batch) of the batch. The slab keeps the last sequence of each of 64 clients: a
//! repeat is ignored, a gap is an error with the sequence that is missing.
//!
//! ```
//! use acsm_filters::kv::slab::{self, Batch, CodesCache, Slab, SlabError, SlabMut, Written};
//! use acsm_filters::kv::{Answer, KbfParameters, KvSpec};
//!
//! let parameters = KbfParameters::new(&KvSpec::new(10_000, 3000))?;
//! let mut codes = CodesCache::default();
//! let mut bytes = slab::create(&parameters)?; // or any bytes that hold a slab
//! let digest = |item: &str| parameters.hash_key.digest_bytes(item.as_bytes());
//!
//! let batch = |sequence| Some(Batch { client: 42, sequence });
//! let pairs = [(digest("apple"), 7), (digest("pear"), 2999)];
//! let mut insert = |batch| SlabMut::open(&mut bytes, &mut codes)?.insert(batch, &pairs);
//! assert_eq!(insert(batch(1))?, Written::Applied(2));
//! assert_eq!(insert(batch(1))?, Written::Repeat);
//! assert!(matches!(insert(batch(3)), Err(SlabError::Gap { next: 2, .. })));
//!
//! let slab = Slab::open(&bytes, &mut codes)?;
//! assert_eq!((slab.items(), slab.last_sequence(42)?), (2, 1));
//! let mut answers = vec![];
//! slab.query(u32::MAX, &[digest("apple"), digest("plum")], |answer| answers.push(answer))?;
//! assert_eq!(answers, [Answer::Found(7), Answer::Absent]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Implementation
//!
//! | file | subject |
//! |---|---|
//! | `bytes` | where the sections are; creating and checking them |
//! | `clients` | the last sequence of each client |
//! | `codes` | codes of values, kept from one operation to the next |
//! | `read`, `write` | operations |
//! | `work` | the limit on what decoding takes in one call |
//! | `error` | what is refused |
//!
//! The bytes as a table are in `docs/kbf-commands.md`.

mod bytes;
mod clients;
mod codes;
mod error;
mod read;
mod work;
mod write;

pub use bytes::{SLAB_BYTES_MAX, SLAB_VALUES_MAX, bytes_of, create};
pub use clients::{Batch, CLIENTS, Client};
pub use codes::CodesCache;
pub use error::SlabError;
pub use read::Slab;
pub use work::CALL_STEPS_MAX;
pub use write::{SlabMut, Written, compressed};
