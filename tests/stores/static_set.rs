//! Bloom-α as it runs against its model. Seeds are fixed; bounds are five deviations of the sampling
//! and what one filter's luck makes of it.

use acsm::model::bloom_alpha::BloomAlpha;
use acsm::random::Random;
use acsm::store::{StaticSet, StaticSetSpec};

const ELEMENTS: usize = 100_000;
const ASKED: usize = 400_000;

/// The shares of absent elements that are found, and of words read beyond the first.
fn measure(set: &StaticSet, seed: u64) -> [f64; 2] {
    let mut random = Random::for_purpose(seed, 1);
    let (mut found, mut again) = (0, 0);
    for _ in 0..ASKED {
        let query = set.query(random.next_u64());
        found += u32::from(query.found);
        again += query.accesses - 1;
    }
    [found, again].map(|count| f64::from(count) / ASKED as f64)
}

#[test]
fn a_static_set_errs_as_its_model_says() {
    let mut random = Random::new(1);
    let elements: Vec<u64> = (0..ELEMENTS).map(|_| random.next_u64()).collect();
    let mut rates = vec![];
    for (hashes, alpha) in [(3, 0.0), (3, 0.25), (3, 0.5), (3, 1.0), (6, 0.5), (11, 0.5)] {
        let spec = StaticSetSpec { bits_per_element: 10.0, hashes, alpha };
        let set = StaticSet::new(&elements, &spec).unwrap();
        let model =
            BloomAlpha { bits: set.bits() as f64, word_bits: 64, hashes: hashes as usize, alpha };
        let model = model.query(ELEMENTS as f64);
        let [rate, again] = measure(&set, 2);
        println!(
            "k = {hashes}, α = {alpha}: found {rate:.3e}, model {:.3e}; {:.4} reads, model {:.4}; {:.3} split, model {:.3}",
            model.false_positive_rate,
            1.0 + again,
            model.accesses,
            set.split_words(),
            model.split_words
        );
        for (measured, expected) in
            [(rate, model.false_positive_rate), (again, model.accesses - 1.0)]
        {
            let bound = 0.03 * expected + 5.0 * (expected / ASKED as f64).sqrt();
            assert!((measured - expected).abs() <= bound, "{measured:e}, {expected:e} ± {bound:e}");
        }
        assert!((set.split_words() - model.split_words).abs() < 0.01);
        // Table 6: at most 1 + α words.
        assert!(again <= alpha);
        if hashes == 3 {
            rates.push(rate);
        }
    }
    // From Bloom-1 to Bloom-2, the more is split.
    assert!(rates.is_sorted_by(|a, b| a > b), "{rates:?}");
}
