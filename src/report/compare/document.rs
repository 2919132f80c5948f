//! From what the engine found to the document.

use super::json::{
    Capacity, CensusReport, CompareReport, EffectiveReport, Load, Moment, Parameters, Ranges, Run,
    RunLabel, WorkingSet, ratio,
};
use super::summary;
use crate::engine::compare::capacity::AtCapacity;
use crate::engine::compare::{Comparison, EffectiveLookups, Feedback, Per, RunOutcome, StepCounts};
use crate::report::replay::ErrorReport;
use crate::report::trace::TraceReport;
use crate::time::NANOS_PER_SEC;
use acsm_filters::{Backend, StoreSpec};
use acsm_model::{StateMix, bound};

/// The document on `outcome`, with one entry per label and without conclusions. `full`: what each label's store
/// answers when it is full.
pub(super) fn document(
    outcome: &Comparison,
    labels: &[(RunLabel, AtCapacity)],
    trace: TraceReport,
    parameters: Parameters,
) -> CompareReport {
    let span = outcome.frames.span.map_or(0, |(first, last)| last.since(first));
    let seconds = span as f64 / NANOS_PER_SEC as f64;
    let load = load(outcome, &parameters, seconds);
    let mix = StateMix::new(&load.state_shares);
    let entries = |is_wanted: fn(f64) -> bool| -> Vec<Run> {
        let wanted = labels.iter().filter(|(label, _)| is_wanted(label.times));
        let entry = |(label, full): &(RunLabel, AtCapacity)| {
            Some(run(label, full, outcome.runs.get(label.run)?, seconds, &mix))
        };
        let mut runs: Vec<Run> = wanted.filter_map(entry).collect();
        summary::fill_ranges(&mut runs, &outcome.load.effective);
        runs
    };
    let (runs, other_sizes) = (entries(|times| times == 1.0), entries(|times| times != 1.0));
    let pairs = summary::pairs(&runs);
    let (answer, warnings) = (Vec::new(), Vec::new());
    CompareReport { trace, parameters, load, answer, warnings, runs, pairs, other_sizes }
}

fn load(outcome: &Comparison, parameters: &Parameters, seconds: f64) -> Load {
    let load = &outcome.load;
    let extant: u64 = load.lookups_extant.iter().sum();
    let shares = load.lookups_extant.iter().take(parameters.states.len());
    let state_shares: Vec<f64> = shares.map(|count| ratio(*count, extant)).collect();
    let known = StateMix::new(&state_shares);
    let EffectiveLookups { extant: of_extant, absent, all } = load.effective;
    Load {
        flows_total: load.flows_total,
        flows_peak: load.flows_peak,
        seconds,
        state_entropy_bits: if extant == 0 { 0.0 } else { known.entropy_bits() },
        commonest_state_error: match extant {
            0 => 0.0,
            _ => 1.0 - state_shares.iter().copied().fold(0.0, f64::max),
        },
        effective_lookups: EffectiveReport { extant: of_extant, absent, all },
        working_set: working_set(outcome, extant, parameters.states.len()),
        state_shares,
        alerts: load.alerts,
    }
}

/// Errors for which the working set is told.
const WORKING_SET_ERRORS: [f64; 2] = [1e-2, 1e-4];

fn working_set(outcome: &Comparison, extant: u64, states: usize) -> Vec<WorkingSet> {
    let load = &outcome.load;
    let row = |per: Per, error: f64| {
        let entries = load.reuse.entries_for(error, per, (extant, load.flows_total));
        let table = StoreSpec { flows: entries.max(1), ..StoreSpec::new(Backend::Exact, states) };
        let of = match per {
            Per::Lookup => "lookups",
            Per::Flow => "flows",
        };
        let bits = table.sizing().map_or(0, |sizing| sizing.bits);
        WorkingSet { of: of.to_owned(), error, entries, bits }
    };
    let per = [Per::Lookup, Per::Flow];
    per.iter().flat_map(|&per| WORKING_SET_ERRORS.map(|error| row(per, error))).collect()
}

fn run(
    label: &RunLabel,
    full: &AtCapacity,
    outcome: &RunOutcome,
    seconds: f64,
    mix: &StateMix,
) -> Run {
    let (spec, sizing) = (&label.spec, &label.sizing);
    let per_hour = |count: u64| if seconds > 0.0 { count as f64 * 3600.0 / seconds } else { 0.0 };
    let &AtCapacity { asked, found } = full;
    let capacity = Capacity { asked, found, false_positive_rate: ratio(found, asked) };
    let bound = || bound::bits_per_flow(capacity.false_positive_rate, mix);
    Run {
        backend: spec.backend.name().to_owned(),
        variant: label.variant.map(str::to_owned),
        fp_rate: label.fp_rate,
        equal: label.equal.to_owned(),
        ranked: label.ranked,
        feedback: feedback_name(label.feedback).to_owned(),
        seed: label.seed,
        flows: spec.flows,
        layout: spec.layout.name().to_owned(),
        expire: spec.expire.name().to_owned(),
        cells: sizing.cells,
        hashes: sizing.hashes,
        cell_bits: sizing.cell_bits,
        bits: sizing.bits,
        table_bits: sizing.table_bits,
        cache_bits: label.cache_bits,
        bits_per_flow: sizing.bits_per_flow,
        bound_bits_per_flow: (found > 0).then(bound),
        capacity,
        errors: ErrorReport::new(&outcome.errors, outcome.alerts),
        interval: Ranges::default(), // filled in when all seeds are there
        census: CensusReport::from(&outcome.census),
        spurious_alerts_per_hour: per_hour(outcome.alerts.spurious),
        missed_alerts_per_hour: per_hour(outcome.alerts.missed),
        timeline: timeline(outcome, seconds),
        seconds: outcome.nanos as f64 / NANOS_PER_SEC as f64,
    }
}

fn timeline(outcome: &RunOutcome, seconds: f64) -> Vec<Moment> {
    let step_seconds = outcome.timeline.step_nanos as f64 / NANOS_PER_SEC as f64;
    let moment = |(n, step): (usize, &StepCounts)| Moment {
        at_seconds: ((n + 1) as f64 * step_seconds).min(seconds),
        lookups: step.lookups,
        errors: step.errors,
        fill_ratio: step.fill_ratio,
    };
    outcome.timeline.steps.iter().enumerate().map(moment).collect()
}

/// The value of `loop`.
fn feedback_name(feedback: Feedback) -> &'static str {
    match feedback {
        Feedback::Closed => "closed",
        Feedback::Open => "open",
    }
}
