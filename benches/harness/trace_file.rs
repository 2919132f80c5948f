//! A generated trace on disk, removed at the end of the bench.

use std::fs::File;
use std::path::PathBuf;

use acsm::capture::{FileSource, TimeWindow};
use acsm::generate::{Trace, TraceSpec};
use tempfile::TempDir;

/// A trace file that lives as long as this does.
pub struct TraceFile {
    _folder: TempDir,
    /// Its path.
    pub path: PathBuf,
    /// How many packets it has.
    pub packets: u64,
}

impl TraceFile {
    /// Generates the trace into a temporary folder.
    pub fn new(spec: TraceSpec) -> TraceFile {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("trace.pcap");
        let packets = spec.packets;
        let trace = Trace::new(spec).expect("a trace that can be");
        let file = File::create(&path).expect("a file in the temporary folder");
        trace.write(file).expect("room for the trace");
        TraceFile { _folder: folder, path, packets }
    }

    /// Opens it as `acsm` does.
    pub fn open(&self) -> FileSource {
        FileSource::open(std::slice::from_ref(&self.path), TimeWindow::default())
            .expect("a capture")
    }
}
