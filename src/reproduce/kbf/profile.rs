//! How far the verdicts on the TCP study depend on what the papers do not tell of their trace: one option of
//! `generate --profile paper` after the other is changed, and the study runs again (ours).

use acsm_filters::{Backend, Budget, Expire, SbfRules, StoreSpec};
use acsm_model::{FlowCells, StateMix, sbf};

use super::trace::PaperTrace;
use super::trace_stores::{Setting, never_aging, run_stores};
use crate::engine::compare::RunOutcome;
use crate::generate::{Pace, PaperTraffic};
use crate::reproduce::{Axis, Check, Context, Failure, Outcome, Panel, Verdict};
use crate::time::NANOS_PER_SEC;
use crate::units::scientific;

/// Rates that stores are made for: the papers' first and last, and one between.
const RATES: [f64; 3] = [0.1, 0.001, 0.00001];
const STORES: [(&str, Backend, SbfRules); 3] = [
    ("kBF", Backend::Kbf, SbfRules::Stateful),
    ("sBF without counters", Backend::Sbf, SbfRules::NoCounters),
    ("sBF of 2006", Backend::Sbf, SbfRules::Stateful),
];
/// The option whose shares decide how many flows change their state.
const CHANGES: &str = "flows that change state";
/// How far the longest time of a range is from its shortest.
const RANGE: u64 = 1000;
/// Memory of stores that are sized for all flows, and the least that every store can be made in.
const BITS_PER_FLOW: u64 = 16;
const LEAST_BYTES: u64 = 80_000;
/// An exact table cannot be smaller.
const LEAST_TABLE_BYTES: u64 = 1 << 12;
/// The idle timeout of stores that are sized for the flows alive, and their rate.
const TIMEOUT_NANOS: u64 = 60 * NANOS_PER_SEC;
const TIMER_RATE: f64 = 0.01;

/// An option of the profile, and the values that it gets.
struct Sweep {
    name: &'static str,
    /// The horizontal axis.
    x: fn() -> Axis,
    values: [f64; 4],
    traffic: fn(f64) -> PaperTraffic,
    /// Whether it is about time, which matters to stores that forget.
    of_time: bool,
}

fn share() -> Axis {
    Axis::linear("share of flows")
}

fn shortest() -> Axis {
    Axis::log("shortest, s; the longest is 1,000 times that")
}

fn range(shortest: f64) -> (u64, u64) {
    let least = (shortest * NANOS_PER_SEC as f64) as u64;
    (least, RANGE * least)
}

const SWEEPS: [Sweep; 5] = [
    Sweep {
        name: "flows of one SYN",
        x: share,
        values: [0.0, 0.1, 0.2, 0.5],
        traffic: |x| PaperTraffic { syn_only_share: Some(x), ..PaperTraffic::default() },
        of_time: false,
    },
    Sweep {
        name: CHANGES,
        x: share,
        values: [0.0, 0.05, 0.2, 0.5],
        traffic: |x| PaperTraffic {
            syn_only_share: Some(0.0),
            opening_share: Some(x),
            fin_share: Some(0.0),
            rst_share: Some(0.0),
            ..PaperTraffic::default()
        },
        of_time: false,
    },
    Sweep {
        name: "flows with a FIN, as many with a RST",
        x: share,
        values: [0.0, 0.05, 0.2, 0.5],
        traffic: |x| PaperTraffic {
            fin_share: Some(x),
            rst_share: Some(x),
            ..PaperTraffic::default()
        },
        of_time: false,
    },
    Sweep {
        name: "gaps between packets",
        x: shortest,
        values: [0.001, 0.01, 0.1, 1.0],
        traffic: |x| {
            let (least, most) = range(x);
            PaperTraffic { pace: Pace::Gaps { least, most }, ..PaperTraffic::default() }
        },
        of_time: true,
    },
    Sweep {
        name: "lifetimes",
        x: shortest,
        values: [0.01, 0.1, 1.0, 10.0],
        traffic: |x| {
            let (least, most) = range(x);
            PaperTraffic { pace: Pace::Lifetimes { least, most }, ..PaperTraffic::default() }
        },
        of_time: true,
    },
];

/// All options, one after the other.
pub fn dependence(context: &Context<'_>) -> Result<Outcome, Failure> {
    let flows = context.pick(2_000, 100_000, 200_000);
    let (mut panels, mut notes, mut checks) = (vec![], notes(flows), vec![]);
    let mut made = String::new();
    let steps = (SWEEPS.len() * 4) as f64;
    for (at, sweep) in SWEEPS.iter().enumerate() {
        let mut study = Study::new(sweep);
        for (step, &value) in sweep.values.iter().enumerate() {
            context.done((4 * at + step) as f64 / steps)?;
            let trace = PaperTrace::with(context, flows, (sweep.traffic)(value))?;
            made = trace.note.clone();
            study.add(context, &trace, value)?;
            if sweep.of_time {
                study.add_sized(context, &trace, value)?;
            }
        }
        notes.push(study.says());
        checks.extend(study.checks());
        panels.extend(study.panels());
    }
    notes.push(format!("{made} With the option of the panel."));
    let paper = "[nothing of lifetimes, gaps and the share of flows that change state]";
    Ok(Outcome { panels, notes, verdict: Verdict::of_checks(paper, &checks) })
}

