//! What theory says of the store of a run: at the load it was made for, and at the one it has.

use std::fmt;

use crate::engine::plan::{Theory, Traffic};
use crate::engine::{Lookups, Phase, RunPlan};
use crate::report::text::grouped;
use crate::time::NANOS_PER_SEC;
use acsm_filters::{Backend, Sizing};

/// Estimates of flows alive are good to some percent: no warning below that.
const TOLERATED: f64 = 1.05;
/// Below this part of the flows a load that was too much has come back.
const CALM: f64 = 0.9;

/// Errors per lookup, of every kind, for traffic as it usually is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// With as many flows alive as the store was made for.
    pub planned: f64,
    /// With as many as there are.
    pub now: f64,
    /// How many there are, about.
    pub live: f64,
    /// How many it was made for; what `exact` holds has no limit.
    made_for: Option<u64>,
}

impl Prediction {
    /// For a store with `live` flows in it that gave these answers.
    pub fn new(plan: &RunPlan, sizing: &Sizing, lookups: &Lookups, live: f64) -> Prediction {
        let spec = &plan.store;
        let typical = Traffic::typical(spec.states);
        let asked = lookups.known + lookups.absent + lookups.dont_know;
        let traffic = Traffic {
            absent: if asked == 0 { typical.absent } else { lookups.absent as f64 / asked as f64 },
            idle_seconds: match plan.phase {
                Phase::Nanos(nanos) => nanos as f64 / NANOS_PER_SEC as f64,
                Phase::Operations(_) | Phase::Never => typical.idle_seconds,
            },
            ..typical
        };
        let absent = traffic.absent;
        let theory = Theory::for_store(spec, traffic);
        let total = |flows: f64| theory.predict(spec, sizing, flows).total(absent);
        Prediction {
            planned: total(spec.flows as f64),
            now: total(live),
            live,
            made_for: (spec.backend != Backend::Exact).then_some(spec.flows),
        }
    }

    /// What to warn of, if more flows are alive than the store was made for, or if `full` times
    /// there was no room for a new one.
    pub fn overload(&self, full: u64) -> Option<Overload> {
        let made_for = self.made_for?;
        let crowded = self.live > TOLERATED * made_for as f64;
        (crowded || full > 0).then_some(Overload { prediction: *self, made_for, crowded, full })
    }

    /// Whether the load is clearly what the store was made for.
    fn is_calm(&self) -> bool {
        self.made_for.is_none_or(|flows| self.live < CALM * flows as f64)
    }
}

/// A store has more flows than it was made for, or than it had room for. Reads as a warning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overload {
    prediction: Prediction,
    made_for: u64,
    crowded: bool,
    full: u64,
}

impl fmt::Display for Overload {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Prediction { live, now, planned, .. } = self.prediction;
        let made_for = grouped(self.made_for);
        if self.full > 0 {
            write!(out, "{} times no room for a new flow, ", grouped(self.full))?;
        }
        write!(out, "about {} flows are alive, ", grouped(live as u64))?;
        write!(out, "the store was made for {made_for} (--flows)")?;
        if self.crowded {
            write!(
                out,
                ": by theory {now:.1e} of lookups are wrong now, {planned:.1e} as planned"
            )?;
        }
        Ok(())
    }
}

/// Follows a run, to warn once when the load leaves what the store was made for, and not again
/// before it has come back.
#[derive(Debug, Clone, Copy, Default)]
pub struct OverloadWatch {
    is_over: bool,
    full_before: u64,
}

impl OverloadWatch {
    /// What to warn of now; `full` is how often there was no room since the start.
    pub fn look(&mut self, prediction: &Prediction, full: u64) -> Option<Overload> {
        let newly_full = full.saturating_sub(self.full_before);
        self.full_before = full;
        let overload = prediction.overload(newly_full);
        let was_over = self.is_over;
        self.is_over = overload.is_some() || was_over && !prediction.is_calm();
        overload.filter(|_| !was_over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_flows(live: f64) -> Prediction {
        Prediction { planned: 0.01, now: 0.02, live, made_for: Some(1000) }
    }

    #[test]
    fn crowds_and_lack_of_room_are_warned_of() {
        assert_eq!(with_flows(1040.0).overload(0), None);
        let crowded = with_flows(2000.0).overload(0).unwrap().to_string();
        assert_eq!(
            crowded,
            "about 2,000 flows are alive, the store was made for 1,000 (--flows): by theory 2.0e-2 \
             of lookups are wrong now, 1.0e-2 as planned"
        );
        let full = with_flows(990.0).overload(1234).unwrap().to_string();
        assert_eq!(
            full,
            "1,234 times no room for a new flow, about 990 flows are alive, the store was made for \
             1,000 (--flows)"
        );
        let exact = Prediction { made_for: None, ..with_flows(1e9) };
        assert_eq!(exact.overload(0), None);
    }

    #[test]
    fn a_run_is_warned_once_a_crossing() {
        let mut watch = OverloadWatch::default();
        let mut warns = |live, full| watch.look(&with_flows(live), full).is_some();
        assert!(!warns(1000.0, 0));
        assert!(warns(1100.0, 0));
        assert!(
            !warns(1200.0, 0) && !warns(1000.0, 0) && !warns(1100.0, 7),
            "it has not come back"
        );
        assert!(!warns(800.0, 7) && warns(1100.0, 7), "it has, and leaves again");
        assert!(!warns(800.0, 7) && warns(970.0, 8) && !warns(970.0, 9), "no room for all");
        assert!(!warns(800.0, 9), "what was full once is not full for ever");
    }
}
