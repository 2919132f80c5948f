//! Figures 24 and 25, and the INFOCOM paper's 13: the kBF and the sBF as stores of TCP flow state.
//!
//! What the papers call sBF is not described in them, nor in the part of ACSM 2006 that we have. Three
//! readings run side by side: with the counters of 2006; as the kBF papers describe its answers ("it simply
//! returns null value for those cells with two or more flows"); and without counters, as INFOCOM §I describes
//! its cells. Two readings of when a flow ends: FIN and RST mark it (`tcp-flags`), or delete it
//! (`tcp-flags-delete`). Nothing ages; errors propagate (a closed loop).

use acsm_filters::{Backend, SbfRules};

use super::trace::{PaperTrace, flows};
use super::trace_stores::{Setting, never_aging, run_stores};
use crate::engine::compare::{Census, EffectiveLookups, Load, RunOutcome};
use crate::engine::errors::Errors;
use crate::reproduce::{Answer, Axis, Check, Context, Failure, Outcome, Panel, Verdict};
use crate::units::scientific;

/// "From 0.1 to 0.00001".
const RATES: [f64; 5] = [0.1, 0.01, 0.001, 0.0001, 0.00001];
/// The rules, and what they say.
const READINGS: [(&str, &str); 2] =
    [("tcp-flags", "FIN and RST mark"), ("tcp-flags-delete", "FIN and RST delete")];

const KBF: &str = "kBF";
const NO_COUNTERS: &str = "sBF without counters";
const WITH_COUNTERS: &str = "sBF of 2006";

/// A kind of error: how often, of how many questions.
#[derive(Clone, Copy)]
struct Counts {
    /// At the end, when every flow is asked once: the papers' "after querying state of each flow".
    census: fn(&Census) -> (u64, u64),
    /// At every packet.
    lookups: fn(&Errors) -> (u64, u64),
    /// How many equal flows these are worth: lookups of one flow depend on each other.
    worth: fn(&EffectiveLookups) -> f64,
}

/// Figure 24: null answers about flows that are there.
pub fn false_negatives(context: &Context<'_>) -> Result<Outcome, Failure> {
    let y = "null answers per question about a flow that is there";
    let counts = Counts {
        census: |census| (census.held_absent + census.held_undecided, census.held),
        lookups: |errors| (errors.false_negative + errors.dont_know, errors.lookups_extant),
        worth: |flows| flows.extant,
    };
    let study = Study::new(context, y, counts)?;
    let paper = "the kBF's fall dramatically with p, the sBF's stay almost constant";
    Ok(steep_and_constant(study, paper))
}

/// Figure 25: all errors, of all lookups.
pub fn total_errors(context: &Context<'_>) -> Result<Outcome, Failure> {
    let counts = Counts {
        census: |census| {
            let wrong = census.held - census.held_right;
            (wrong + census.unseen_found, census.held + census.unseen)
        },
        lookups: |errors| {
            let wrong = errors.false_positive
                + errors.dont_know_absent
                + errors.false_negative
                + errors.dont_know
                + errors.false_return;
            (wrong, errors.lookups_extant + errors.lookups_absent)
        },
        worth: |flows| flows.all,
    };
    let study = Study::new(context, "errors per question", counts)?;
    Ok(half_as_many(study, "the kBF performs much better in terms of reducing errors"))
}

/// INFOCOM, figure 13: answers about flows that are not there.
pub fn false_positives(context: &Context<'_>) -> Result<Outcome, Failure> {
    let y = "answers per question about a flow that is not there";
    let counts = Counts {
        census: |census| (census.unseen_found, census.unseen),
        lookups: |errors| (errors.false_positive + errors.dont_know_absent, errors.lookups_absent),
        worth: |flows| flows.absent,
    };
    let study = Study::new(context, y, counts)?;
    let kbf = study.ys(KBF);
    let mut notes = study.notes();
    notes.push(
        "The text never mentions figure 13; by its place between 12 and 14 it shows the third kind of error of \
         this study."
            .to_owned(),
    );
    let verdict = Verdict::new(
        Answer::Undecided,
        "not in the text",
        format!("kBF {}", listed(&kbf)),
        "the text makes no claim that could be tested",
    );
    Ok(Outcome { panels: study.panels, notes, verdict })
}

/// The rates of one kind of error.
struct Study {
    /// A census and lookups for each reading of when a flow ends.
    panels: Vec<Panel>,
    flows: u64,
    /// How to make the trace again.
    made: String,
    /// The part of the lookups that always saying the commonest state would get wrong.
    baseline: f64,
}

