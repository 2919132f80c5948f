//! `kbf`: when a key-value Bloom filter can tell the state of a flow, and how often it errs.

mod codes;
mod decodability;
mod errors;

pub use codes::Codes;
pub use decodability::{
    cancels, crowded_cell, crowded_cell_at, undecodable_by_the_papers, undecodable_flow,
};
pub use errors::{SumsOfThree, errors, errors_of};
