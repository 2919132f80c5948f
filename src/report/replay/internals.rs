//! How a run went inside, for `-v`: trace, store and alerts, count by count; and the errors that `--verify` finds.

use std::io::{self, Write};

use serde_json::{Map, Value};

use super::json::{ErrorReport, OverloadReport, StoreReport, Summary};
use crate::engine::{Measurement, RunResult};
use crate::report::format::{FAINT, HEADING, bytes, duration, grouped, percent};
use acsm_filters::Expire;

/// Writes all of it but the errors. `outcome` supplies what is not in the JSON document.
pub fn write(out: &mut impl Write, summary: &Summary, outcome: &RunResult) -> io::Result<()> {
    trace(out, summary, outcome)?;
    store(out, summary, outcome)?;
    alerts(out, summary)
}

fn trace(out: &mut impl Write, summary: &Summary, outcome: &RunResult) -> io::Result<()> {
    let (trace, speed) = (&summary.trace, &summary.speed);
    writeln!(out, "{HEADING}Trace{HEADING:#}")?;
    let (packets, tcp) = (grouped(trace.packets), grouped(trace.tcp_packets));
    let (seconds, rate) = (speed.seconds, speed.packets_per_second / 1e6);
    writeln!(
        out,
        "  packets      {packets}, TCP {tcp}, in {seconds:.2} s ({rate:.2} M packets/s)"
    )?;
    if let Some((first, last)) = outcome.frames.span {
        writeln!(out, "  time         {first} to {last} ({})", duration(last.since(first)))?;
    }
    if !trace.skipped.is_empty() {
        let reasons: Vec<String> =
            trace.skipped.iter().map(|(why, n)| format!("{why} {n}")).collect();
        writeln!(out, "  skipped      {}", reasons.join(", "))?;
    }
    if let Some(damage) = &trace.damaged {
        writeln!(out, "  damaged      {damage}")?;
    }
    if let Some(seed) = &summary.seed {
        writeln!(out, "  seed         {seed}")?;
    }
    if outcome.one_way {
        writeln!(out, "  one-way      nearly all flows or handshakes show one direction only")?;
    }
    Ok(())
}

fn store(out: &mut impl Write, summary: &Summary, outcome: &RunResult) -> io::Result<()> {
    let (store, flows, lookups) = (&summary.store, &summary.flows, &summary.lookups);
    let asked = lookups.known + lookups.absent + lookups.dont_know;
    writeln!(out, "\n{HEADING}Store{HEADING:#}")?;
    write!(out, "  {:<12} {}", store.backend.name(), bytes(store.bits / 8))?;
    let (cells, bits, used) = (grouped(store.cells), store.cell_bits, 100.0 * store.fill_ratio);
    match (store.backend.has_cells(), store.hashes) {
        (_, 0) => {}
        (false, _) => write!(out, ": {cells} slots of {bits} bits, {used:.1} % in use")?,
        (true, k) => {
            let halves = if store.expire == Expire::Timer.name() { "2 × " } else { "" };
            write!(
                out,
                ": {halves}{cells} cells of {bits} bits, {k} per flow, {used:.1} % in use"
            )?;
        }
    }
    writeln!(out, ", {:.1} bits per flow", store.bits_per_flow)?;
    let about = if flows.live_estimated { "about " } else { "" };
    writeln!(
        out,
        "  flows        {} inserted, {} deleted, {about}{} alive at the end, {} cells aged",
        grouped(flows.inserted),
        grouped(flows.deleted),
        grouped(flows.live),
        grouped(flows.cells_aged)
    )?;
    writeln!(
        out,
        "  lookups      {} known, {} absent, {} don't know ({})",
        grouped(lookups.known),
        grouped(lookups.absent),
        grouped(lookups.dont_know),
        percent(lookups.dont_know, asked)
    )?;
    error(out, summary, outcome)?;
    recycled(out, summary)?;
    pending(out, summary)?;
    overload(out, summary)?;
    capacity(store).iter().try_for_each(|full| writeln!(out, "  full         {full}"))?;
    let (batch, sweep) = (&outcome.batch_nanos, &outcome.shards.sweep_nanos);
    writeln!(
        out,
        "  {FAINT}time         batch median {}, 99 % {}; sweep slice median {}, 99 % {}{FAINT:#}",
        duration(batch.quantile(0.5)),
        duration(batch.quantile(0.99)),
        duration(sweep.quantile(0.5)),
        duration(sweep.quantile(0.99))
    )
}

/// The error measured on a sample of flows; and the predicted one, where the sample says too little.
fn error(out: &mut impl Write, summary: &Summary, outcome: &RunResult) -> io::Result<()> {
    if let Some(Measurement { last, worst }) = &outcome.measured {
        writeln!(
            out,
            "  error        about {} of {} lookups wrong in the last minute, by {} sampled flows; at most {:.1e}, \
             worst minute {worst:.1e}",
            grouped(last.wrong),
            grouped(last.asked),
            grouped(last.flows),
            last.high
        )?;
    }
    let store = &summary.store;
    let is_thin = outcome.measured.as_ref().is_none_or(|measured| measured.last.is_thin());
    if store.hashes > 0 && is_thin {
        writeln!(
            out,
            "  theory       {:.1e} of lookups wrong at this load, {:.1e} at what it was made for",
            store.predicted_error, store.planned_error
        )?;
    }
    Ok(())
}