impl Study {
    fn new(context: &Context<'_>, y: &str, counts: Counts) -> Result<Study, Failure> {
        let trace = PaperTrace::new(context, flows(context))?;
        let (mut panels, mut baseline) = (vec![], 1.0);
        for (at, (rules, reading)) in READINGS.into_iter().enumerate() {
            context.done((at as f64 + 0.1) / 2.0)?;
            let (outcomes, load) = run(context, &trace, rules)?;
            let lookups = load.lookups_absent + load.lookups_extant.iter().sum::<u64>();
            let commonest = load.lookups_extant.iter().max().copied().unwrap_or(0);
            baseline = f64::min(baseline, 1.0 - commonest as f64 / lookups.max(1) as f64);
            let lookups = |run: &RunOutcome| (counts.lookups)(&run.errors);
            let census = |run: &RunOutcome| (counts.census)(&run.census);
            let worth = Some((counts.worth)(&load.effective));
            let title = |what: &str| format!("{reading}: {what}");
            panels.push(panel(title("every lookup"), y, &outcomes, lookups, worth));
            panels.push(panel(title("census at the end"), y, &outcomes, census, None));
        }
        Ok(Study { panels, flows: trace.flows, made: trace.note, baseline })
    }

    /// The rates of a series in the first panel: of every lookup, under the first reading.
    fn ys(&self, series: &str) -> Vec<f64> {
        self.panels.first().map(|panel| panel.ys(series)).unwrap_or_default()
    }

    /// The verdict by these checks, and what the readings are that it depends on.
    fn outcome(self, paper: &str, checks: &[Check], of_2006: &str) -> Outcome {
        let mut verdict = Verdict::of_checks(paper, checks);
        verdict.measured = verdict.measured.trim_end_matches("; ").to_owned();
        verdict.why +=
            &format!("; that the papers' sBF has no counters is a hypothesis: {of_2006}");
        let mut notes = self.notes();
        if let Some(census) = self.panels.get(1) {
            notes.push(format!(
                "The verdict goes by every lookup. Each flow asked once at the end, after all came (census): kBF {}; \
                 sBF without counters {}; sBF of 2006 {}.",
                listed(&census.ys(KBF)),
                listed(&census.ys(NO_COUNTERS)),
                listed(&census.ys(WITH_COUNTERS))
            ));
        }
        Outcome { notes, panels: self.panels, verdict }
    }

    fn notes(&self) -> Vec<String> {
        vec![
            format!(
                "{} flows of the generated profile `paper`, as the papers' trace is not public: its \
                 lifetimes and its share of flows that change state are ours. Points are medians, \
                 bars ranges over seeds; lookups of one flow are not independent, so that there is \
                 no interval from one seed. All stores have as many cells; nothing ages.",
                self.flows
            ),
            self.made.clone(),
            "A hollow marker: no error in any of s seeds, at most 3/(s·n), a rule of thumb; n are the flows of a \
             census, or the equal flows that the lookups are worth."
                .to_owned(),
            format!(
                "A store that always says the commonest state would be wrong in {:.1} % of all \
                 lookups.",
                100.0 * self.baseline
            ),
            "900 and 1,658 flows with FIN and RST are counts of packets' flags, and say nothing \
             about a store that is told of every packet."
                .to_owned(),
        ]
    }
}

/// The median rate of each store over the seeds, with their range. Where no seed has an event, it is at most 3/(s·n)
/// with n the equal flows that the questions of one seed are `worth`, if these depend on each other.
fn panel(
    title: String,
    y: &str,
    outcomes: &[NamedOutcomes],
    count: impl Fn(&RunOutcome) -> (u64, u64),
    worth: Option<f64>,
) -> Panel {
    let mut panel = Panel::new(title, Axis::log("p, for which the stores were made"), Axis::log(y));
    for ((name, rate), outcomes) in outcomes {
        let counts: Vec<(u64, u64)> = outcomes.iter().map(&count).collect();
        let seeds = counts.len() as u32;
        let [events, trials] = [|c: &(u64, u64)| c.0, |c: &(u64, u64)| c.1]
            .map(|part| counts.iter().map(part).sum::<u64>());
        if events == 0 && trials > 0 {
            let questions = worth.map_or(trials as f64, |flows| flows * f64::from(seeds));
            panel.none_seen(*name, *rate, (3.0 / questions).min(1.0), trials, seeds);
            continue;
        }
        let share = |(events, trials): (u64, u64)| events as f64 / trials.max(1) as f64;
        let mut values: Vec<f64> = counts.into_iter().map(share).collect();
        values.sort_by(f64::total_cmp);
        let ends = [values.first(), values.last()].map(|end| end.copied().unwrap_or(0.0));
        let median = values.get(values.len() / 2).copied().unwrap_or(0.0);
        panel.between(*name, *rate, median, ends, seeds);
    }
    panel
}

