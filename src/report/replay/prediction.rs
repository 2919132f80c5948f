//! The error rate that theory predicts for the store of a run, and the warning of overload.

use std::fmt;

use crate::engine::plan::{Theory, Traffic};
use crate::engine::{Lookups, Phase, RunPlan};
use crate::report::format::grouped;
use crate::time::NANOS_PER_SEC;
use acsm_filters::{Backend, Sizing};

/// Warn above this multiple of the planned flows: estimates of live flows have an error of a few
/// percent.
const OVERLOAD: f64 = 1.05;

/// Errors per lookup, of any kind, for typical traffic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// With as many live flows as the store was sized for.
    pub planned: f64,
    /// With the current number of live flows.
    pub now: f64,
    /// Estimate of the current number of live flows.
    pub live: f64,
    /// Number of flows it was sized for; an exact table has no limit.
    capacity: Option<u64>,
}

impl Prediction {
    /// For a store with `live` flows whose lookups gave these results.
    pub fn new(plan: &RunPlan, sizing: &Sizing, lookups: &Lookups, live: f64) -> Prediction {
        let spec = &plan.store;
        let typical = Traffic::typical(spec.stored_states());
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
            capacity: (spec.backend != Backend::Exact).then_some(spec.flows),
        }
    }

    /// The warning, if there are more live flows than the store was sized for, or if `full` inserts
    /// found no room.
    pub fn overload(&self, full: u64) -> Option<Overload> {
        let capacity = self.capacity?;
        let is_exceeded = self.live > OVERLOAD * capacity as f64;
        let overload = Overload { prediction: *self, capacity, is_exceeded, full };
        (is_exceeded || full > 0).then_some(overload)
    }
}

/// A store holds more flows than it was sized for, or rejected some. Displays as a warning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overload {
    prediction: Prediction,
    capacity: u64,
    /// Whether there are more live flows than `capacity`.
    is_exceeded: bool,
    /// Number of inserts that found no room.
    full: u64,
}

impl fmt::Display for Overload {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Prediction { live, now, planned, .. } = self.prediction;
        let capacity = grouped(self.capacity);
        if self.full > 0 {
            write!(out, "{} times no room for a new flow, ", grouped(self.full))?;
        }
        write!(out, "about {} flows are alive, ", grouped(live as u64))?;
        write!(out, "the store was made for {capacity} (--flows)")?;
        if self.is_exceeded {
            write!(
                out,
                ": by theory {now:.1e} of lookups are wrong now, {planned:.1e} as planned"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_flows(live: f64) -> Prediction {
        Prediction { planned: 0.01, now: 0.02, live, capacity: Some(1000) }
    }

    #[test]
    fn overload_and_lack_of_room_give_a_warning() {
        assert_eq!(with_flows(1040.0).overload(0), None);
        let exceeded = with_flows(2000.0).overload(0).unwrap().to_string();
        assert_eq!(
            exceeded,
            "about 2,000 flows are alive, the store was made for 1,000 (--flows): by theory 2.0e-2 \
             of lookups are wrong now, 1.0e-2 as planned"
        );
        let full = with_flows(990.0).overload(1234).unwrap().to_string();
        assert_eq!(
            full,
            "1,234 times no room for a new flow, about 990 flows are alive, the store was made for \
             1,000 (--flows)"
        );
        let exact = Prediction { capacity: None, ..with_flows(1e9) };
        assert_eq!(exact.overload(0), None);
    }
}
