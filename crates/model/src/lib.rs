//! Closed forms for the errors of Bloom filters, of filters that map flows to states, and of
//! fingerprint tables; in plain numbers.
//!
//! # Properties
//!
//! No dependencies, no I/O, no randomness: functions of loads, widths and probabilities. Nothing
//! here reads a data structure, so that measurement and theory are independent evidence. All models
//! are *open loop*: a store holds n flows in given states, and is asked about one of them (an extant
//! flow) or about another (an absent flow).
//!
//! # Usage
//!
//! How often does a key-value Bloom filter with 9.6 cells per flow err, where 80 % of the flows are
//! in one of six states?
//!
//! ```
//! use acsm_model::kbf::{self, Decoding};
//! use acsm_model::{FlowCells, StateMix, bloom, bound};
//!
//! let (flows, cells) = (1e6, 9.6e6);
//! let hashes = bloom::best_hashes(cells / flows, 32);
//! let load = bloom::load(cells, hashes, flows);
//! let mix = StateMix::new(&[80.0, 4.0, 4.0, 4.0, 4.0, 4.0]);
//! let errors = kbf::errors(&FlowCells::at_load(hashes, load), &mix, Decoding::AllPairs);
//! assert!(errors.of_absent() < 0.011);
//! assert!(errors.dont_know < 0.02 && errors.false_negative == 0.0);
//! // No structure with this false positive rate takes fewer bits per flow.
//! assert!(bound::static_bits_per_flow(errors.of_absent(), &mix) < 9.6 * 8.0);
//! ```
//!
//! # Implementation
//!
//! One structure per file, named as in `acsm-filters`:
//!
//! | file | from | what |
//! |---|---|---|
//! | [`bloom`] | kBF papers §4 | false positive rate, capacity, ρ, best k, counts of cells |
//! | [`dbf`], [`sbf`] | ACSM 2006 §3 | errors by kind |
//! | [`kbf`] | kBF papers §4 | decodability as printed and corrected; errors by decoding |
//! | [`joint`] | own | the same filter in joint decoding, with and without salts |
//! | [`kv`] | kBF papers §4, own | the same filter with thousands of values |
//! | [`bhbf`], [`fcf`] | own | errors by kind |
//! | [`aging`] | ACSM 2006 §3.2 | expired flows that timer aging leaves on shared cells |
//! | [`halves`] | own | filters that take turns with the epoch |
//! | [`bound`] | information theory | the fewest bits per flow at an error rate |
//! | [`recycling`] | recycling Bloom filters | average rates over a cycle |
//! | [`bloom_g`], [`bloom_alpha`] | fast Bloom filters | few memory accesses |
//! | [`errors`], [`counts`], [`state_mix`] | | shared: error rates, counts on cells, mixes of states |
//! | [`special`] | | binomial and Poisson probabilities for 10^10 trials |
//!
//! Where a paper's formula is misprinted, the corrected form is here beside the printed one, and the
//! function says so.
//!
//! # References
//!
//! Bonomi et al., *Beyond Bloom Filters* (SIGCOMM 2006), "ACSM 2006"; Xiong et al., *kBF* (INFOCOM
//! 2014, and its journal version); Qiao et al., *Fast Bloom Filters and Their Generalization*
//! (2013); Dozier et al., *Modeling Average False Positive Rates of Recycling Bloom Filters*; Fan et
//! al., *Cuckoo Filter* (CoNEXT 2014); Loader, *Fast and Accurate Computation of Binomial
//! Probabilities* (2000).

pub mod aging;
pub mod bhbf;
pub mod bloom;
pub mod bloom_alpha;
pub mod bloom_g;
pub mod bound;
pub mod counts;
pub mod dbf;
mod encodings;
pub mod errors;
pub mod fcf;
pub mod halves;
pub mod joint;
pub mod kbf;
pub mod kv;
pub mod recycling;
pub mod sbf;
pub mod special;
pub mod state_mix;

/// The largest number of states of a machine.
pub const STATES_MAX: usize = 16;
/// The largest number of cells per flow that a search considers.
pub const HASHES_MAX: usize = 32;

pub use counts::FlowCells;
pub use errors::ErrorRates;
pub use state_mix::StateMix;
