//! The table that `acsm plan` prints for people.

use std::io::{self, Write};

use super::sentence::rate;
use super::{OptionReport, PlanReport};
use crate::report::format::{FAINT, HEADING, bytes, grouped};
use acsm_filters::Expire;

/// Writes all options, the recommended one marked and with its details.
pub fn write(out: &mut impl Write, report: &PlanReport) -> io::Result<()> {
    let wish = &report.wish;
    writeln!(out, "{HEADING}Plan{HEADING:#} for {}", requirements(report))?;
    let source = match wish.trace.is_empty() {
        true => "assumed (--trace FILE measures it)".to_owned(),
        false => format!("measured on {}", wish.trace.join(", ")),
    };
    let common = wish.state_shares.iter().copied().fold(0.0, f64::max);
    writeln!(
        out,
        "{FAINT}traffic {source}: {} states, {:.0} % of flows in one; {:.0} % of lookups for \
         absent flows{FAINT:#}\n",
        wish.states.len(),
        100.0 * common,
        100.0 * wish.absent_lookup_share
    )?;
    let many = wish.flows.is_none();
    let size = if many { "flows" } else { "memory" };
    writeln!(
        out,
        "{HEADING}  store layout    expire     k   cells {size:>10}   bits  absent  extant   total  \
         alerts lines hash{HEADING:#}\n{FAINT}{:>45}per flow     errors per lookup    per hour \
         per packet{FAINT:#}",
        ""
    )?;
    for (index, option) in report.options.iter().enumerate() {
        row(out, option, report.recommended == Some(index), many)?;
    }
    if !report.options.iter().all(|option| option.meets) {
        writeln!(
            out,
            "{FAINT}· does not meet the requirements: as close as its kind comes{FAINT:#}"
        )?;
    }
    let Some(best) = report.recommended.and_then(|index| report.options.get(index)) else {
        return writeln!(out, "\n{}", report.reason);
    };
    let label = if report.fulfilled { "Recommended" } else { "Not possible" };
    writeln!(out, "\n{HEADING}{label}{HEADING:#}: {}.", report.reason)?;
    details(out, report, best)
}

fn row(out: &mut impl Write, option: &OptionReport, best: bool, many: bool) -> io::Result<()> {
    let mark = match (best, option.meets) {
        (true, _) => '▶',
        (false, true) => ' ',
        (false, false) => '·',
    };
    let size = match many {
        true => short(option.flows as f64),
        false => bytes(option.bits / 8),
    };
    let errors = &option.errors;
    let (of_absent, of_extant) = (
        errors.false_positive_rate + errors.dont_know_absent_rate,
        errors.false_negative_rate + errors.dont_know_rate + errors.false_return_rate,
    );
    let bits_per_flow = match option.bits_per_flow {
        bits if bits < 10_000.0 => format!("{bits:.1}"),
        bits => short(bits),
    };
    let style = if best { HEADING } else { anstyle::Style::new() };
    writeln!(
        out,
        "{style}{mark} {:<5} {:<9} {:<9} {:>2} {:>7} {size:>10} {:>6} {:>7} {:>7} {:>7} {:>7} \
         {:>5} {:>4}{style:#}",
        option.store,
        if option.has_layout { option.layout } else { "-" },
        option.expire,
        option.hashes,
        short(option.cells as f64),
        bits_per_flow,
        rate(of_absent),
        rate(of_extant),
        rate(errors.total_rate),
        short(option.spurious_alerts_per_hour),
        option.memory_accesses,
        option.hash_bits,
    )
}

fn requirements(report: &PlanReport) -> String {
    let wish = &report.wish;
    let flows = wish.flows.map(|flows| format!("{} flows", grouped(flows)));
    let memory = wish.memory_bytes.map(|size| format!("memory of {}", bytes(size)));
    let fp_rate = wish.fp_rate.map(|p| format!("false positives at most {}", rate(p)));
    let error = wish.error.map(|e| format!("errors at most {} of all lookups", rate(e)));
    let parts: Vec<String> = [flows, memory, fp_rate, error].into_iter().flatten().collect();
    parts.join(", ")
}

fn details(out: &mut impl Write, report: &PlanReport, best: &OptionReport) -> io::Result<()> {
    let errors = &best.errors;
    let bound = match best.bound_bits_per_flow {
        Some(bound) => format!("; the lower bound is {bound:.1}"),
        None => String::new(),
    };
    let halves = if best.has_layout && best.expire == Expire::Timer.name() { "2 × " } else { "" };
    writeln!(
        out,
        "  memory       {}, {halves}{} cells of {} bits: {:.1} bits per flow{bound}",
        bytes(best.bits / 8),
        grouped(best.cells),
        best.cell_bits,
        best.bits_per_flow
    )?;
    writeln!(
        out,
        "  absent       false positive {}, don't know {}",
        rate(errors.false_positive_rate),
        rate(errors.dont_know_absent_rate)
    )?;
    writeln!(
        out,
        "  extant       false negative {}, don't know {}, false return {}",
        rate(errors.false_negative_rate),
        rate(errors.dont_know_rate),
        rate(errors.false_return_rate)
    )?;
    let rate = match report.wish.packets_per_second {
        Some(rate) => format!(" at {} packets/s", short(rate)),
        None => String::new(),
    };
    writeln!(
        out,
        "  alerts       at most {} spurious per hour{rate}",
        short(best.spurious_alerts_per_hour)
    )?;
    if let Some(messages) = best.messages_before_recycle {
        writeln!(out, "  recycles     after {} new flows", short(messages))?;
    }
    match best.buildable {
        true => writeln!(out, "  run it       acsm replay {} FILE", best.arguments),
        false => writeln!(out, "  run it       no: more than 64 GiB, or than shards can number"),
    }
}

/// A number in at most seven characters: `950`, `9.59M`, `1.2e15`.
fn short(number: f64) -> String {
    let (scaled, unit) = match number {
        n if n >= 1e15 => return format!("{n:.1e}"),
        n if n >= 1e12 => (n / 1e12, "T"),
        n if n >= 1e9 => (n / 1e9, "G"),
        n if n >= 1e6 => (n / 1e6, "M"),
        n if n >= 1e4 => (n / 1e3, "k"),
        n if n >= 10.0 || n == 0.0 => return format!("{n:.0}"),
        n if n >= 0.1 => return format!("{n:.1}"),
        n => return rate(n),
    };
    match scaled {
        n if n < 10.0 => format!("{n:.2}{unit}"),
        n if n < 100.0 => format!("{n:.1}{unit}"),
        n => format!("{n:.0}{unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (number, text) in [
            (0.0, "0"),
            (0.000_123, "1.2e-4"),
            (0.52, "0.5"),
            (950.4, "950"),
            (9_585.0, "9585"),
            (12_345.0, "12.3k"),
            (9.585e6, "9.59M"),
            (2.5e11, "250G"),
            (3e18, "3.0e18"),
        ] {
            assert_eq!(short(number), text);
        }
    }
}
