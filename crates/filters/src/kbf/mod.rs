//! `kbf`: the key-value Bloom filter of Xiong et al. (INFOCOM 2014, and its journal version).
//!
//! A cell holds a 3-bit count and the XOR of the encodings of its flows' states. Encodings are
//! chosen so that the XOR of any two of them says which two ([`Encodings`]); what the cells of a
//! flow have in common is its state (`decode`).

mod decode;
mod encodings;
mod rule;

pub use encodings::Encodings;
pub use rule::{Kbf, KbfRule};
