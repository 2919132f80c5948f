//! What theory says of the stores: closed forms, one file a structure, named as in `store`.
//!
//! Nothing here looks at a store: theory is evidence of its own.

pub mod bloom;
pub mod bloom_alpha;
pub mod bloom_g;
pub mod kbf;
pub mod recycling;
pub mod special;
pub mod word;
