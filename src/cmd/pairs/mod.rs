//! Keys and pairs as `acsm kv` and `acsm cluster` read them, and what they print about them.
//!
//! | file | subject |
//! |---|---|
//! | `source`, `format`, `csv` | pairs: inputs, and the formats |
//! | `keys`, `lines` | keys, one per line; lines |
//! | `repeats` | keys that come twice, told from false positives |
//! | `answers`, `changes` | what `get` prints; what `set` and `delete` do |

pub mod answers;
pub mod changes;
mod csv;
pub mod format;
pub mod keys;
mod lines;
pub mod repeats;
pub mod source;

/// The exit code if a key was not found.
pub const NOT_FOUND: u8 = 3;
