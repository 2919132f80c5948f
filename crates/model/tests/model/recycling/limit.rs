//! Large filters: sums become integrals.

use acsm_model::recycling::n_bounded::{actual, oracle};
use acsm_model::recycling::{Cycle, Filter, Frozen, limit};

use crate::evidence::assert_close;

#[test]
fn long_sums_are_integrals() {
    // Both ways at 10^5 messages, the longest sum.
    let (bits, hashes) = (1e6, 7);
    for (below, above) in [
        (oracle(bits, hashes, 100_000.0), oracle(bits, hashes, 100_001.0)),
        (actual(bits, hashes, 100_000.0), actual(bits, hashes, 100_001.0)),
    ] {
        assert!(above > below && above < below * (1.0 + 1e-4), "{below} {above}");
    }
    // Scaled up, nothing changes.
    assert_close("f_o", oracle(1e10, 7, 1e9), oracle(1e6, 7, 1e5), 1e-4);
    assert_close("f_a", actual(1e10, 7, 1e9), actual(1e6, 7, 1e5), 1e-4);
}

#[test]
fn large_filters_approach_the_limit() {
    for (hashes, fill) in [(1, 0.3), (4, 0.5), (7, 0.6), (10, 0.5)] {
        let mut last = f64::INFINITY;
        for bits in [1_000u64, 10_000, 100_000] {
            let sigma = (fill * bits as f64) as u64;
            let cycle = Cycle::new(Filter::new(bits, hashes));
            let errors = [
                cycle.false_positive_rate(sigma) / limit::false_positive_rate(hashes, fill),
                cycle.messages(sigma) / (limit::messages_per_bit(hashes, fill) * bits as f64),
                cycle.two_phase_rate(sigma, Frozen::BeforeOverflow)
                    / limit::two_phase_rate(hashes, fill),
            ];
            let error = errors.iter().map(|ratio| (ratio - 1.0).abs()).fold(0.0, f64::max);
            println!("k {hashes}, s {fill}, M {bits}: {error:.1e} from the limit");
            assert!(error < 0.15 * last, "M {bits}: {error:e} after {last:e}");
            last = error;
        }
        assert!(last < 1e-3, "{last}");
    }
}

#[test]
fn the_limit_is_its_integral() {
    for (hashes, fill) in
        [(1, 1e-6), (1, 0.5), (5, 0.01), (7, 0.5), (7, 0.9), (7, 0.95), (20, 0.999)]
    {
        let intervals = 2_000_000;
        let at = |i: i32| fill * (f64::from(i) + 0.5) / f64::from(intervals);
        let mean = |f: &dyn Fn(f64) -> f64| (0..intervals).map(|i| f(at(i))).sum::<f64>();
        let over = mean(&|x| x.powi(hashes as i32) / (1.0 - x));
        let under = mean(&|x| 1.0 / (1.0 - x));
        assert_close("f_σ", limit::false_positive_rate(hashes, fill), over / under, 1e-6);
    }
    assert_eq!(limit::false_positive_rate(3, 0.0), 0.0);
    assert_eq!(limit::false_positive_rate(3, 1.0), 1.0);
}
