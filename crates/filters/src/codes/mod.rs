//! Codes: numbers whose sums tell which numbers they are made of.
//!
//! | file | structure | sum | unique |
//! |---|---|---|---|
//! | `greedy` | [`Kbf`](crate::Kbf), [`kv`](crate::kv) | XOR | of one and two codes |
//! | `algebraic`, over the field of `gf2` | [`kv`](crate::kv) | XOR | of one and two codes |
//! | `bose_chowla` | [`Bhbf`](crate::Bhbf) | modulo 4095 | of up to three codes |
//!
//! `greedy_search` is the search that found the greedy codes, `regression` how an index is found in
//! their sorted table, and `family` what the two families of XOR codes have in common.

mod algebraic;
pub(crate) mod bose_chowla;
mod family;
mod gf2;
mod greedy;
mod greedy_search;
mod regression;

pub use algebraic::{AlgebraicCodes, DEGREES};
pub use family::{CodeFamily, Codes};
pub use greedy::{Encodings, GREEDY_CODES, GreedyCodes};
pub use greedy_search::{Collisions, greedy_search};
pub use regression::{Position, RegressionTable};
