//! `kbf`: when a key-value Bloom filter can tell the state of a flow, and how often it errs.

mod codes;
mod decodability;
mod errors;

pub use codes::Codes;
pub use decodability::{
    cancels, crowded_cell, crowded_cell_at, undecodable_by_the_papers, undecodable_flow,
};
pub use errors::{SumsOfThree, errors, errors_of};

/// How a kBF decodes the state of a flow when none of its cells holds that flow alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decoding {
    /// The intersection of all cells with two flows, then of those with three.
    AllPairs,
    /// Algorithms 6 and 7 as printed: the first two cells with two flows, or one of two flows and
    /// one of three.
    Literal,
    /// The 2014 text: the intersection of all cells with two or three flows.
    ThreeWay,
}
