//! The comparison as text: a table with bars for each equal quantity and each loop.

use std::io::{self, Write};

use super::json::{CompareReport, Run};
use super::summary::{Repetitions, repetitions};
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
    let effective = &report.load.effective_lookups;
    writeln!(
        out,
        "  lookups are worth {} equal flows that are there, {} that are not; the commonest state is wrong in {}",
        grouped(effective.extant.round() as u64),
        grouped(effective.absent.round() as u64),
        rate(load.commonest_state_error)
    )?;
    for (equal, feedback) in tables(report) {
        let title = format!("Equal {equal}, {feedback} loop");
        writeln!(
            out,
            "\n{HEADING}{title:<26}    bits  flows  at the end of the trace  range over seeds, per lookup{HEADING:#}"
        )?;
        writeln!(
            out,
            "{FAINT}  p        store           / flow  wrong  not right  false pos.  of absent          of \
             extant          ever wrong, 1e-6 to 1{FAINT:#}"
        )?;
        let is_in = |run: &&Run| run.equal == equal && run.feedback == feedback;
        let groups = repetitions(report.runs.iter().filter(is_in));
        let (ranked, others): (Vec<_>, Vec<_>) =
            groups.iter().partition(|group| group.runs.iter().all(|run| run.ranked));
        rows(out, &ranked)?;
        if !others.is_empty() {
            writeln!(
                out,
                "{FAINT}  without cells: sized for the same p, exact with the memory of the first{FAINT:#}"
            )?;
            rows(out, &others)?;
        }
    }
    other_sizes(report, out)?;
    writeln!(out, "\n{HEADING}Answer{HEADING:#}")?;
    report.answer.iter().try_for_each(|sentence| writeln!(out, "  {sentence}"))?;
    report.warnings.iter().try_for_each(|warning| writeln!(out, "  Note: {warning}."))
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

/// The rows of a table, each for all seeds of a store and a rate.
fn rows(out: &mut impl Write, groups: &[&Repetitions<'_>]) -> io::Result<()> {
    let mut last_p = None;
    for group in groups {
        let Some(run) = group.runs.first() else { continue };
        let is_new = last_p.replace(run.fp_rate) != Some(run.fp_rate);
        let p = if is_new { run.fp_rate.to_string() } else { String::new() };
        row(out, &p, run, group)?;
    }
    Ok(())
}

fn row(out: &mut impl Write, p: &str, run: &Run, group: &Repetitions<'_>) -> io::Result<()> {
    let wrong = group.mean(Run::flows_wrong_rate);
    // A value above zero always has a bar.
    let drawn = if wrong > 0.0 { (wrong.log10() + DECADES).max(f64::MIN_POSITIVE) } else { 0.0 };
    let ranges = &run.interval;
    let of_absent = |run: &Run| run.errors.false_positive_rate + run.errors.dont_know_absent_rate;
    let of_extant = |run: &Run| run.null_rate() + run.errors.false_return_rate;
    let absent = range(group.range(of_absent), ranges.false_positive_rate);
    let extant = range(group.range(of_extant), ranges.null_rate);
    writeln!(
        out,
        "  {p:<8} {:<15} {:>6.1} {:>6} {:>10} {:>11}  {absent:<18} {extant:<18} {}",
        run.store(),
        run.bits_per_flow,
        mean_count(group.mean(|run| run.errors.flows_wrong as f64)),
        mean_count(group.mean(|run| run.census.held.saturating_sub(run.census.held_right) as f64)),
        rate(group.mean(Run::unseen_found_rate)),
        bar(drawn, DECADES, BAR_COLUMNS),
    )
}

/// A range over seeds; `bound` is that of a rate of which none was seen.
fn range([low, high]: [f64; 2], [_, bound]: [f64; 2]) -> String {
    match () {
        () if high == 0.0 => format!("≤{}", rate(bound)),
        () if low == high => rate(high),
        () => format!("{} – {}", rate(low), rate(high)),
    }
}

fn rate(rate: f64) -> String {
    if rate == 0.0 { "none".to_owned() } else { format!("{rate:.1e}") }
}

/// A mean of counts.
fn mean_count(mean: f64) -> String {
    if mean < 10.0 && mean.fract() != 0.0 {
        format!("{mean:.1}")
    } else {
        grouped(mean.round() as u64)
    }
}

/// The errors of stores for half and for twice as many flows.
fn other_sizes(report: &CompareReport, out: &mut impl Write) -> io::Result<()> {
    let Some(first) = report.other_sizes.first() else { return Ok(()) };
    let p = first.fp_rate;
    writeln!(out, "\n{HEADING}Stores of another size, p = {p}: flows ever wrong{HEADING:#}")?;
    for group in repetitions(report.other_sizes.iter()) {
        let Some(run) = group.runs.first() else { continue };
        let wrong = mean_count(group.mean(|run| run.errors.flows_wrong as f64));
        writeln!(out, "  for {:>11} flows  {:<15} {wrong:>9}", grouped(run.flows), group.name)?;
    }
    Ok(())
}
