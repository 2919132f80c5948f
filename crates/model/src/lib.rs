//! What theory says of the stores: closed forms, one file a structure, named as in `store`.
//!
//! Nothing here looks at a store: theory is evidence of its own. What is computed is *open loop*:
//! a store that holds n flows in the states they are in, asked about one of them or a stranger.
//! `tests/model/` holds every form against fractions, simulation and the papers' print;
//! `docs/models.md` lists where the papers err.
//!
//! | file | from | what |
//! |---|---|---|
//! | [`bloom`] | kBF papers §4 | capacity, ρ, best k, counts of cells |
//! | [`dbf`], [`sbf`] | ACSM 2006 §3 | errors by kind |
//! | [`kbf`] | kBF papers §4 | decodability as printed and right; errors by decoding |
//! | [`bhbf`], [`fcf`] | our own | errors by kind |
//! | [`aging`] | ACSM 2006 §3.2 | ghosts of timer aging |
//! | [`bound`] | information theory | the fewest bits an error allows |
//! | [`recycling`] | recycling Bloom filters | average rates over a cycle |
//! | [`bloom_g`], [`bloom_alpha`] | fast Bloom filters | few memory accesses |
//! | [`counts`], [`word`], [`mix`] | | what these share: counts on cells, bits in words, mixes of states |
//! | [`special`] | | binomial and Poisson for 10^10 trials |

pub mod aging;
pub mod bhbf;
pub mod bloom;
pub mod bloom_alpha;
pub mod bloom_g;
pub mod bound;
pub mod counts;
pub mod dbf;
pub mod fcf;
pub mod kbf;
pub mod mix;
pub mod recycling;
pub mod sbf;
pub mod special;
pub mod word;

/// The largest number of states of a machine that the forms handle.
pub const STATES_MAX: usize = 16;
/// The largest number of cells per flow that a plan considers.
pub const HASHES_MAX: usize = 32;

pub use counts::FlowCells;
pub use mix::StateMix;

/// How often a store errs, by kind, as in a report's `errors`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ErrorRates {
    /// A stranger is said to be in a state; per lookup of strangers.
    pub false_positive: f64,
    /// The store cannot tell what a stranger is; per lookup of strangers.
    pub dont_know_absent: f64,
    /// A flow is said to be absent; per lookup of flows.
    pub false_negative: f64,
    /// The store cannot tell a flow's state; per lookup of flows.
    pub dont_know: f64,
    /// A flow is said to be in another state; per lookup of flows.
    pub false_return: f64,
}

impl ErrorRates {
    /// All errors per lookup, where the part `absent` of lookups is for strangers.
    pub fn total(&self, absent: f64) -> f64 {
        absent * self.of_absent() + (1.0 - absent) * self.of_extant()
    }

    /// These and `other`, weighed.
    pub fn plus(&self, other: &ErrorRates, weight: f64) -> ErrorRates {
        ErrorRates {
            false_positive: self.false_positive + weight * other.false_positive,
            dont_know_absent: self.dont_know_absent + weight * other.dont_know_absent,
            false_negative: self.false_negative + weight * other.false_negative,
            dont_know: self.dont_know + weight * other.dont_know,
            false_return: self.false_return + weight * other.false_return,
        }
    }

    /// All errors per lookup of strangers.
    pub fn of_absent(&self) -> f64 {
        self.false_positive + self.dont_know_absent
    }

    /// All errors per lookup of flows that are there.
    pub fn of_extant(&self) -> f64 {
        self.false_negative + self.dont_know + self.false_return
    }
}
