//! What a run says at its end: [`Summary`] is the JSON contract, [`page`] the same for people.

mod errors;
pub mod page;
mod prediction;
mod summary;

pub use errors::ErrorReport;
pub use prediction::{Overload, OverloadWatch, Prediction};
pub use summary::{Context, StoreReport, Summary};