fn notes(flows: u64) -> Vec<String> {
    vec![
        format!(
            "Ours. {flows} flows; one option of `generate --profile paper` is changed at a time, the others keep \
             their defaults; where flows change state, none is a SYN alone and none has a FIN or a RST."
        ),
        "Points are medians, bars ranges over seeds. Null answers are those of figure 24: nothing ages, equal cells, a \
         closed loop. The statements are that figure's: the kBF's rate falls by more than ten times from p = 0.1 to \
         0.00001, that of an sBF without counters stays within 5 %, and the kBF's is lower at every p."
            .to_owned(),
        format!(
            "The form for collisions counts flows once at the end (census). Sized for all: {BITS_PER_FLOW} bits for each \
             flow of the trace, {LEAST_BYTES} bytes at least; with a timer of 60 s: for the flows alive at once, p = {TIMER_RATE}, `exact` in the \
             memory of the kBF."
        ),
    ]
}

/// What is measured while one option changes.
struct Study<'a> {
    sweep: &'a Sweep,
    nulls: Panel,
    census: Panel,
    for_all: Panel,
    timer: Panel,
    /// For each value, median null answers by store and rate.
    medians: Vec<[[f64; RATES.len()]; STORES.len()]>,
}

impl<'a> Study<'a> {
    fn new(sweep: &'a Sweep) -> Study<'a> {
        let panel = |what: &str, y: &str| {
            Panel::new(format!("{}: {what}", sweep.name), (sweep.x)(), Axis::log(y))
        };
        let wrong = "flows ever wrong, of all";
        Study {
            sweep,
            nulls: panel("null answers", "null answers per question about a flow that is there"),
            census: panel("null answers at the end", "flows that are there and get a null answer"),
            for_all: panel("stores in 16 bits per flow, sized for all flows", wrong),
            timer: panel("stores with a timer, sized for the flows alive", wrong),
            medians: vec![],
        }
    }

    /// The study of figure 24 on a trace.
    fn add(&mut self, context: &Context<'_>, trace: &PaperTrace, x: f64) -> Result<(), Failure> {
        let pairs = STORES.into_iter().flat_map(|store| RATES.map(|rate| (store, rate)));
        let specs: Vec<StoreSpec> = pairs
            .map(|((_, backend, rules), rate)| never_aging(trace.flows, backend, rules, rate))
            .collect();
        let setting = Setting { rules: "tcp-flags", seeds: context.pick(2, 3, 3), aging: None };
        let (outcomes, _) = run_stores(context, trace, setting, &specs)?;
        let mut medians = [[0.0; RATES.len()]; STORES.len()];
        let named = STORES.into_iter().zip(&mut medians).zip(outcomes.chunks(RATES.len()));
        for (((name, ..), medians), of_store) in named {
            for ((rate, median), runs) in RATES.into_iter().zip(medians).zip(of_store) {
                let series = format!("{name}, p = {rate}");
                *median = spread(&mut self.nulls, &series, x, runs, |run| {
                    let nulls = run.errors.false_negative + run.errors.dont_know;
                    (nulls, run.errors.lookups_extant)
                });
                if self.sweep.name == CHANGES {
                    spread(&mut self.census, &series, x, runs, |run| {
                        (run.census.held_absent + run.census.held_undecided, run.census.held)
                    });
                }
            }
        }
        if self.sweep.name == CHANGES {
            self.add_forms(trace.flows, x)?;
        }
        self.medians.push(medians);
        Ok(())
    }

    /// The form for collisions of an sBF without counters of whose flows the part `changed` changed.
    fn add_forms(&mut self, flows: u64, changed: f64) -> Result<(), Failure> {
        for rate in RATES {
            let size = never_aging(flows, Backend::Sbf, SbfRules::NoCounters, rate).sizing()?;
            let load = flows as f64 * size.hashes as f64 / size.cells.max(1) as f64;
            let cells = FlowCells::at_load(size.hashes, load);
            let errors = sbf::errors_without_counters(&cells, &StateMix::even(1), 1.0 - changed);
            self.census.computed(
                format!("sBF without counters, p = {rate}: form for collisions"),
                changed,
                errors.dont_know,
            );
        }
        Ok(())
    }

    /// Stores for all flows in little memory, and for the flows alive with a timer.
    fn add_sized(
        &mut self,
        context: &Context<'_>,
        trace: &PaperTrace,
        x: f64,
    ) -> Result<(), Failure> {
        let kinds = [Backend::Kbf, Backend::Sbf, Backend::Fcf, Backend::Exact];
        let seeds = context.pick(2, 3, 3);
        let setting = |aging| Setting { rules: "tcp-flags", seeds, aging };
        let memory = Budget::MemoryBytes((trace.flows * BITS_PER_FLOW / 8).max(LEAST_BYTES));
        let all = kinds.map(|kind| StoreSpec {
            budget: memory,
            ..never_aging(trace.flows, kind, SbfRules::Stateful, TIMER_RATE)
        });
        let (_, load) = run_stores(context, trace, setting(Some(TIMEOUT_NANOS)), &[])?;
        let mut alive = kinds.map(|kind| StoreSpec {
            expire: Expire::Timer,
            ..never_aging(load.flows_peak.max(1), kind, SbfRules::Stateful, TIMER_RATE)
        });
        let [kbf, .., exact] = &mut alive;
        exact.budget = Budget::MemoryBytes((kbf.sizing()?.bits / 8).max(LEAST_TABLE_BYTES));
        let sized = [(&mut self.for_all, None, all), (&mut self.timer, Some(TIMEOUT_NANOS), alive)];
        for (panel, aging, specs) in sized {
            let (outcomes, _) = run_stores(context, trace, setting(aging), &specs)?;
            for (kind, runs) in kinds.iter().zip(&outcomes) {
                spread(panel, kind.name(), x, runs, |run| {
                    (run.errors.flows_wrong, run.errors.flows_total)
                });
            }
        }
        Ok(())
    }

    /// For each statement of figure 24, at which values it holds.
    fn says(&self) -> String {
        let places = |holds: fn(&[[f64; RATES.len()]; STORES.len()]) -> bool| {
            let values = self.sweep.values.iter().zip(&self.medians);
            let found: Vec<String> = values
                .filter(|(_, medians)| holds(medians))
                .map(|(value, _)| scientific(*value))
                .collect();
            if found.is_empty() { "none".to_owned() } else { found.join(", ") }
        };
        let falls = places(|[[first, .., last], ..]| *first > 10.0 * last);
        let constant = places(|[_, none, _]| is_constant(none));
        let below = places(|[kbf, none, _]| kbf.iter().zip(none).all(|(kbf, none)| kbf < none));
        let values: Vec<String> = self.sweep.values.iter().map(|x| scientific(*x)).collect();
        format!(
            "{} at {}: the kBF's rate falls at {falls}; the sBF's without counters is constant at {constant}; the \
             kBF's is lower at {below}.",
            self.sweep.name,
            values.join(", ")
        )
    }

    /// What is expected where flows change state.
    fn checks(&self) -> Vec<Check> {
        let changes = self.sweep.name == CHANGES;
        let values = self.sweep.values.iter().zip(&self.medians);
        let often = values.filter(|(value, _)| changes && **value >= 0.2);
        often
            .map(|(value, [_, none, _])| {
                let says = format!(
                    "where {:.0} % of flows change state, the rate of an sBF without counters stays within 5 % from \
                     p = 0.1 to 0.001",
                    100.0 * value
                );
                let [first, second, _] = none;
                let seen = format!("{} and {}", scientific(*first), scientific(*second));
                Check::new(says, is_constant(&[*first, *second]), seen)
            })
            .collect()
    }

    fn panels(self) -> impl Iterator<Item = Panel> {
        let panels = [self.nulls, self.census, self.for_all, self.timer];
        let is_drawn = |panel: &Panel| panel.rows.iter().any(|row| row.y > 0.0);
        panels
            .into_iter()
            .filter(|panel| !panel.rows.is_empty())
            .map(move |panel| if is_drawn(&panel) { panel } else { panel.as_table() })
    }
}

/// Whether rates are within 5 % of each other; none at all is not.
fn is_constant(rates: &[f64]) -> bool {
    let most = rates.iter().copied().fold(0.0, f64::max);
    let least = rates.iter().copied().fold(f64::MAX, f64::min);
    least > 0.0 && most <= 1.05 * least
}

/// Adds the median of a rate over seeds with its range, and returns it.
fn spread(
    panel: &mut Panel,
    series: &str,
    x: f64,
    runs: &[RunOutcome],
    count: impl Fn(&RunOutcome) -> (u64, u64),
) -> f64 {
    let share = |(events, trials): (u64, u64)| events as f64 / trials.max(1) as f64;
    let mut values: Vec<f64> = runs.iter().map(|run| share(count(run))).collect();
    values.sort_by(f64::total_cmp);
    let ends = [values.first(), values.last()].map(|end| end.copied().unwrap_or(0.0));
    let median = values.get(values.len() / 2).copied().unwrap_or(0.0);
    panel.between(series, x, median, ends, values.len() as u32);
    median
}
