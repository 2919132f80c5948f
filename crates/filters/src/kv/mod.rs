//! Approximate key-value stores: *maplets* from byte strings to byte strings.
//!
//! # Which one
//!
//! | | [`KvStore`] over [`KbfMap`] | [`KvStore`] over [`FcfMap`] |
//! |---|---|---|
//! | structure | key-value Bloom filter (kBF) | fingerprints and values in a cuckoo table (fcf) |
//! | bits per pair, 3,000 values: p = 1e-3 | 137 (as the papers decode: 460) | 26 |
//! | p = 3e-5 | 188 | 32 |
//! | p = 1e-6 | 236 | 37 |
//! | memory accesses of a query | 6 cells | 2 lines |
//! | beyond its capacity | errors grow, or a further filter | full: a further table |
//! | JOIN and COMPRESS, without the keys | yes, cell by cell | no |
//!
//! So take the fcf, unless stores have to be joined or halved without their keys: that is what the kBF is
//! for. Either is right where millions of identifiers have a few thousand categories, and a rare mistake
//! about an unknown identifier costs little: products and their groups, addresses and their networks.
//! Neither is right where most values are different, as each different value is stored in full, or where a
//! mistake matters: balances, permissions.
//!
//! # Usage
//!
//! ```
//! use acsm_filters::kv::{Answer, KvSpec, KvStore, Write};
//!
//! // 10,000 pairs with up to 3,000 different values, at an error rate of 0.001.
//! let mut store = KvStore::new(&KvSpec::new(10_000, 3000))?;
//! store.insert(b"10.1.2.3", b"printers")?;
//! store.insert(b"10.1.2.4", b"cameras")?;
//! assert_eq!(store.query(b"10.1.2.3"), Answer::Found(&b"printers"[..]));
//! assert_eq!(store.query(b"10.9.9.9"), Answer::Absent);
//!
//! assert_eq!(store.update(b"10.1.2.3", b"scanners")?, Write::Done);
//! assert_eq!(store.delete(b"10.1.2.4")?, Write::Done);
//! assert_eq!(store.query(b"10.1.2.3"), Answer::Found(&b"scanners"[..]));
//! assert_eq!(store.query(b"10.1.2.4"), Answer::Absent);
//!
//! // The same over an fcf, and with types.
//! use acsm_filters::kv::{FcfMap, Kv};
//! let mut ports: Kv<u16, String, FcfMap> = Kv::new_fcf(&KvSpec::new(10_000, 3000))?;
//! ports.insert(&443, &"https".to_owned())?;
//! assert_eq!(ports.get(&443), Answer::Found("https".to_owned()));
//! # Ok::<(), acsm_filters::kv::KvError>(())
//! ```
//!
//! # Properties
//!
//! * A query answers [`Absent`](Answer::Absent), [`Found`](Answer::Found), [`OneOf`](Answer::OneOf) some
//!   candidates, or [`Undecided`](Answer::Undecided). **The value of a key that is in the store is always
//!   among the candidates**: errors are one-sided, which is what makes a maplet.
//!   [Joint decoding](Decoding::Joint) also lists candidates where the papers' options decide nothing,
//!   and finds that cells contradict each other, which proves that a key is absent.
//! * At most p of the absent keys get another answer than `Absent`, and at most p of the keys in the
//!   store another than `Found`, while the store is within its capacity. With salt that holds for any
//!   distribution of values.
//! * What breaks this: a key inserted twice ([`inserts_of_present`](KvStats::inserts_of_present) counts
//!   insertions of keys that seem to be there), and an update or a deletion of a key that is not in the
//!   store but is a false positive, which damages the keys it shares cells with. Neither can be made safe in
//!   a structure of about this size: one that allows duplicate insertions or deletions of absent keys takes
//!   about half the bits of the exact set, or more (Agarwala and Even). Whoever updates or deletes has to
//!   know that the key is there.
//! * An update or a deletion needs the old value. Where that is undecided, nothing is written, the
//!   caller is told ([`Write::Undecided`]) and it is counted; the key keeps its value. A counter at its
//!   maximum stays there: its cell says nothing any more, which costs accuracy and is counted.
//! * Keys have 1 byte to 1 MiB (exclusive), values up to as much; V values at most, fixed when the store
//!   is made: up to 16,383 in cells of 32 bits, 2^24 − 1 in cells of 64. A value that no key has any more
//!   keeps its place.
//! * Not concurrent: one writer, or any number of readers.
//!
//! # Implementation
//!
//! | file | subject |
//! |---|---|
//! | `store`, `typed` | the store: byte strings, growth, JOIN, COMPRESS, batches; and with types |
//! | `values` | from a value to its index, by a secondary kBF, and back |
//! | `maplet` | what the two structures have in common |
//! | `kbf`, `cells`, `decode` | the kBF: cells of a key; counters and sums; from cells to a value |
//! | `many`, `locate` | operations on many keys of a kBF; the cells of several keys, computed at once |
//! | `fcf` | fingerprints and values in slots, over the table of [`Fcf`](crate::Fcf) |
//! | `parameters`, `sizing` | from pairs, values and p to cells and hashes |
//! | `saved` | stores in a [snapshot](crate::snapshot) |
//! | [`slab`] | a kBF in bytes that someone else keeps, such as a server |
//! | `answer`, `stats`, `error` | results |
//!
//! What has to be saved of a store are the parameters of its filters, their [bytes](Maplet::bytes) and
//! [pairs](Maplet::pairs), and the [values](ValueTable::values) in their order;
//! [`KbfMap::from_parts`], [`FcfMap::from_parts`], [`ValueTable::from_values`] and
//! [`KvStore::from_parts`] take them.
//!
//! # References
//!
//! Xiong et al., *kBF: a Bloom Filter for Key-Value Storage with an Application on Approximate State
//! Machines* (INFOCOM 2014), and *kBF: Towards Approximate and Bloom Filter based Key-Value Storage for
//! Cloud Computing Systems* (IEEE Transactions on Cloud Computing), "the papers". Joint decoding, salt and
//! algebraic codes are not theirs. Bender et al., *Time To Replace Your Filter: How Maplets Simplify System
//! Design* (arXiv 2510.05518). Agarwala, Even, *A Space Lower Bound for Approximate Membership with Duplicate
//! Insertions or Deletions of Nonelements* (arXiv 2412.19249).

mod answer;
mod cells;
mod decode;
mod error;
mod fcf;
mod kbf;
mod locate;
mod many;
mod maplet;
mod parameters;
mod saved;
mod sizing;
pub mod slab;
mod stats;
mod store;
mod typed;
mod values;

pub use answer::{Answer, Write};
pub use decode::Decoding;
pub use error::{KvError, Mismatch};
pub use fcf::{FCF_VALUES_MAX, FcfMap, FcfParameters};
pub use kbf::KbfMap;
pub use maplet::Maplet;
pub use parameters::{CodeChoice, KbfParameters, KvSpec};
pub use saved::{KvLoadError, LoadedKv, SavedMaplet};
pub use stats::{KvBytes, KvStats};
pub use store::{KEY_BYTES_LIMIT, KvStore, check_key};
pub use typed::{Kv, KvKey, KvValue};
pub use values::{VALUE_BYTES_LIMIT, ValueStats, ValueTable};
