//! A module of Redis and Valkey: key-value Bloom filters in string values, `KBF.*`.
//!
//! # Properties
//!
//! * One library for Redis 7.0 and later, Valkey 8 and Valkey 9.
//! * A filter is a [slab](acsm_filters::kv::slab): a string, changed in place. The server copies, saves,
//!   replicates and migrates it like any string; there is no data type of ours.
//! * Cells and decoding are those of [`acsm_filters::kv`]. Here are arguments, replies and replication.
//! * No clock, no randomness. A write is replicated as it came, and a replica has the same bytes.
//! * A panic does not reach the server: the command replies with an error.
//!
//! # Usage
//!
//! `cargo build --release -p acsm-redis`, then `redis-server --loadmodule target/release/libacsm_redis.so`.
//! The commands are described in `docs/kbf-commands.md`.
//!
//! # Implementation
//!
//! | module | subject |
//! |---|---|
//! | `arguments` | the words of a command |
//! | `create` | the words of `KBF.CREATE` |
//! | `items` | digests and values, from items or from records |
//! | `commands` | the commands |
//! | `replies` | answers as the protocol has them |
//! | `error` | errors with their codes |
//! | `module` | what is declared when the module is loaded |
//! | `server` | what a server may not have: ACL categories, options of modules |

mod arguments;
mod commands;
mod create;
mod error;
mod items;
#[cfg(not(test))] // tests run without a server, and so without its allocator
mod module;
mod replies;
#[cfg(not(test))]
mod server;
