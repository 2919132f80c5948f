//! What theory says of the store of a run: at the load it was made for, and at the one it has.

use crate::engine::{Lookups, Phase, RunPlan};
use crate::model::plan::{Theory, Traffic};
use crate::spec::{Backend, Sizing};
use crate::time::NANOS_PER_SEC;

/// Estimates of flows alive are good to some percent: no warning below that.
const TOLERATED: f64 = 1.05;

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

    /// How many flows the store was made for, if more are alive.
    pub fn overloaded(&self) -> Option<u64> {
        self.made_for.filter(|flows| self.live > TOLERATED * *flows as f64)
    }
}
