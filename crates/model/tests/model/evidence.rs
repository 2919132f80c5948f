//! What closed forms are compared with: exact fractions, means of simulated epochs, rates of
//! simulated trials, and equality to a number of digits.

use std::ops::{Add, Div, Mul, Sub};

/// An exact fraction, for cases with few outcomes. Overflow panics, which is fine in a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fraction {
    over: i128,
    under: i128,
}

impl Fraction {
    pub const ZERO: Fraction = Fraction { over: 0, under: 1 };
    pub const ONE: Fraction = Fraction { over: 1, under: 1 };

    pub fn new(over: i128, under: i128) -> Fraction {
        let (mut a, mut b) = (over.abs(), under.abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let sign = if under < 0 { -1 } else { 1 };
        Fraction { over: sign * over / a, under: sign * under / a }
    }

    pub fn power(self, exponent: u32) -> Fraction {
        (0..exponent).fold(Fraction::ONE, |product, _| product * self)
    }

    pub fn to_f64(self) -> f64 {
        self.over as f64 / self.under as f64
    }
}

impl Add for Fraction {
    type Output = Fraction;

    fn add(self, other: Fraction) -> Fraction {
        Fraction::new(self.over * other.under + other.over * self.under, self.under * other.under)
    }
}

impl Sub for Fraction {
    type Output = Fraction;

    fn sub(self, other: Fraction) -> Fraction {
        self + Fraction::new(-other.over, other.under)
    }
}

impl Mul for Fraction {
    type Output = Fraction;

    fn mul(self, other: Fraction) -> Fraction {
        Fraction::new(self.over * other.over, self.under * other.under)
    }
}

impl Div for Fraction {
    type Output = Fraction;

    fn div(self, other: Fraction) -> Fraction {
        Fraction::new(self.over * other.under, self.under * other.over)
    }
}

pub fn choose(n: u64, k: u64) -> Fraction {
    (0..k).fold(Fraction::ONE, |product, i| {
        product * Fraction::new(i128::from(n) - i128::from(i), i128::from(i) + 1)
    })
}

/// The mean of simulated epochs, and half the width of its 99.9 % interval by Student's t.
pub fn mean_of(epochs: &[f64]) -> (f64, f64) {
    let n = epochs.len() as f64;
    let mean = epochs.iter().sum::<f64>() / n;
    let variance = epochs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let t = match epochs.len() {
        5 => 8.610,
        7 => 5.959,
        10 => 4.781,
        14 => 4.221,
        20 => 3.883,
        other => panic!("no t quantile for {other} epochs"),
    };
    (mean, t * (variance / n).sqrt())
}

/// Asserts that the model lies in the 99.9 % interval of the simulated epochs' mean, and that the
/// interval is narrow enough to say something: `resolution` relative to the model.
pub fn assert_in_interval(name: &str, model: f64, epochs: &[f64], resolution: f64) {
    let (mean, half) = mean_of(epochs);
    println!("{name}: model {model:.5e}, simulated {mean:.5e} ± {half:.1e}");
    assert!((model - mean).abs() <= half, "{name}: model {model:e}, simulated {mean:e} ± {half:e}");
    assert!(half < resolution * model, "{name}: ± {half:e} is too wide for {model:e}");
}

pub fn assert_close(name: &str, value: f64, wanted: f64, relative: f64) {
    let difference = (value - wanted).abs();
    assert!(difference <= relative * wanted.abs(), "{name}: {value:e}, wanted {wanted:e}");
}
