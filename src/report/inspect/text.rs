//! The text of `acsm inspect`.

use std::io::{self, Write};

use super::{BusyPair, Totals};
use crate::capture::FrameCounts;
use crate::flow::TcpFlags;
use crate::report::format::{FAINT, HEADING, bar, bytes, duration, grouped, percent};
use crate::report::trace::TraceReport;

const BAR_COLUMNS: usize = 32;

/// Writes the text.
pub fn write(
    out: &mut impl Write,
    frames: &FrameCounts,
    totals: &Totals,
    trace: &TraceReport,
) -> io::Result<()> {
    overview(out, frames, totals, trace)?;
    if frames.tcp_packets > 0 {
        flags(out, totals)?;
        flow_sizes(out, totals)?;
        busiest_pairs(out, totals)?;
    }
    skipped(out, frames)
}

fn overview(
    out: &mut impl Write,
    frames: &FrameCounts,
    totals: &Totals,
    trace: &TraceReport,
) -> io::Result<()> {
    let tcp = frames.tcp_packets;
    writeln!(out, "{HEADING}Trace{HEADING:#}")?;
    writeln!(
        out,
        "  packets      {}, TCP {} ({}), over IPv6 {}",
        grouped(frames.packets),
        grouped(tcp),
        percent(tcp, frames.packets),
        grouped(totals.ipv6_tcp_packets)
    )?;
    if let Some((first, last)) = frames.span {
        writeln!(out, "  time         {first} to {last} ({})", duration(last.since(first)))?;
    }
    if !trace.link_types.is_empty() {
        writeln!(out, "  link types   {}", trace.link_types.join(", "))?;
    }
    writeln!(
        out,
        "  flows        {} (directed address pairs), {} directed 5-tuples",
        grouped(totals.flows),
        grouped(totals.five_tuples)
    )?;
    writeln!(out, "  TCP bytes    {} on the wire", bytes(frames.tcp_bytes))?;
    if let Some(damage) = &trace.damaged {
        writeln!(out, "  damaged      {damage}")?;
    }
    Ok(())
}

fn flags(out: &mut impl Write, totals: &Totals) -> io::Result<()> {
    writeln!(out, "\n{HEADING}Flags            packets        flows{HEADING:#}")?;
    let counts = totals.flag_packets.into_iter().zip(totals.flag_flows);
    for ((_, name), (packets, flows)) in TcpFlags::NAMED.iter().zip(counts) {
        writeln!(out, "  {name:<10} {:>11}  {:>11}", grouped(packets), grouped(flows))?;
    }
    let null_flows = grouped(totals.null_flows);
    writeln!(out, "  {:<10} {:>11}  {null_flows:>11}", "none", grouped(totals.null_packets))?;
    for (name, flows) in [
        ("SYN only", totals.syn_only_flows),
        ("SYN+FIN", totals.syn_fin_flows),
        ("xmas", totals.xmas_flows),
    ] {
        writeln!(out, "  {name:<10} {:>11}  {:>11}", "", grouped(flows))?;
    }
    Ok(())
}

/// A histogram of packets per flow, in classes that double.
fn flow_sizes(out: &mut impl Write, totals: &Totals) -> io::Result<()> {
    let most = totals.size_classes.iter().copied().max().unwrap_or(0) as f64;
    writeln!(out, "\n{HEADING}Packets per flow       flows{HEADING:#}")?;
    for (class, &flows) in totals.size_classes.iter().enumerate() {
        let low = 1u64 << class;
        let range = match class {
            0 => "1".to_owned(),
            _ => format!("{} to {}", grouped(low), grouped(low + (low - 1))),
        };
        let bar = bar(flows as f64, most, BAR_COLUMNS);
        writeln!(out, "  {range:<15} {:>10}  {bar}", grouped(flows))?;
    }
    Ok(())
}

fn busiest_pairs(out: &mut impl Write, totals: &Totals) -> io::Result<()> {
    writeln!(out, "\n{HEADING}Busiest pairs    packets        bytes{HEADING:#}")?;
    for &BusyPair { pair: (src, dst), packets, bytes: wire_bytes } in &totals.busiest {
        let (packets, bytes) = (grouped(packets), bytes(wire_bytes));
        writeln!(out, "             {packets:>11}  {bytes:>11}  {src} → {dst}")?;
    }
    Ok(())
}

fn skipped(out: &mut impl Write, frames: &FrameCounts) -> io::Result<()> {
    if frames.skipped.total() == 0 {
        return Ok(());
    }
    writeln!(out, "\n{HEADING}Not counted      packets{HEADING:#}")?;
    for (skip, n) in frames.skipped.iter() {
        let (name, why) = (skip.name(), skip.explain());
        writeln!(out, "  {name:<18} {:>7}  {FAINT}{why}{FAINT:#}", grouped(n))?;
    }
    Ok(())
}