/// The stores of the study with their names.
fn stores() -> [(&'static str, Backend, SbfRules); 4] {
    [
        (KBF, Backend::Kbf, SbfRules::Stateful),
        (WITH_COUNTERS, Backend::Sbf, SbfRules::Stateful),
        ("sBF as the kBF papers describe it", Backend::Sbf, SbfRules::PaperKbf),
        (NO_COUNTERS, Backend::Sbf, SbfRules::NoCounters),
    ]
}

/// A store and the rate that it is made for; what came of it, one entry per seed.
type NamedOutcomes = ((&'static str, f64), Vec<RunOutcome>);

/// All stores at all rates over one pass of the trace.
fn run(
    context: &Context<'_>,
    trace: &PaperTrace,
    rules: &str,
) -> Result<(Vec<NamedOutcomes>, Load), Failure> {
    let (mut specs, mut names) = (vec![], vec![]);
    for (name, backend, sbf) in stores() {
        for rate in RATES {
            names.push((name, rate));
            specs.push(never_aging(trace.flows, backend, sbf, rate));
        }
    }
    let seeds = context.pick(2, 3, 3);
    let (outcomes, load) =
        run_stores(context, trace, Setting { rules, seeds, aging: None }, &specs)?;
    Ok((names.into_iter().zip(outcomes).collect(), load))
}

fn listed(values: &[f64]) -> String {
    values.iter().map(|value| scientific(*value)).collect::<Vec<_>>().join(", ")
}

fn ends(values: &[f64]) -> (f64, f64) {
    match values {
        [first, .., last] => (*first, *last),
        _ => (f64::NAN, f64::NAN),
    }
}

/// Figure 24: the one rate falls steeply with p, the other does not.
fn steep_and_constant(study: Study, paper: &str) -> Outcome {
    let [kbf, none, with] = [KBF, NO_COUNTERS, WITH_COUNTERS].map(|series| study.ys(series));
    let constant = none.iter().copied().fold(0.0, f64::max)
        <= 1.05 * none.iter().copied().fold(f64::MAX, f64::min);
    let fallen = |(first, last): (f64, f64)| first > 10.0 * last;
    let below = kbf.iter().zip(&none).all(|(kbf, sbf)| kbf < sbf);
    let falls = "from p = 0.1 to 0.00001 the kBF's rate falls by more than ten times";
    let seen = format!("kBF {}", listed(&kbf));
    let checks = [
        match ends(&kbf) {
            (0.0, _) => Check::open(falls, seen),
            ends => Check::new(falls, fallen(ends), seen),
        },
        Check::new(
            "the rate of an sBF without counters stays within 5 %",
            constant,
            format!("sBF without counters {}", listed(&none)),
        ),
        Check::new("at every p the kBF's is lower than that", below, ""),
    ];
    let fate = match ends(&with) {
        (0.0, _) => "is none at this scale",
        ends if fallen(ends) => "falls as the kBF's does as p falls",
        _ => "does not fall by ten times as p falls",
    };
    let of_2006 = format!("with those of 2006 its rate {fate} ({})", listed(&with));
    study.outcome(paper, &checks, &of_2006)
}

/// Figure 25: the one has far fewer errors. "Much better" is taken to be half as many at least.
fn half_as_many(study: Study, paper: &str) -> Outcome {
    let [kbf, none, with] = [KBF, NO_COUNTERS, WITH_COUNTERS].map(|series| study.ys(series));
    let half =
        |others: &[f64]| kbf.iter().zip(others).filter(|(kbf, sbf)| 2.0 * **kbf <= **sbf).count();
    let seen = format!("kBF {}; sBF without counters {}", listed(&kbf), listed(&none));
    let says = "at every p the kBF errs at most half as often as an sBF without counters";
    let checks = [Check::new(says, half(&none) == RATES.len(), seen)];
    let of_2006 = format!(
        "with those of 2006 the sBF's rates are {}, and the kBF's at most half of them at {} of {} p",
        listed(&with),
        half(&with),
        RATES.len()
    );
    study.outcome(paper, &checks, &of_2006)
}
