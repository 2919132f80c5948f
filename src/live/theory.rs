//! The error rate that theory predicts for the store, and whether its load exceeds the plan.
//!
//! Theory first builds tables (for `bhbf`, a million steps). The capture thread therefore only records the load
//! ([`PredictedError::at_load`]); the thread that displays a view computes the value
//! ([`StoreTheory::complete`]), once per view, and keeps theory's tables for the next one.

use std::sync::{Arc, OnceLock};

use serde::{Serialize, Serializer};

use crate::engine::plan::{Theory, Traffic};
use crate::engine::{Phase, RunPlan};
use crate::time::NANOS_PER_SEC;
use acsm_filters::{Sizing, StoreSpec};

/// Estimates of live flows are accurate to a few percent: up to this ratio of live to planned flows a
/// store does not count as overloaded.
const TOLERATED_LOAD: f64 = 1.05;

/// The fraction of lookups that theory expects to be wrong at one load. Clones share the value; it is 0
/// until [`StoreTheory::complete`] has computed it.
#[derive(Debug, Clone, Default)]
pub struct PredictedError(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    live_flows: f64,
    /// The fraction of lookups for absent flows; `None` before the first lookup.
    absent: Option<f64>,
    value: OnceLock<f64>,
}

impl PredictedError {
    /// The error with this many live flows and this many of all `lookups` for absent flows, yet to be
    /// computed.
    pub fn at_load(live_flows: f64, absent: u64, lookups: u64) -> PredictedError {
        let absent = (lookups > 0).then(|| absent as f64 / lookups as f64);
        PredictedError(Arc::new(Inner { live_flows, absent, value: OnceLock::new() }))
    }

    /// The value.
    pub fn value(&self) -> f64 {
        self.0.value.get().copied().unwrap_or(0.0)
    }
}

impl From<f64> for PredictedError {
    fn from(value: f64) -> PredictedError {
        PredictedError(Arc::new(Inner { value: value.into(), ..Inner::default() }))
    }
}

impl PartialEq for PredictedError {
    fn eq(&self, other: &PredictedError) -> bool {
        self.value() == other.value()
    }
}

impl Serialize for PredictedError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.value())
    }
}

/// The store as theory sees it.
#[derive(Debug, Clone)]
pub struct StoreModel {
    spec: StoreSpec,
    sizing: Sizing,
    /// After how many idle seconds flows expire; `None` if not by time.
    idle_seconds: Option<f64>,
}

impl StoreModel {
    /// The store of this run.
    pub fn new(plan: &RunPlan, sizing: Sizing) -> StoreModel {
        let idle_seconds = match plan.phase {
            Phase::Nanos(nanos) => Some(nanos as f64 / NANOS_PER_SEC as f64),
            Phase::Operations(_) | Phase::Never => None,
        };
        StoreModel { spec: plan.store.clone(), sizing, idle_seconds }
    }

    /// Typical traffic, with this fraction of lookups for absent flows.
    fn traffic(&self, absent: Option<f64>) -> Traffic {
        let typical = Traffic::typical(self.spec.stored_states());
        Traffic {
            absent: absent.unwrap_or(typical.absent),
            idle_seconds: self.idle_seconds.unwrap_or(typical.idle_seconds),
            ..typical
        }
    }
}

/// Computes predicted errors. One per thread that displays them, because it keeps tables.
pub struct StoreTheory {
    /// `None` where only finished values are displayed.
    model: Option<StoreModel>,
    /// The theory in use, for traffic with this percentage of lookups for absent flows.
    current: Option<(Option<u8>, Theory)>,
}

impl StoreTheory {
    /// Theory for this store.
    pub fn new(model: Option<StoreModel>) -> StoreTheory {
        StoreTheory { model, current: None }
    }

    /// Computes `error` unless that was done before.
    pub fn complete(&mut self, error: &PredictedError) {
        let Some(model) = &self.model else { return };
        let Inner { live_flows, absent, value } = &*error.0;
        value.get_or_init(|| {
            // To the percent: only the error of two-phase stores depends on it, and only slightly.
            let percent = absent.map(|absent| (100.0 * absent).round() as u8);
            let theory = match self.current.take_if(|(of, _)| *of == percent) {
                Some((_, theory)) => theory,
                None => {
                    let rounded = percent.map(|percent| f64::from(percent) / 100.0);
                    Theory::for_store(&model.spec, model.traffic(rounded))
                }
            };
            let rates = theory.predict(&model.spec, &model.sizing, *live_flows);
            self.current = Some((percent, theory));
            rates.total(model.traffic(*absent).absent)
        });
    }
}

/// Whether `live` flows are clearly more than the `planned` ones.
pub fn is_overload(live: f64, planned: u64) -> bool {
    live > TOLERATED_LOAD * planned as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use acsm_filters::Backend;

    fn model(backend: Backend) -> StoreModel {
        let spec = StoreSpec { flows: 1000, ..StoreSpec::new(backend, 6) };
        let sizing = spec.sizing().unwrap();
        StoreModel { spec, sizing, idle_seconds: Some(60.0) }
    }

    fn error(live: f64, absent: u64) -> PredictedError {
        PredictedError::at_load(live, absent, 1000)
    }

    #[test]
    fn a_value_is_computed_once_and_shared() {
        let mut theory = StoreTheory::new(Some(model(Backend::Kbf)));
        let (half, clone) = (error(500.0, 100), error(500.0, 100));
        let shared = half.clone();
        assert_eq!(half.value(), 0.0, "not computed yet");
        theory.complete(&half);
        assert!(shared.value() > 0.0);
        let text = serde_json::to_string(&shared).unwrap();
        assert_eq!(text.parse::<f64>().unwrap(), half.value());
        theory.complete(&clone);
        assert_eq!(half, clone);
        let crowded = error(3000.0, 100);
        theory.complete(&crowded);
        assert!(crowded.value() > 10.0 * half.value());
        let given = PredictedError::from(0.25);
        theory.complete(&given);
        assert_eq!(given.value(), 0.25);
    }

    #[test]
    fn kept_tables_give_the_same_values_as_new_ones() {
        for backend in [Backend::Dbf, Backend::Sbf, Backend::Kbf, Backend::Fcf, Backend::Exact] {
            let mut kept = StoreTheory::new(Some(model(backend)));
            for (live, absent) in [(10.0, 100), (900.0, 104), (900.0, 300), (10.0, 301)] {
                let (one, other) = (error(live, absent), error(live, absent));
                kept.complete(&one);
                StoreTheory::new(Some(model(backend))).complete(&other);
                assert_eq!(one, other, "{backend:?}");
                assert_eq!(one.value() == 0.0, backend == Backend::Exact);
            }
        }
    }
}
