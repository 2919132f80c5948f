//! The errors of one structure as a function of its load, interpolated between few points.
//!
//! A point of a blocked layout takes a fraction of a millisecond, and a plan asks for thousands.
//! But the logarithms of errors are smooth in the logarithm of the load: a cubic through four
//! points a quarter apart is right to about 0.1 %, and each point is computed once.

use std::cell::RefCell;
use std::collections::BTreeMap;

use acsm_model::ErrorRates;

/// Distance of points, in the logarithm of the load.
const STEP: f64 = 0.25;
/// Loads from e^{−14} to e^3 are computed: below, errors follow a power law; above, no store is
/// usable.
const LOWEST: i32 = -56;
const HIGHEST: i32 = 12;
/// Stands for the logarithm of 0.
const LN_ZERO: f64 = -700.0;

const KINDS: usize = 5;

/// Errors as a function of the mean number of flows on a cell.
pub struct Curve<F> {
    errors_at: F,
    points: RefCell<BTreeMap<i32, [f64; KINDS]>>,
}

impl<F: Fn(f64) -> ErrorRates> Curve<F> {
    /// The curve of `errors_at`.
    pub fn new(errors_at: F) -> Curve<F> {
        Curve { errors_at, points: RefCell::default() }
    }

    /// How many points were computed.
    #[cfg(test)]
    fn computed(&self) -> usize {
        self.points.borrow().len()
    }

    /// The errors at this load.
    pub fn at(&self, load: f64) -> ErrorRates {
        if load.is_nan() || load <= 0.0 {
            return ErrorRates::default();
        }
        let position = (load.ln() / STEP).min(f64::from(HIGHEST));
        let first = (position.floor() as i32 - 1).clamp(LOWEST, HIGHEST - 3);
        let points: [[f64; KINDS]; 4] = std::array::from_fn(|i| self.point(first + i as i32));
        // The position between the four points: 1 to 2, except at the ends.
        let x = position - f64::from(first);
        from_logarithms(std::array::from_fn(|kind| {
            let values = points.map(|point| point[kind]);
            if x < 0.0 { values[0] + x * (values[1] - values[0]) } else { cubic(values, x) }
        }))
    }

    fn point(&self, index: i32) -> [f64; KINDS] {
        *self
            .points
            .borrow_mut()
            .entry(index)
            .or_insert_with(|| to_logarithms(&(self.errors_at)((f64::from(index) * STEP).exp())))
    }
}

/// The cubic through four points at 0, 1, 2 and 3; linear where one of them is the logarithm of 0.
fn cubic([a, b, c, d]: [f64; 4], x: f64) -> f64 {
    if [a, b, c, d].iter().any(|value| *value <= LN_ZERO) {
        let (low, high) = if x < 1.0 {
            (a, b)
        } else if x < 2.0 {
            (b, c)
        } else {
            (c, d)
        };
        return low + (x - x.floor().min(2.0)) * (high - low);
    }
    -a * (x - 1.0) * (x - 2.0) * (x - 3.0) / 6.0 + b * x * (x - 2.0) * (x - 3.0) / 2.0
        - c * x * (x - 1.0) * (x - 3.0) / 2.0
        + d * x * (x - 1.0) * (x - 2.0) / 6.0
}

fn to_logarithms(errors: &ErrorRates) -> [f64; KINDS] {
    let kinds = [
        errors.false_positive,
        errors.dont_know_absent,
        errors.false_negative,
        errors.dont_know,
        errors.false_return,
    ];
    kinds.map(|rate| rate.max(0.0).ln().max(LN_ZERO))
}

fn from_logarithms(logarithms: [f64; KINDS]) -> ErrorRates {
    let [false_positive, dont_know_absent, false_negative, dont_know, false_return] =
        logarithms.map(|value| if value <= LN_ZERO { 0.0 } else { value.min(0.0).exp() });
    ErrorRates { false_positive, dont_know_absent, false_negative, dont_know, false_return }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acsm_model::kbf::Decoding;
    use acsm_model::{FlowCells, StateMix, kbf, sbf};

    #[test]
    fn interpolation_follows_the_errors() {
        let mix = StateMix::new(&[80.0, 10.0, 5.0, 5.0]);
        let of_kbf = |load| kbf::errors(&FlowCells::at_load(7, load), &mix, Decoding::AllPairs);
        let of_sbf = |load| sbf::errors(&FlowCells::blocked(5, load, 2, 64), &mix);
        assert_follows(&Curve::new(of_kbf));
        assert_follows(&Curve::new(of_sbf));

        fn assert_follows(curve: &Curve<impl Fn(f64) -> ErrorRates>) {
            for load in [1e-4, 0.013, 0.1, 0.5, 0.693, 1.1, 3.0] {
                let (interpolated, real) = (curve.at(load), (curve.errors_at)(load));
                for (interpolated, real) in
                    to_logarithms(&interpolated).into_iter().zip(to_logarithms(&real))
                {
                    assert!(
                        (interpolated - real).abs() < 2e-3 || real < -25.0,
                        "{load}: {interpolated} {real}"
                    );
                }
            }
            assert!(curve.computed() <= 28, "{}", curve.computed());
        }
    }

    #[test]
    fn every_load_has_errors() {
        let curve = Curve::new(|load: f64| ErrorRates {
            dont_know: load.powi(2).min(1.0),
            ..ErrorRates::default()
        });
        assert_eq!(curve.at(0.0), ErrorRates::default());
        assert_eq!(curve.at(f64::NAN), ErrorRates::default());
        assert!((curve.at(1e-9).dont_know / 1e-18 - 1.0).abs() < 1e-6);
        assert!((curve.at(f64::INFINITY).dont_know - 1.0).abs() < 1e-9);
        assert_eq!(curve.at(0.5).false_positive, 0.0);
    }
}
