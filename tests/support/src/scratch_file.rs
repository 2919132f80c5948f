//! A temporary file for one input of a fuzz target: what the target tests takes a path.

use std::fs;
use std::path::Path;

/// Writes `bytes` to a file that lasts as long as `read` does.
pub fn with_file<T>(suffix: &str, bytes: &[u8], read: impl FnOnce(&Path) -> T) -> T {
    let file = tempfile::Builder::new().suffix(suffix).tempfile().expect("a temporary file");
    fs::write(file.path(), bytes).expect("room for the temporary file");
    read(file.path())
}
