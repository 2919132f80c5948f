//! The summary at the end of a live run: that of a replay, and the counts of each interface.

use std::io::{self, Write};

use serde::Serialize;

use crate::capture::live::InterfaceCounts;
use crate::engine::RunResult;
use crate::report::format::{HEADING, bytes, grouped, percent};
use crate::report::replay::Summary;
use crate::report::replay::text::{self, Page};

/// The one document that `acsm live --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LiveSummary {
    /// As for a replay.
    #[serde(flatten)]
    pub summary: Summary,
    /// The seed, as text: not every JSON reader is exact for numbers of this size.
    pub seed: String,
    /// Received and dropped frames of each interface.
    pub interfaces: Vec<InterfaceCounts>,
}

/// Writes the summary as text for people.
pub fn capture_page(
    out: &mut impl Write,
    page: &Page<'_>,
    summary: &LiveSummary,
    outcome: &RunResult,
) -> io::Result<()> {
    writeln!(out, "{HEADING}Capture{HEADING:#}")?;
    for counts in &summary.interfaces {
        let (packets, kernel) = (counts.packets, counts.kernel_drops);
        writeln!(
            out,
            "  {:<12} {} packets, {}; dropped by the kernel {} ({}), by the interface {}",
            counts.interface,
            grouped(packets),
            bytes(counts.bytes),
            grouped(kernel),
            percent(kernel, packets.saturating_add(kernel)),
            grouped(counts.interface_drops)
        )?;
        if counts.losses_of_link > 0 {
            writeln!(out, "  {:<12} went away {} times", "", counts.losses_of_link)?;
        }
    }
    writeln!(out, "  seed         {}\n", summary.seed)?;
    text::write(out, page, &summary.summary, outcome)
}
