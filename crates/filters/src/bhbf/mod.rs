//! `bhbf`: a B_h-sequence Bloom filter with hashed increments.
//!
//! A cell holds a 4-bit count and the sum of its flows' codes, modulo 4095. Codes are such that the
//! sum of any three tells which three (`codes`); of more flows it tells at least which codes cannot
//! be among them (`masks`). What a flow adds for a state differs from cell to cell, by a salt that
//! only the flow knows: so what other flows left in its cells points to different states, and what
//! all its cells agree on is its own (`rule`).
//!
//! Sums of a B_h set in the cells of a Bloom filter are from Pei et al., *BhBF: A Bloom Filter Using
//! Bh Sequences for Multi-set Membership Query* (TKDD 2022); increments by hash from Rottenstreich
//! et al., *The Variable-Increment Counting Bloom Filter* (INFOCOM 2012). Here they are joined: the
//! hash picks which code stands for the state.

mod codes;
mod masks;
mod rule;

pub use rule::{Bhbf, BhbfRule};
