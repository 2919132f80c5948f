//! Error and fill over trace time, in at most 60 equal steps.
//!
//! How long a trace is shows only at its end. So steps begin short, and when there are too many,
//! two become one and are twice as long from then on. A batch never crosses a step, so all runs
//! have the same ones.

use crate::time::Timestamp;

/// No timeline has more steps than this.
pub const STEPS_MAX: u32 = 60;
/// The first steps take a millisecond.
const FIRST_NANOS: u64 = 1_000_000;

/// Which step of trace time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// How long steps are at this time.
    pub nanos: u64,
    /// Its place.
    pub index: u32,
}

impl Step {
    /// The step of the first packet.
    pub const FIRST: Step = Step { nanos: FIRST_NANOS, index: 0 };
}

/// Tells the step of each packet.
#[derive(Debug)]
pub struct Steps {
    first: Option<Timestamp>,
    now: Timestamp,
    step: Step,
    /// When the current step ends, after the first packet.
    end_nanos: u64,
}

impl Steps {
    /// The beginning of a trace.
    pub fn new() -> Steps {
        let now = Timestamp::default();
        Steps { first: None, now, step: Step::FIRST, end_nanos: FIRST_NANOS }
    }

    /// The step of a packet; one that comes out of order belongs to the latest.
    #[inline]
    pub fn at(&mut self, time: Timestamp) -> Step {
        self.now = self.now.max(time);
        let since = self.now.since(*self.first.get_or_insert(time));
        if since >= self.end_nanos {
            self.go_to(since);
        }
        self.step
    }

    #[cold]
    fn go_to(&mut self, since: u64) {
        let nanos = &mut self.step.nanos;
        while since / *nanos >= u64::from(STEPS_MAX) {
            *nanos = nanos.saturating_mul(2);
        }
        self.step.index = (since / *nanos) as u32;
        self.end_nanos = nanos.saturating_mul(u64::from(self.step.index) + 1);
    }
}

/// What happened in one step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StepCounts {
    /// Lookups.
    pub lookups: u64,
    /// Errors of any kind.
    pub errors: u64,
    /// Part of the store in use at the step's end.
    pub fill_ratio: f64,
}

/// One run, step by step.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// How long a step is.
    pub step_nanos: u64,
    /// The steps from the first packet on.
    pub steps: Vec<StepCounts>,
}

/// Nothing happened yet.
impl Default for Timeline {
    fn default() -> Timeline {
        Timeline { step_nanos: FIRST_NANOS, steps: Vec::with_capacity(STEPS_MAX as usize) }
    }
}

impl Timeline {
    /// The counts of a step that is not before the last one asked for.
    pub fn at(&mut self, step: Step) -> &mut StepCounts {
        while self.step_nanos < step.nanos {
            self.step_nanos = self.step_nanos.saturating_mul(2);
            self.steps = self.steps.chunks(2).map(merged).collect();
        }
        let fill_ratio = self.steps.last().map_or(0.0, |last| last.fill_ratio);
        let index = step.index.min(STEPS_MAX) as usize;
        while self.steps.len() <= index {
            self.steps.push(StepCounts { fill_ratio, ..StepCounts::default() });
        }
        &mut self.steps[index]
    }
}

fn merged(pair: &[StepCounts]) -> StepCounts {
    StepCounts {
        lookups: pair.iter().map(|step| step.lookups).sum(),
        errors: pair.iter().map(|step| step.errors).sum(),
        fill_ratio: pair.last().map_or(0.0, |last| last.fill_ratio),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_long_the_trace_nothing_is_lost() {
        for (gap_nanos, packets) in [(1, 1000), (700_000, 5000), (3_600_000_000_000, 500)] {
            let (mut steps, mut timeline) = (Steps::new(), Timeline::default());
            for n in 0..packets {
                let step = steps.at(Timestamp::from_nanos(5 + n * gap_nanos));
                let counts = timeline.at(step);
                counts.lookups += 1;
                counts.fill_ratio = n as f64;
            }
            let total: u64 = timeline.steps.iter().map(|step| step.lookups).sum();
            assert_eq!(total, packets);
            assert!(timeline.steps.len() <= STEPS_MAX as usize);
            assert_eq!(timeline.steps.last().unwrap().fill_ratio, (packets - 1) as f64);
            let span = timeline.step_nanos * timeline.steps.len() as u64;
            assert!(span > (packets - 1) * gap_nanos);
            assert!(timeline.step_nanos == FIRST_NANOS || timeline.steps.len() > 30);
        }
    }

    #[test]
    fn time_that_runs_backwards_or_jumps_stays_within_the_steps() {
        let (mut steps, mut timeline) = (Steps::new(), Timeline::default());
        for nanos in [1_000_000_000, 1_002_500_000, 5, u64::MAX, 7] {
            timeline.at(steps.at(Timestamp::from_nanos(nanos))).lookups += 1;
        }
        assert_eq!(timeline.steps[0].lookups, 3, "two steps have become one");
        assert_eq!(timeline.steps.last().unwrap().lookups, 2);
    }
}
