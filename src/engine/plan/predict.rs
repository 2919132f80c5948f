//! What a store that exists gets wrong at the load it has.

use super::shape::Shape;
use super::slots::Slots;
use super::theory::Theory;
use super::traffic::Traffic;
use acsm_filters::{Backend, Expire, RecycleAt, Sizing, StoreSpec};
use acsm_model::ErrorRates;

impl Theory {
    /// Theory for a store and the traffic it is taken to have.
    pub fn for_store(spec: &StoreSpec, traffic: Traffic) -> Theory {
        Theory::new(traffic).with_variants(spec.decode, spec.sbf)
    }

    /// The errors of a store with `live` flows in it. Stores that empty themselves are taken over
    /// their whole cycle.
    ///
    /// ```
    /// use acsm::engine::plan::{Theory, Traffic};
    /// use acsm_filters::{Backend, StoreSpec};
    ///
    /// let spec = StoreSpec::new(Backend::Kbf, 6);
    /// let (sizing, theory) = (spec.sizing()?, Theory::for_store(&spec, Traffic::typical(6)));
    /// let planned = theory.predict(&spec, &sizing, spec.flows as f64);
    /// let crowded = theory.predict(&spec, &sizing, 2.0 * spec.flows as f64);
    /// assert!(planned.of_absent() < 0.011 && crowded.of_absent() > 0.1);
    /// # Ok::<(), acsm_filters::SpecError>(())
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
                self.cell_errors(shape, sizing.cells_per_line, sizing.hashes, load)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acsm_filters::LayoutKind;
    use acsm_model::counts::FlowCells;
    use acsm_model::kbf::{SumsOfThree, errors_of};

    #[test]
    fn wider_cells_are_predicted_with_the_lines_they_have() {
        let traffic = Traffic::typical(6);
        let sums = SumsOfThree::new(&traffic.mix);
        for (cell_bits, cells_per_line) in [(8, 64), (16, 32), (32, 16)] {
            let spec = StoreSpec {
                layout: LayoutKind::Blocked(1),
                expire: Expire::None,
                cell_bits: Some(cell_bits),
                ..StoreSpec::new(Backend::Kbf, 6)
            };
            let sizing = spec.sizing().unwrap();
            let flows = spec.flows as f64;
            let load = sizing.hashes as f64 * flows / sizing.cells as f64;
            let on_lines_of = |cells_per_line| {
                let cells = FlowCells::blocked(sizing.hashes, load, 1, cells_per_line);
                errors_of(&cells, &sums, spec.decode).of_absent()
            };
            let expected = on_lines_of(cells_per_line);
            let theory = Theory::for_store(&spec, traffic.clone());
            let predicted = theory.predict(&spec, &sizing, flows).of_absent();
            // Right to what a curve through few points is, and lines do make a difference.
            assert!((predicted / expected - 1.0).abs() < 0.01, "{cell_bits}: {predicted}");
            assert!(cells_per_line == 64 || predicted > 1.1 * on_lines_of(64), "{cell_bits}");
        }
    }
}
