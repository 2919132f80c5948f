//! What several test programs, benches and fuzz targets share, by subject.
//!
//! Only [`parser_oracle`], [`plans`] and [`stores`] use acsm's library; the rest sees acsm from outside. The path of
//! the built program is known to test programs alone (`CARGO_BIN_EXE_acsm`): they pass it on.

pub mod browser;
pub mod corpus;
pub mod parser_oracle;
pub mod plans;
pub mod repository;
pub mod schema;
pub mod scratch_file;
pub mod stores;
