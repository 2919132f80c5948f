//! Bloom-g against a slow model of its rules, and against the closed forms of its paper.

use acsm_filters::{BloomG, BloomGSpec, Random};
use acsm_model::bloom_g::{AllSet, BloomG as Model};
use acsm_model::special::poisson_mean;
use proptest::prelude::*;

use crate::slow::bloom_g::SlowBloomG;

fn specs() -> impl Strategy<Value = BloomGSpec> {
    (1..40u64, 1..=64u32, 1..=9u32, 0..=16u32).prop_map(|(count, eighth, words, more)| {
        let word_bits = 8 * eighth;
        let bits = count * u64::from(word_bits) + 5;
        BloomGSpec { bits, word_bits, words, hashes: words + more }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    /// Digests from a few, so that elements come twice and absent ones are found.
    #[test]
    fn it_follows_its_rules(
        spec in specs(),
        digests in prop::collection::vec((any::<bool>(), 0..200u64), 1..150),
    ) {
        let (mut fast, mut slow) = (BloomG::new(&spec).unwrap(), SlowBloomG::new(&spec));
        for (inserted, digest) in digests {
            if inserted {
                prop_assert_eq!(fast.insert(digest), slow.insert(digest));
            }
            let query = fast.query(digest);
            prop_assert_eq!((query.found, query.accesses), slow.query(digest));
            prop_assert!(query.found || !inserted);
        }
        fast.clear();
        prop_assert_eq!(fast.fill_ratio(), 0.0);
    }
}

/// The deviation of one filter's rate. Words are nearly independent: if an absent element is found in
/// one of its words with probability q, and X is that of one word, the mean over l words has
/// variance Var(X)/l, and the rate is its g-th power. With ⌈k/g⌉ and ⌊k/g⌋ bits, X is that of the
/// fuller ones: an upper bound of the relative deviation.
fn deviation_of_filters(model: &Model, elements: f64) -> f64 {
    let share = model.hashes.div_ceil(model.words);
    let mean = model.words as f64 * elements / model.word_count();
    let most = 100.0 * share as f64 * mean.max(1.0);
    let power = |asked: usize| {
        let table = AllSet::new(model.word_bits, asked, most);
        poisson_mean(mean, |times| table.after(times * share as f64))
    };
    let (first, second) = (power(share), power(2 * share));
    let relative = ((second - first * first) / model.word_count()).sqrt() / first;
    model.words as f64 * relative * model.false_positive_rate_exact(elements)
}

/// The rate of `filters` filters with different elements, over `asked` queries of each; and how many
/// words a query reads.
fn measure(spec: &BloomGSpec, elements: u64, filters: u64, asked: u64) -> (f64, f64) {
    let (mut found, mut read) = (0, 0);
    for filter in 0..filters {
        let mut random = Random::for_purpose(7, filter);
        let mut set = BloomG::new(spec).unwrap();
        for _ in 0..elements {
            set.insert(random.next_u64());
        }
        for _ in 0..asked {
            let query = set.query(random.next_u64());
            found += u64::from(query.found);
            read += u64::from(query.accesses);
        }
    }
    let total = (filters * asked) as f64;
    (found as f64 / total, read as f64 / total)
}

/// Words of the paper's four widths, g = 1, 2 and 3; bounds are five standard deviations, of the
/// sample and of filters.
#[test]
fn rates_are_those_of_the_closed_form() {
    let (filters, asked) = (8, 50_000);
    for (word_bits, words, hashes) in [
        (32, 1, 3),
        (64, 1, 3),
        (72, 1, 3),
        (256, 1, 3),
        (64, 1, 6),
        (64, 2, 3),
        (72, 2, 5),
        (64, 3, 7),
        (32, 4, 4),
    ] {
        let bits = 144 * 2048;
        let spec = BloomGSpec { bits, word_bits, words, hashes };
        let elements = bits / 10;
        let model =
            Model { bits: bits as f64, word_bits, words: words as usize, hashes: hashes as usize };
        let right = model.false_positive_rate_exact(elements as f64);
        let of_filters = deviation_of_filters(&model, elements as f64) / (filters as f64).sqrt();
        let of_sample = (right / (filters * asked) as f64).sqrt();
        let bound = 5.0 * of_filters.hypot(of_sample);
        let (rate, read) = measure(&spec, elements, filters, asked);
        println!(
            "w {word_bits}, g {words}, k {hashes}: {rate:.4e}, {right:.4e} ± {bound:.1e}; {read:.3} reads"
        );
        assert!((rate - right).abs() <= bound, "{spec:?}: {rate:e}, {right:e} ± {bound:e}");
        assert!(bound < 0.12 * right, "± {bound:e} is too wide for {right:e}");
        assert!(read <= f64::from(words) && (words > 1 || read == 1.0));
    }
}

/// Equation (10): with g = k it is a Bloom filter, here of words of 8 bits.
#[test]
fn g_of_k_is_a_bloom_filter() {
    let (bits, hashes, elements) = (160_000, 5, 20_000);
    let spec = BloomGSpec { bits, word_bits: 8, words: hashes, hashes };
    let (rate, _) = measure(&spec, elements, 8, 50_000);
    let right = acsm_model::bloom::fp_rate(bits as f64, hashes as usize, elements as f64);
    // One filter's fill deviates by 0.1 %, its fifth power by 0.5 %.
    let bound = 5.0 * (right / 400_000.0).sqrt().hypot(0.005 * right / 8f64.sqrt());
    assert!((rate - right).abs() <= bound, "{rate:e}, {right:e} ± {bound:e}");
}
