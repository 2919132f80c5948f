//! Recycling Bloom filters (Dozier, Salamatian, Rubenstein: "Modeling Average False Positive
//! Rates of Recycling Bloom Filters").
//!
//! A filter of M bits fills with messages of k hashes and is emptied at a threshold: N messages
//! ([`n_bounded`]), or more than σ bits ([`Cycle`]). What counts is the average false positive
//! rate of new messages over a cycle, which is far below the rate at its end.
//!
//! | equations | what | here |
//! |---|---|---|
//! | (1)–(3) | f_w, f_o, f_a | [`n_bounded`] |
//! | (4)–(14) | τ_k | [`Filter::step`] |
//! | (15)–(18) | π, ρ(i), f_σ¹ | [`Cycle`] |
//! | (19) | k = 1 in closed form | [`one_hash`] |
//! | (20)–(23) | E\[N_b\] | [`expected_messages`] |
//! | (24)–(26) | two phases, f_σ² | [`Cycle::two_phase_rate`] |
//! | §II-E | count-first, count-each, count-instance | [`counted_rates`] |
//! | — | large M: everything in s = σ/M alone | [`limit`] |
//! | — | the largest σ and the best k for an average rate | [`best_recycle`] |
//! | — | the same for stores of states | [`over_cycle`], [`two_phase`] |
//!
//! Where the paper is misprinted or ambiguous, the functions say so.

mod best;
mod cycle;
mod filter;
pub mod limit;
pub mod n_bounded;
mod stores;

pub use best::{Phases, Recycle, best_recycle};
pub use cycle::{CountedRates, Cycle, Frozen, counted_rates, even_repeats, one_hash};
pub use filter::{End, Filter, Hashing, Retain, expected_messages};
pub use stores::{over_cycle, two_phase};