/// How often a recycling store was recycled.
fn recycled(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    let (Some(at), flows) = (&summary.store.recycle_at, &summary.flows) else { return Ok(()) };
    write!(out, "  recycled     {} times in all shards, at {at}", grouped(flows.recycles))?;
    if flows.moved > 0 {
        write!(out, "; {} flows moved to an active half", grouped(flows.moved))?;
    }
    writeln!(out)
}

/// Flows that were pending, and what became of them.
fn pending(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    let Some(pending) = &summary.pending else { return Ok(()) };
    let (inserted, admitted) = (grouped(pending.inserted), grouped(pending.admitted));
    let (lost, memory) = (grouped(pending.lost), bytes(pending.bits / 8));
    writeln!(
        out,
        "  pending      {inserted} flows, {admitted} admitted to the store, {lost} lost; {memory} beside \
         the store"
    )
}

/// Times in which new flows were too many, if there were any.
fn overload(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    let OverloadReport { entered, over, seconds } = summary.overload;
    if entered == 0 {
        return Ok(());
    }
    let until = if over < entered { ", the last one not over" } else { "" };
    writeln!(
        out,
        "  overload     {} times new flows were too many, for {} s in all{until}",
        grouped(entered),
        grouped(seconds)
    )
}

/// Capacity limits that were reached, a sentence for each.
pub fn capacity(store: &StoreReport) -> Vec<String> {
    [
        (store.evicted, "flows evicted, the longest idle first"),
        (store.full, "times a new flow found no room: raise --flows"),
        (store.refused, "flows refused, beyond --flows: pending instead"),
        (store.saturations, "counters stuck at their maximum"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{} {what}", grouped(count)))
    .collect()
}

fn alerts(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    let alerts = &summary.alerts;
    writeln!(out, "\n{HEADING}Alerts         {:>11}{HEADING:#}", grouped(alerts.total))?;
    counts(out, &alerts.by_rule)?;
    if !alerts.only_counted.is_empty() {
        writeln!(out, "\n{HEADING}Counted, not shown{HEADING:#}")?;
        counts(out, &alerts.only_counted)?;
    }
    let left_out: u64 = alerts.left_out.values().filter_map(Value::as_u64).sum();
    if left_out > 0 {
        writeln!(out, "\n{HEADING}Left out       {:>11}{HEADING:#}", grouped(left_out))?;
        counts(out, &alerts.left_out)?;
    }
    let lost = &alerts.thresholds;
    if lost.unwatched + lost.evicted_keys > 0 {
        writeln!(
            out,
            "  thresholds ran out of room: {} first packets unwatched, {} keys forgotten; their \
             counts are lower bounds",
            grouped(lost.unwatched),
            grouped(lost.evicted_keys)
        )?;
    }
    Ok(())
}

fn counts(out: &mut impl Write, counts: &Map<String, Value>) -> io::Result<()> {
    for (name, count) in counts {
        let count = count.as_u64().unwrap_or(0);
        if count > 0 {
            writeln!(out, "  {name:<24} {:>11}", grouped(count))?;
        }
    }
    Ok(())
}

/// Writes the errors against an exact table.
pub fn errors(out: &mut impl Write, errors: &ErrorReport) -> io::Result<()> {
    writeln!(
        out,
        "\n{HEADING}Errors against an exact table     errors        lookups      rate{HEADING:#}"
    )?;
    let rows = [
        ("false positive", errors.false_positive, errors.lookups_absent),
        ("don't know, absent", errors.dont_know_absent, errors.lookups_absent),
        ("false negative", errors.false_negative, errors.lookups_extant),
        ("don't know", errors.dont_know, errors.lookups_extant),
        ("false return", errors.false_return, errors.lookups_extant),
    ];
    for (kind, count, lookups) in rows {
        let rate = rate_text(count, lookups);
        writeln!(out, "  {kind:<26} {:>11} {:>14}  {rate}", grouped(count), grouped(lookups))?;
    }
    writeln!(
        out,
        "  flows ever wrong {} of {} ({}); alerts missed {}, spurious {}",
        grouped(errors.flows_wrong),
        grouped(errors.flows_total),
        percent(errors.flows_wrong, errors.flows_total),
        grouped(errors.alerts_missed),
        grouped(errors.alerts_spurious)
    )
}

/// A rate; zero errors in n lookups are stated as at most 3/n (95 % confidence).
fn rate_text(count: u64, lookups: u64) -> String {
    match (count, lookups) {
        (_, 0) => "-".to_owned(),
        (0, n) => format!("0 (at most {:.1e})", 3.0 / n as f64),
        (count, n) => format!("{:.2e}", count as f64 / n as f64),
    }
}
