//! The exact store as a plain list: the crate's own model of an exact table.

pub use acsm_filters::testing::SlowExact;
