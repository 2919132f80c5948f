//! The summary text at the end of `acsm replay` and `acsm live`: incidents, then traffic and store in a few lines.

use std::io::{self, Write};

use serde_json::Value;

use super::json::{OverloadReport, Summary};
use super::{incidents, internals};
use crate::engine::{Measurement, RunPlan, RunResult};
use crate::machine::RuleKind;
use crate::report::format::{HEADING, bytes, grouped, percent};
use crate::time::Timestamp;

/// What a page shows beside the figures.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// The configuration of the run.
    pub plan: &'a RunPlan,
    /// What was read, such as the name of a file.
    pub input: &'a str,
    /// Incidents of this severity and higher ones are listed.
    pub min_severity: u8,
    /// Whether single alerts were shown.
    pub shows_alerts: bool,
    /// Whether to show how it works inside.
    pub is_verbose: bool,
    /// Whether incidents can be asked for by number.
    pub has_numbers: bool,
}

/// Writes the summary. `outcome` supplies what is not in the JSON document.
pub fn write(
    out: &mut impl Write,
    page: &Page<'_>,
    summary: &Summary,
    outcome: &RunResult,
) -> io::Result<()> {
    header(out, page, summary, outcome)?;
    let low_events = match page.shows_alerts {
        true => 0,
        false => outcome.alerts.alone,
    };
    let list = &outcome.alerts.incidents;
    if list.list.is_empty() {
        writeln!(out, "\n{HEADING}No incidents.{HEADING:#}{}", incidents::low_text(low_events))?;
        if let Some(why) = why_nothing(summary, outcome) {
            writeln!(out, "          {why}")?;
        }
    } else {
        writeln!(out)?;
        incidents::table(out, list, &page.plan.active.home, page.min_severity, low_events)?;
    }
    traffic(out, page, summary)?;
    store(out, summary, outcome)?;
    if page.has_numbers && !list.list.is_empty() {
        writeln!(out, "Next: --incident 1 (details)   --alerts eve.json (lines for programs)")?;
    }
    if page.is_verbose {
        writeln!(out)?;
        internals::write(out, summary, outcome)?;
    }
    match &summary.errors {
        Some(report) => internals::errors(out, report),
        None => Ok(()),
    }
}

fn header(
    out: &mut impl Write,
    page: &Page<'_>,
    summary: &Summary,
    outcome: &RunResult,
) -> io::Result<()> {
    write!(out, "{}: ", page.input)?;
    if let Some((first, last)) = outcome.frames.span {
        write!(out, "{} to {} UTC, ", moment(first), moment(last))?;
    }
    let flows = match &summary.pending {
        Some(pending) => pending.inserted,
        None => summary.flows.inserted,
    };
    let what = if page.plan.keyer.is_directed() { "flows" } else { "connections" };
    writeln!(out, "{} packets, {} {what}", grouped(summary.trace.packets), grouped(flows))
}

/// A moment to the second.
fn moment(time: Timestamp) -> String {
    let civil = time.civil();
    let (year, month, day) = (civil.year, civil.month, civil.day);
    let (hour, minute, second) = (civil.hour, civil.minute, civil.second);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// Why there may be nothing to show, and what to try.
fn why_nothing(summary: &Summary, outcome: &RunResult) -> Option<String> {
    let trace = &summary.trace;
    let muted = outcome.alerts.suppressed.muted;
    if trace.packets == 0 {
        return Some(
            "no packets: is the file empty, or does --filter, --from or --to leave nothing?"
                .to_owned(),
        );
    }
    if trace.tcp_packets == 0 {
        return Some(
            "no TCP, and acsm follows nothing else: `acsm inspect` says what there is".to_owned(),
        );
    }
    if outcome.one_way {
        return Some(
            "one direction only was captured: capture both, so that answers can be seen".to_owned(),
        );
    }
    (muted > 0).then(|| {
        format!(
            "{} alerts muted: within the first minute flows under way look new; try a longer capture",
            grouped(muted)
        )
    })
}

fn traffic(out: &mut impl Write, page: &Page<'_>, summary: &Summary) -> io::Result<()> {
    let trace = &summary.trace;
    let skipped = |names: &[&str]| -> u64 {
        names.iter().filter_map(|name| trace.skipped.get(*name)).filter_map(Value::as_u64).sum()
    };
    let (udp, icmp) = (skipped(&["udp"]), skipped(&["icmp", "tcp_in_icmp"]));
    let other = trace.packets.saturating_sub(trace.tcp_packets + udp + icmp);
    let share = |part| percent(part, trace.packets);
    write!(out, "{HEADING}TRAFFIC{HEADING:#}   TCP {} of packets", share(trace.tcp_packets))?;
    let parts = [("UDP", udp), ("ICMP", icmp), ("other", other)];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(_, part)| *part > 0)
        .map(|(name, part)| format!("{name} {}", share(part)))
        .collect();
    if !parts.is_empty() {
        write!(out, "; {} not examined", parts.join(", "))?;
    }
    if let Some(damage) = &trace.damaged {
        write!(out, "; damaged: {damage}")?;
    }
    let (fin, rst) = (grouped(summary.flows.fin), grouped(summary.flows.rst));
    let marks = page.plan.active.rules.list.of_kind(RuleKind::Mark);
    let are_shown = !page.plan.active.shown.intersection(marks).is_empty();
    let hint = if are_shown { "" } else { " (--marks lists them)" };
    writeln!(out, "\n          {fin} flows with a FIN, {rst} with a RST{hint}")
}

/// The share of wrong answers that was measured, in words where it is 0 or unknown.
fn measured_error(Measurement { last, worst }: &Measurement) -> String {
    let last_minute = match last {
        last if last.asked == 0 => "no lookups to measure an error in".to_owned(),
        last if last.high >= 1.0 => {
            "no error measured (too few lookups in the last minute for a bound)".to_owned()
        }
        last if last.wrong == 0 => format!("no error measured (at most {:.1e})", last.high),
        last => format!("error measured {:.1e} (at most {:.1e})", last.rate(), last.high),
    };
    match *worst > 0.0 {
        true => format!("{last_minute}, worst minute {worst:.1e}"),
        false => last_minute,
    }
}

fn store(out: &mut impl Write, summary: &Summary, outcome: &RunResult) -> io::Result<()> {
    let (store, flows) = (&summary.store, &summary.flows);
    let backend = store.backend.name();
    write!(out, "{HEADING}STORE{HEADING:#}     {backend} {}", bytes(store.bits / 8))?;
    if let Some(pending) = &summary.pending {
        write!(out, " + pending {}", bytes(pending.bits / 8))?;
    }
    let about = if flows.live_estimated { "about " } else { "" };
    write!(out, ", {about}{} flows at the end", grouped(flows.live))?;
    if let Some(measured) = &outcome.measured {
        write!(out, ", {}", measured_error(measured))?;
    } else if store.hashes > 0 {
        write!(out, ", error by theory {:.1e}", store.predicted_error)?;
    }
    writeln!(out)?;
    let OverloadReport { entered, over, seconds } = summary.overload;
    if entered > 0 {
        let until = if over < entered { ", the last one not over" } else { "" };
        let (entered, seconds) = (grouped(entered), grouped(seconds));
        writeln!(out, "          overload {entered} times, {seconds} s in all{until}")?;
    }
    internals::capacity(store).iter().try_for_each(|full| writeln!(out, "          {full}"))
}
