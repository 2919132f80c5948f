//! From what the engine counted to the document.

use super::{CompareReport, Intervals, Load, Moment, Parameters, Run, answer};
use crate::engine::ErrorKind;
use crate::engine::compare::{Comparison, Feedback, RateIntervals, RunOutcome};
use crate::report::replay::ErrorReport;
use crate::report::trace::TraceReport;
use crate::time::NANOS_PER_SEC;
use acsm_filters::{Sizing, StoreSpec};
use acsm_model::{StateMix, bound};

/// What a run is called, and which of the engine's runs it is. Two entries of a report can be one
/// run: a store that is the same at equal cells and at equal memory.
#[derive(Debug, Clone)]
pub struct RunLabel {
    /// The variant of the store, if it is not the default.
    pub variant: Option<&'static str>,
    /// The rate it is sized by, or what it is as large as.
    pub fp_rate: f64,
    /// What it has in common with the others of its rate.
    pub equal: &'static str,
    /// Whose answer it goes on from.
    pub feedback: Feedback,
    /// The seed itself.
    pub seed: u64,
    /// What was asked for.
    pub spec: StoreSpec,
    /// What that came to.
    pub sizing: Sizing,
    /// Its place in [`Comparison::runs`].
    pub run: usize,
}

impl CompareReport {
    /// The document on `outcome`, its runs called by `labels`.
    pub fn new(
        outcome: &Comparison,
        labels: &[RunLabel],
        trace: TraceReport,
        parameters: Parameters,
    ) -> CompareReport {
        let span = outcome.frames.span.map_or(0, |(first, last)| last.since(first));
        let seconds = span as f64 / NANOS_PER_SEC as f64;
        let load = load(outcome, parameters.states.len(), seconds);
        let mix = StateMix::new(&load.state_shares);
        let found = |label: &RunLabel| Some((label.clone(), outcome.runs.get(label.run)?));
        let runs = labels.iter().filter_map(found);
        let runs = runs.map(|(label, found)| run(&label, found, seconds, &mix)).collect();
        let mut report = CompareReport { trace, parameters, load, answer: Vec::new(), runs };
        report.answer = answer::sentences(&report);
        report
    }
}

fn load(outcome: &Comparison, states: usize, seconds: f64) -> Load {
    let load = &outcome.load;
    let extant: u64 = load.lookups_extant.iter().sum();
    let share = |count: &u64| if extant == 0 { 0.0 } else { *count as f64 / extant as f64 };
    let state_shares: Vec<f64> = load.lookups_extant.iter().take(states).map(share).collect();
    let known = StateMix::new(&state_shares);
    Load {
        flows_total: load.flows_total,
        flows_peak: load.flows_peak,
        seconds,
        state_entropy_bits: if extant == 0 { 0.0 } else { known.entropy_bits() },
        state_shares,
        alerts: load.alerts,
    }
}

fn run(label: &RunLabel, found: &RunOutcome, seconds: f64, mix: &StateMix) -> Run {
    let (spec, sizing) = (&label.spec, &label.sizing);
    let errors = ErrorReport::new(&found.errors, found.alerts);
    let per_hour = |count: u64| if seconds > 0.0 { count as f64 * 3600.0 / seconds } else { 0.0 };
    // To tell strangers apart is to say "absent", not "don't know".
    let strangers_taken_for_flows = errors.false_positive_rate + errors.dont_know_absent_rate;
    let bound = || bound::bits_per_flow(strangers_taken_for_flows, mix);
    Run {
        backend: spec.backend.name().to_owned(),
        variant: label.variant.map(str::to_owned),
        fp_rate: label.fp_rate,
        equal: label.equal.to_owned(),
        feedback: feedback_name(label.feedback).to_owned(),
        seed: label.seed,
        layout: spec.layout.name().to_owned(),
        expire: spec.expire.name().to_owned(),
        cells: sizing.cells,
        hashes: sizing.hashes,
        cell_bits: sizing.cell_bits,
        bits: sizing.bits,
        bits_per_flow: sizing.bits_per_flow,
        bound_bits_per_flow: (strangers_taken_for_flows > 0.0).then(bound),
        errors,
        interval: intervals(&found.intervals),
        spurious_alerts_per_hour: per_hour(found.alerts.spurious),
        missed_alerts_per_hour: per_hour(found.alerts.missed),
        timeline: timeline(found, seconds),
        seconds: found.nanos as f64 / NANOS_PER_SEC as f64,
    }
}

fn timeline(found: &RunOutcome, seconds: f64) -> Vec<Moment> {
    let step_seconds = found.timeline.step_nanos as f64 / NANOS_PER_SEC as f64;
    let moment = |(n, step): (usize, &crate::engine::compare::StepCounts)| Moment {
        at_seconds: ((n + 1) as f64 * step_seconds).min(seconds),
        lookups: step.lookups,
        errors: step.errors,
        fill_ratio: step.fill_ratio,
    };
    found.timeline.steps.iter().enumerate().map(moment).collect()
}

fn intervals(rates: &RateIntervals) -> Intervals {
    let of = |kind: ErrorKind| rates.of_kind[kind as usize];
    Intervals {
        false_positive_rate: of(ErrorKind::FalsePositive),
        dont_know_absent_rate: of(ErrorKind::DontKnowAbsent),
        false_negative_rate: of(ErrorKind::FalseNegative),
        dont_know_rate: of(ErrorKind::DontKnow),
        false_return_rate: of(ErrorKind::FalseReturn),
        total_rate: rates.total,
        flows_wrong_rate: rates.flows_wrong,
    }
}

/// `closed` or `open`.
pub fn feedback_name(feedback: Feedback) -> &'static str {
    match feedback {
        Feedback::Closed => "closed",
        Feedback::Open => "open",
    }
}
