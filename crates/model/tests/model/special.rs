//! Binomial and Poisson chances against exact fractions, and for billions of trials.

use acsm_model::special::{any_of, binomial, binomial_mean, ln_factorial, poisson, poisson_mean};

use crate::evidence::{Fraction, assert_close, choose};

#[test]
fn binomials_are_exact_for_few_trials() {
    for trials in 1..=18u64 {
        for x in 0..=trials {
            let p = Fraction::new(3, 10);
            let exact = choose(trials, x)
                * p.power(x as u32)
                * (Fraction::ONE - p).power((trials - x) as u32);
            assert_close("binomial", binomial(x as f64, trials as f64, 0.3), exact.to_f64(), 3e-14);
        }
    }
}

#[test]
fn factorials_agree_with_products() {
    let mut exact = 1u128;
    for n in 2..=33u32 {
        exact *= u128::from(n);
        assert_close("n!", ln_factorial(f64::from(n)), (exact as f64).ln(), 1e-15);
    }
}

#[test]
fn ten_billion_trials_keep_their_digits() {
    // With p = mean/n and n = 10^10 a binomial is a Poisson but for a factor
    // 1 + (x − (x − mean)²) / (2n), and terms of the square of that.
    let n = 1e10;
    for mean in [0.1, 3.0, 250.0] {
        for x in [0.0, 1.0, 7.0, 260.0] {
            let factor = 1.0 + (x - (x - mean) * (x - mean)) / (2.0 * n);
            assert_close("binomial", binomial(x, n, mean / n), poisson(x, mean) * factor, 1e-11);
        }
        assert_close("mean", binomial_mean(n, mean / n, |x| x), mean, 1e-12);
        assert_close("square", poisson_mean(mean, |x| x * x), mean + mean * mean, 1e-12);
    }
}

#[test]
fn edges_are_no_numbers_but_right() {
    assert_eq!((binomial(0.0, 5.0, 0.0), binomial(1.0, 5.0, 0.0)), (1.0, 0.0));
    assert_eq!((binomial(5.0, 5.0, 1.0), binomial(6.0, 5.0, 0.5)), (1.0, 0.0));
    assert_eq!((poisson(0.0, 0.0), poisson(2.0, 0.0)), (1.0, 0.0));
    assert_close("tiny", any_of(3.0, 1e-18), 3e-18, 1e-15);
    assert_eq!((any_of(0.0, 1.0), any_of(2.0, 1.0)), (0.0, 1.0));
}
