//! The comparison as text: a table with bars for each equal quantity and each loop.

use std::io::{self, Write};

use super::json::{CompareReport, Run};
use crate::report::format::{FAINT, HEADING, bar, duration, grouped};
use crate::time::NANOS_PER_SEC;

/// Columns of the longest bar.
const BAR_COLUMNS: usize = 24;
/// Decades that bars cover: they start at 1e-6.
const DECADES: f64 = 6.0;

/// Writes the tables and the conclusions.
pub fn write(report: &CompareReport, out: &mut impl Write) -> io::Result<()> {
    let (trace, load) = (&report.trace, &report.load);
    let span = duration((load.seconds * NANOS_PER_SEC as f64) as u64);
    writeln!(out, "{HEADING}Trace{HEADING:#}")?;
    writeln!(
        out,
        "  {} TCP packets in {span}; {} flows, at most {} alive at once; {} alerts",
        grouped(trace.tcp_packets),
        grouped(load.flows_total),
        grouped(load.flows_peak),
        grouped(load.alerts)
    )?;
    writeln!(out, "  states {}", states(report))?;
    if let Some((first, others)) = report.parameters.seeds.split_first() {
        let others = match others.len() {
            0 => String::new(),
            n => format!(" and the {n} after it"),
        };
        writeln!(out, "  seed {first}{others}")?;
    }
    for (equal, feedback) in tables(report) {
        let title = format!("Equal {equal}, {feedback} loop");
        writeln!(
            out,
            "\n{HEADING}{title:<26}    bits  wrong answers per lookup    alerts       flows{HEADING:#}"
        )?;
        writeln!(
            out,
            "{FAINT}  p        store          k  / flow     of absent of extant  missed  made up  \
             ever wrong, 1e-6 to 1 on a log scale{FAINT:#}"
        )?;
        let mut last_p = None;
        for run in report.runs.iter().filter(|run| run.equal == equal && run.feedback == feedback) {
            let is_new = last_p.replace(run.fp_rate) != Some(run.fp_rate);
            row(out, &if is_new { run.fp_rate.to_string() } else { String::new() }, run)?;
        }
    }
    writeln!(out, "\n{HEADING}Answer{HEADING:#}")?;
    report.answer.iter().try_for_each(|sentence| writeln!(out, "  {sentence}"))
}

fn states(report: &CompareReport) -> String {
    let (names, shares) = (&report.parameters.states, &report.load.state_shares);
    let seen = names.iter().zip(shares).filter(|(_, share)| **share > 0.0);
    let seen: Vec<String> =
        seen.map(|(name, share)| format!("{name} {:.1} %", 100.0 * share)).collect();
    let entropy = report.load.state_entropy_bits;
    format!("{} ({entropy:.2} bits)", if seen.is_empty() { "-".into() } else { seen.join(", ") })
}

/// Equal quantity and loop of each table, in the order of the runs.
fn tables(report: &CompareReport) -> Vec<(String, String)> {
    let mut tables = Vec::new();
    for run in &report.runs {
        let table = (run.equal.clone(), run.feedback.clone());
        if !tables.contains(&table) {
            tables.push(table);
        }
    }
    tables
}

fn row(out: &mut impl Write, p: &str, run: &Run) -> io::Result<()> {
    let errors = &run.errors;
    let absent = errors.false_positive + errors.dont_know_absent;
    let extant = errors.false_negative + errors.dont_know + errors.false_return;
    let wrong = errors.flows_wrong as f64 / errors.flows_total.max(1) as f64;
    // A value above zero always has a bar.
    let drawn = if wrong > 0.0 { (wrong.log10() + DECADES).max(f64::MIN_POSITIVE) } else { 0.0 };
    writeln!(
        out,
        "  {p:<8} {:<13} {:>2} {:>7.1} {:>13} {:>9} {:>7} {:>8}  {:<7} {}",
        run.store(),
        if run.hashes == 0 { "-".to_owned() } else { run.hashes.to_string() },
        run.bits_per_flow,
        rate(absent, errors.lookups_absent),
        rate(extant, errors.lookups_extant),
        grouped(errors.alerts_missed),
        grouped(errors.alerts_spurious),
        rate(errors.flows_wrong, errors.flows_total),
        bar(drawn, DECADES, BAR_COLUMNS),
    )
}

/// A rate; zero errors in n lookups are stated as at most 3/n.
fn rate(count: u64, of: u64) -> String {
    match (count, of) {
        (_, 0) => "-".to_owned(),
        (0, n) => format!("<{:.1e}", 3.0 / n as f64),
        (count, n) => format!("{:.1e}", count as f64 / n as f64),
    }
}
