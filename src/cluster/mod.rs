//! A client of key-value Bloom filters in a Redis or Valkey Cluster whose servers have our module.
//!
//! # Mapping
//!
//! The journal paper's distributed kBF (d-kBF) has a master, slab servers and slabs that migrate. A cluster
//! has all of that:
//!
//! | d-kBF | here |
//! |---|---|
//! | slab | one string value with its cells and a header, in a hash slot of its own |
//! | the master's table of slabs | the slot map, which every server has |
//! | first hash: the slab of a key | a keyed hash of the key, independent of the cells' |
//! | second hash: the cells | computed by the module, or here from the same hash key |
//! | slab migration | migration of its slot |
//! | a lost server | failover to its replica |
//!
//! # Properties
//!
//! * All slabs have the same parameters, and the number of slabs is fixed. A slab that is full is followed by
//!   a further filter in the same slot; a query asks all of them.
//! * Writes have a client and a sequence: none is applied twice, and none that this client has sent is
//!   lost in a failover while the client runs ([`outbox`]).
//! * Values are strings, which one hash of the cluster maps to codes ([`values`]).
//! * One writer per key at a time: an insertion of the same key by two clients at once cannot be
//!   told from two keys.
//!
//! # Implementation
//!
//! | file | subject |
//! |---|---|
//! | `store` | the store: query, insert, update, delete, growth |
//! | `outbox` | writes with sequences; batches kept until replicas have them |
//! | `values` | strings and their codes |
//! | `description`, `layout` | parameters and sizing; keys, slots, the slab of a key |
//! | `router`, `topology`, `access` | commands to the servers that have their slots; who these are; connections |
//! | `migrate`, `loads` | moving slots; the loads of slabs and servers |
//! | `replies`, `error` | replies of the module; errors |

pub mod access;
pub mod description;
pub mod error;
pub mod layout;
pub mod loads;
pub mod migrate;
pub mod outbox;
pub mod replies;
pub mod router;
pub mod store;
pub mod topology;
pub mod values;
