//! The text of `acsm inspect`.

use std::cmp::Reverse;
use std::io::{self, Write};

use super::{Facts, FlowFacts, Summary};
use crate::flow::{FlowKey, TcpFlags};
use crate::report::format::{FAINT, HEADING, bar, bytes, duration, grouped, percent};

/// Number of address pairs shown.
const BUSIEST: usize = 10;
const BAR_COLUMNS: usize = 32;

/// Writes the text: `facts` with the totals of `summary`.
pub fn write(out: &mut impl Write, facts: &Facts, summary: &Summary) -> io::Result<()> {
    overview(out, facts, summary)?;
    if facts.frames.tcp_packets > 0 {
        flags(out, facts, summary)?;
        flow_sizes(out, facts)?;
        busiest_pairs(out, facts)?;
    }
    skipped(out, facts)
}

fn overview(out: &mut impl Write, facts: &Facts, summary: &Summary) -> io::Result<()> {
    let tcp = facts.frames.tcp_packets;
    writeln!(out, "{HEADING}Trace{HEADING:#}")?;
    writeln!(
        out,
        "  packets      {}, TCP {} ({}), over IPv6 {}",
        grouped(facts.frames.packets),
        grouped(tcp),
        percent(tcp, facts.frames.packets),
        grouped(facts.ipv6_tcp_packets)
    )?;
    if let Some((first, last)) = facts.frames.span {
        writeln!(out, "  time         {first} to {last} ({})", duration(last.since(first)))?;
    }
    if !summary.trace.link_types.is_empty() {
        writeln!(out, "  link types   {}", summary.trace.link_types.join(", "))?;
    }
    writeln!(
        out,
        "  flows        {} (directed address pairs), {} directed 5-tuples",
        grouped(summary.flows),
        grouped(summary.five_tuples)
    )?;
    writeln!(out, "  TCP bytes    {} on the wire", bytes(facts.frames.tcp_bytes))?;
    if let Some(damage) = &summary.trace.damaged {
        writeln!(out, "  damaged      {damage}")?;
    }
    Ok(())
}

fn flags(out: &mut impl Write, facts: &Facts, summary: &Summary) -> io::Result<()> {
    writeln!(out, "\n{HEADING}Flags            packets        flows{HEADING:#}")?;
    for ((flag, name), packets) in TcpFlags::NAMED.iter().zip(facts.flag_packets) {
        let flows = facts.count_flows(|flow| flow.has(*flag));
        writeln!(out, "  {name:<10} {:>11}  {:>11}", grouped(packets), grouped(flows))?;
    }
    let flows_null = grouped(summary.flows_null);
    writeln!(out, "  {:<10} {:>11}  {flows_null:>11}", "none", grouped(facts.null_packets))?;
    for (name, flows) in [
        ("SYN only", summary.flows_syn_only),
        ("SYN+FIN", summary.flows_syn_fin),
        ("xmas", summary.flows_xmas),
    ] {
        writeln!(out, "  {name:<10} {:>11}  {:>11}", "", grouped(flows))?;
    }
    Ok(())
}

/// A histogram of packets per flow, in classes that double.
fn flow_sizes(out: &mut impl Write, facts: &Facts) -> io::Result<()> {
    let mut classes = [0u64; 64];
    for flow in facts.flows.values() {
        classes[flow.packets.max(1).ilog2() as usize] += 1;
    }
    let used = classes.iter().rposition(|&n| n > 0).map_or(0, |last| last + 1);
    let most = classes.iter().copied().max().unwrap_or(0) as f64;
    writeln!(out, "\n{HEADING}Packets per flow       flows{HEADING:#}")?;
    for (class, &flows) in classes.iter().enumerate().take(used) {
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

fn busiest_pairs(out: &mut impl Write, facts: &Facts) -> io::Result<()> {
    let mut pairs: Vec<(FlowKey, FlowFacts)> =
        facts.flows.iter().map(|(flow, facts)| (flow.key, *facts)).collect();
    let by_packets = |(key, flow): &(FlowKey, FlowFacts)| (Reverse(flow.packets), *key);
    if pairs.len() > BUSIEST {
        pairs.select_nth_unstable_by_key(BUSIEST - 1, by_packets);
        pairs.truncate(BUSIEST);
    }
    pairs.sort_unstable_by_key(by_packets);
    writeln!(out, "\n{HEADING}Busiest pairs    packets        bytes{HEADING:#}")?;
    for (FlowKey { src, dst, .. }, flow) in pairs {
        let (packets, bytes) = (grouped(flow.packets), bytes(flow.bytes));
        writeln!(out, "             {packets:>11}  {bytes:>11}  {src} → {dst}")?;
    }
    Ok(())
}

fn skipped(out: &mut impl Write, facts: &Facts) -> io::Result<()> {
    if facts.frames.skipped.total() == 0 {
        return Ok(());
    }
    writeln!(out, "\n{HEADING}Not counted      packets{HEADING:#}")?;
    for (skip, n) in facts.frames.skipped.iter() {
        let (name, why) = (skip.name(), skip.explain());
        writeln!(out, "  {name:<18} {:>7}  {FAINT}{why}{FAINT:#}", grouped(n))?;
    }
    Ok(())
}
