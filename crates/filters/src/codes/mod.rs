//! Codes for states: numbers whose sums tell which numbers they are made of.
//!
//! | file | structure | sum | unique |
//! |---|---|---|---|
//! | `greedy` | [`Kbf`](crate::Kbf) | XOR | of one and two codes |
//! | `bose_chowla` | [`Bhbf`](crate::Bhbf) | modulo 4095 | of up to three codes |

pub(crate) mod bose_chowla;
mod greedy;

pub use greedy::Encodings;
