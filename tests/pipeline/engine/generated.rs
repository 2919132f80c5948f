//! Captures that the generator makes for a test.

use std::io::Write;

use acsm::generate::{Trace, TraceSpec};

/// The capture that `spec` describes, in a file that is removed with what this returns.
pub fn generated(spec: TraceSpec) -> tempfile::NamedTempFile {
    let mut pcap = Vec::new();
    Trace::new(spec).unwrap().write(&mut pcap).unwrap();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&pcap).unwrap();
    file
}
