//! How to make the trace of an experiment again.

use crate::generate::TraceSpec;

/// A note with the command that makes a trace of this profile, size and seed.
pub fn trace_note(spec: &TraceSpec) -> String {
    format!(
        "The trace: `acsm generate -o trace.pcap --profile {} --packets {} --flows {} --seed {}`.",
        spec.profile.name(),
        spec.packets,
        spec.flows,
        spec.seed
    )
}
