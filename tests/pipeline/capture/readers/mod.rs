//! The file readers: every format variant, compression, several inputs, damage of all kinds.

mod build;
mod compressed;
mod corpus;
mod damage;
mod formats;
mod inputs;
mod properties;
