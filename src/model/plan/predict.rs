//! What a store that exists gets wrong at the load it has.

use super::shape::Shape;
use super::slots::Slots;
use super::theory::Theory;
use super::traffic::Traffic;
use crate::model::ErrorRates;
use crate::spec::{Backend, Expire, RecycleAt, Sizing, StoreSpec};

impl Theory {
    /// Theory for a store and the traffic it is taken to have.
    pub fn for_store(spec: &StoreSpec, traffic: Traffic) -> Theory {
        Theory::new(traffic).with_variants(spec.decode, spec.sbf)
    }

    /// The errors of a store with `live` flows in it. Stores that empty themselves are taken over
    /// their whole cycle.
    ///
    /// ```
    /// use acsm::model::plan::{Theory, Traffic};
    /// use acsm::spec::{Backend, StoreSpec};
    ///
    /// let spec = StoreSpec::new(Backend::Kbf, 6);
    /// let (sizing, theory) = (spec.sizing()?, Theory::for_store(&spec, Traffic::typical(6)));
    /// let planned = theory.predict(&spec, &sizing, spec.flows as f64);
    /// let crowded = theory.predict(&spec, &sizing, 2.0 * spec.flows as f64);
    /// assert!(planned.of_absent() < 0.011 && crowded.of_absent() > 0.1);
    /// # Ok::<(), acsm::spec::SpecError>(())
    /// ```
    pub fn predict(&self, spec: &StoreSpec, sizing: &Sizing, live: f64) -> ErrorRates {
        let shape = Shape::of(spec);
        let flows = match (shape.expire, sizing.recycle_at) {
            (Expire::None | Expire::Timer, _) => live,
            (_, Some(RecycleAt::Flows(flows))) => flows as f64 * shape.expire.phases() as f64,
            (_, Some(RecycleAt::Fill(fill))) => {
                -(-fill).ln_1p() * sizing.cells as f64 / sizing.hashes.max(1) as f64
            }
            (_, None) => spec.flows as f64,
        };
        match shape.backend {
            // What a capped table has evicted cannot be told from what it holds.
            Backend::Exact => ErrorRates::default(),
            Backend::Fcf => {
                let load = flows / sizing.cells.max(1) as f64;
                Slots::of_bits(sizing.cell_bits, spec.states).errors_at(load, &self.traffic().mix)
            }
            _ => {
                let load = sizing.hashes as f64 * flows / sizing.cells.max(1) as f64;
                self.cell_errors(shape, sizing.hashes, load)
            }
        }
    }
}
