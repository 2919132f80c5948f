//! The trace of the papers' TCP study: a generated one, as theirs (CAIDA) is not public.

use std::fs::File;
use std::io::BufWriter;

use super::temporary::Folder;
use crate::capture::{FileSource, TimeWindow};
use crate::flow::{FlowKeyKind, Keyer};
use crate::generate::{PaperTraffic, Profile, Trace, TraceSpec};
use crate::reproduce::trace_note::trace_note;
use crate::reproduce::{Context, Failure};

/// The papers' numbers of flows, and the packets of the profile for that many.
const FLOWS: u64 = 908_522;
const PACKETS: u64 = 5_000_000;
/// Purpose of the trace's seed.
const TRACE: u64 = 0x7472_6163;

/// A trace in a file that is removed when this is dropped.
pub struct PaperTrace {
    /// Flows: directed address pairs.
    pub flows: u64,
    /// How to make it again, with the defaults of what the papers do not tell.
    pub note: String,
    folder: Folder,
}

impl PaperTrace {
    /// Generates one with this number of flows and packets in proportion.
    pub fn new(context: &Context<'_>, flows: u64) -> Result<PaperTrace, Failure> {
        PaperTrace::with(context, flows, PaperTraffic::default())
    }

    /// The same of other traffic.
    pub fn with(
        context: &Context<'_>,
        flows: u64,
        paper: PaperTraffic,
    ) -> Result<PaperTrace, Failure> {
        let packets = (flows as f64 * PACKETS as f64 / FLOWS as f64) as u64;
        let [seed] = context.seed.numbers(TRACE);
        let spec = TraceSpec { packets, flows, seed, paper, ..TraceSpec::new(Profile::Paper) };
        let note = trace_note(&spec);
        let folder = Folder::new()?;
        let file = BufWriter::new(File::create(folder.path().join("trace.pcap"))?);
        let trace = Trace::new(spec).and_then(|trace| trace.write(file));
        trace.map_err(|error| Failure::Other(error.to_string()))?;
        context.check()?;
        Ok(PaperTrace { flows, note, folder })
    }

    /// Reads it from its beginning.
    pub fn open(&self) -> Result<FileSource, Failure> {
        let path = self.folder.path().join("trace.pcap");
        FileSource::open(&[path], TimeWindow::default())
            .map_err(|error| Failure::Other(error.to_string()))
    }
}

/// As many flows as the scale allows.
pub fn flows(context: &Context<'_>) -> u64 {
    context.pick(4000, 200_000, FLOWS)
}

/// Packets of one directed address pair are a flow.
pub fn keyer(context: &Context<'_>) -> Keyer {
    Keyer {
        kind: FlowKeyKind::Pair,
        vlan_in_key: false,
        hash_key: context.hash_key(0),
        pairs_directions: false,
    }
}
