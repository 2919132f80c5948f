//! Bloom-g and Bloom-α: the paper's printed values and tables, exact fractions for tiny filters,
//! and simulations.

use acsm_filters::rng::Random;
use acsm_model::bloom_alpha::BloomAlpha;
use acsm_model::bloom_g::{BloomG, WORD_BITS};
use acsm_model::{bloom, recycling::n_bounded};

use crate::evidence::{Fraction, assert_close, assert_in_interval, choose};

const BITS: f64 = 1_048_576.0;
const LOADS: [f64; 5] = [0.01, 0.02, 0.04, 0.08, 0.16];

fn filter(words: usize, hashes: usize) -> BloomG {
    BloomG { bits: BITS, word_bits: 64, words, hashes }
}

fn in_print(rate: f64) -> String {
    format!("{rate:.1e}")
}

/// §3.2, at load factor 0.04.
#[test]
fn printed_rates() {
    let elements = 0.04 * BITS;
    // 1.45e-3: the paper rounds up.
    assert_close("B(k=3)", n_bounded::worst(BITS, 3, elements), 1.5e-3, 0.04);
    assert_eq!(in_print(filter(2, 3).false_positive_rate(elements)), "1.6e-3");
    // Bits in 2 + 1 instead of 1.5 each, and not independent.
    assert_eq!(in_print(filter(2, 3).false_positive_rate_exact(elements)), "1.7e-3");
    let same_hash_bits = filter(2, 3).with_best_hashes_within(elements, 60.0);
    assert_eq!((same_hash_bits.hashes, same_hash_bits.hash_bits()), (5, 58.0));
    assert_eq!(in_print(same_hash_bits.false_positive_rate(elements)), "3.1e-4");
    // (9) as printed is another thing altogether.
    assert_eq!(in_print(filter(2, 3).false_positive_rate_printed(elements)), "4.5e-5");
}

/// Tables 3 and 5: m = 2^20, w = 64.
#[test]
fn printed_tables_of_optimal_hashes() {
    let bloom: Vec<f64> = LOADS.map(|load| bloom::optimal_hashes(1.0 / load).round()).to_vec();
    assert_eq!(bloom, [69.0, 35.0, 17.0, 9.0, 4.0]);
    assert_eq!(
        bloom.iter().map(|k| k * 20.0).collect::<Vec<_>>(),
        [1380.0, 700.0, 340.0, 180.0, 80.0]
    );
    let printed = [
        (1, [80.0, 74.0, 62.0, 50.0, 38.0]),
        (2, [142.0, 118.0, 94.0, 70.0, 52.0]),
        (3, [198.0, 162.0, 126.0, 90.0, 66.0]),
    ];
    for (words, hash_bits) in printed {
        let best = LOADS.map(|load| filter(words, words).with_best_hashes(load * BITS, 40));
        for ((best, hash_bits), load) in best.iter().zip(hash_bits).zip(LOADS) {
            if (words, load) == (3, 0.01) {
                // The one exception: k = 25 beats the printed 26 by 0.2 % (at n = 10,000 it does not).
                let printed = filter(3, 26);
                assert_eq!((best.hashes, printed.hash_bits()), (25, hash_bits));
                let rates = [*best, printed].map(|filter| filter.false_positive_rate(load * BITS));
                assert!(rates[1] > rates[0] && rates[1] < 1.003 * rates[0], "{rates:?}");
            } else {
                assert_eq!(best.hash_bits(), hash_bits, "B{words} at {load}");
            }
        }
        assert!(best.iter().all(|filter| filter.accesses() == words));
    }
}

/// Tables 2 and 4: hash bits with k = 3, and the range of those with h = 3 log2 m.
#[test]
fn printed_tables_of_few_hashes() {
    let with = |log_bits: i32, words: usize, hashes: usize| BloomG {
        bits: 2f64.powi(log_bits),
        word_bits: 64,
        words,
        hashes,
    };
    assert_eq!([16, 20, 24].map(|log| with(log, 1, 3).hash_bits()), [28.0, 32.0, 36.0]);
    assert_eq!([16, 20, 24].map(|log| with(log, 2, 3).hash_bits()), [38.0, 46.0, 54.0]);
    // From a load factor of 1 down to next to nothing.
    let range = |log: i32, words: usize| {
        let bits = 2f64.powi(log);
        [1.0, 1e-3].map(|load| {
            with(log, words, words)
                .with_best_hashes_within(load * bits, 3.0 * f64::from(log))
                .hash_bits()
        })
    };
    let of_two = [16, 20, 24].map(|log| range(log, 2));
    assert_eq!(of_two, [[32.0, 44.0], [40.0, 58.0], [48.0, 72.0]], "table 4");
    // Table 2 prints this same row for Bloom-1, where 10 + 6k, 14 + 6k and 18 + 6k are possible.
    let of_one = [16, 20, 24].map(|log| range(log, 1));
    assert_eq!(of_one, [[16.0, 46.0], [20.0, 56.0], [24.0, 72.0]], "table 2, put right");
}

/// §3.5 and figure 10: at most 0.2 elements a bit.
#[test]
fn growing_sets() {
    let (two, one) = (filter(2, 5), filter(1, 6));
    assert_eq!((two.hash_bits(), one.hash_bits()), (58.0, 50.0));
    let against = |rate: f64, load: f64| rate / n_bounded::worst(BITS, 3, load * BITS);
    let [at_4, at_16, at_18] =
        [0.04, 0.16, 0.18].map(|load| against(two.false_positive_rate(load * BITS), load));
    println!("Bloom-2 (k = 5) / Bloom (k = 3): {at_4:.3} at 0.04, {at_16:.3} at 0.16, {at_18:.3}");
    // "one-fourth" there, "about one-fifth" in §3.2, of the same two figures.
    assert!((0.2..0.25).contains(&at_4) && at_16 < 1.0 && at_18 > 1.0);
    for filter in [two, one] {
        let most = filter.most_elements(0.01);
        assert!(filter.false_positive_rate(most) <= 0.01);
        assert!(filter.false_positive_rate(most + 100.0) > 0.01);
    }
}

#[test]
fn g_of_k_is_a_bloom_filter() {
    for hashes in 1..=5 {
        for load in LOADS {
            let bloom = n_bounded::worst(BITS, hashes, (load * BITS).floor());
            let rate = filter(hashes, hashes).false_positive_rate((load * BITS).floor());
            assert_close("(10)", rate, bloom, 1e-9);
        }
    }
}

#[test]
fn wide_words_err_less() {
    let rates = WORD_BITS.map(|word_bits| {
        let bits = f64::from(word_bits) * 10_000.0;
        let filter = BloomG { bits, word_bits, words: 1, hashes: 3 };
        (filter.false_positive_rate(0.1 * bits), n_bounded::worst(bits, 3, 0.1 * bits))
    });
    assert!(rates.windows(2).all(|pair| pair[1].0 < pair[0].0), "{rates:?}");
    assert!(rates.iter().all(|(blocked, spread)| blocked > spread));
}

/// (5) and (9) in exact fractions: 3 words of 4 bits, 3 elements.
#[test]
fn sums_are_exact_for_few_elements() {
    for (words, hashes) in [(1, 2), (1, 3), (2, 2), (2, 4)] {
        let share = (hashes / words) as u32;
        let picks = 3 * words as u64;
        let mut in_word = Fraction::ZERO;
        for x in 0..=picks {
            let chance = choose(picks, x)
                * Fraction::new(1, 3).power(x as u32)
                * Fraction::new(2, 3).power((picks - x) as u32);
            let filled = Fraction::ONE - Fraction::new(3, 4).power(x as u32 * share);
            in_word = in_word + chance * filled.power(share);
        }
        let exact = in_word.to_f64().powi(words as i32);
        let filter = BloomG { bits: 12.0, word_bits: 4, words, hashes };
        assert_close("f_Bg", filter.false_positive_rate(3.0), exact, 1e-12);
    }
}

/// All that can happen to two elements and an absent one on 2 words of 3 bits, with 2 hashes.
#[test]
fn the_exact_rate_is_that_of_all_outcomes() {
    let places: Vec<(usize, u32)> =
        (0..18).map(|i| (i / 9, 1 << (i % 3) | 1 << (i / 3 % 3))).collect();
    let mut hits = 0;
    for (first, second) in places.iter().flat_map(|a| places.iter().map(move |b| (a, b))) {
        let mut words = [0; 2];
        words[first.0] |= first.1;
        words[second.0] |= second.1;
        hits += places.iter().filter(|(word, mask)| words[*word] & mask == *mask).count();
    }
    let exact = hits as f64 / 18f64.powi(3);
    let filter = BloomG { bits: 6.0, word_bits: 3, words: 1, hashes: 2 };
    assert_close("exact", filter.false_positive_rate_exact(2.0), exact, 1e-12);
    assert!(filter.false_positive_rate(2.0) < exact, "(3) takes bits for independent");
}

/// Words of 64 bits, and what a query does with them.
struct Simulated {
    words: Vec<u64>,
    random: Random,
}

impl Simulated {
    fn new(words: usize, seed: u64) -> Simulated {
        Simulated { words: vec![0; words], random: Random::for_purpose(seed, 13) }
    }

    /// A word, and a mask of `hashes` of its bits, drawn with replacement from the first `width`.
    fn draw(&mut self, hashes: usize, width: u64) -> (usize, u64) {
        let word = self.random.below(self.words.len() as u64) as usize;
        (word, self.mask(hashes, width))
    }

    fn mask(&mut self, hashes: usize, width: u64) -> u64 {
        (0..hashes).fold(0, |mask, _| mask | 1 << self.random.below(width))
    }

    fn has(&self, (word, mask): (usize, u64)) -> bool {
        self.words[word] & mask == mask
    }
}

/// The bits of each of the words of an element.
fn shares(words: usize, hashes: usize) -> Vec<usize> {
    (0..words).map(|word| hashes / words + usize::from(word < hashes % words)).collect()
}

#[test]
fn bloom_g_is_as_simulated() {
    let words = 4096;
    let bits = words as f64 * 64.0;
    for (g, hashes, load) in [(1, 3, 0.1), (1, 6, 0.1), (2, 3, 0.1), (2, 5, 0.12), (3, 7, 0.12)] {
        let elements = (load * bits) as usize;
        let run = |seed: u64| {
            let mut simulated = Simulated::new(words, seed);
            for _ in 0..elements {
                for share in shares(g, hashes) {
                    let (word, mask) = simulated.draw(share, 64);
                    simulated.words[word] |= mask;
                }
            }
            let queries = 40_000;
            let hit = |simulated: &mut Simulated| {
                shares(g, hashes).into_iter().all(|share| {
                    let place = simulated.draw(share, 64);
                    simulated.has(place)
                })
            };
            (0..queries).filter(|_| hit(&mut simulated)).count() as f64 / f64::from(queries)
        };
        let rates: Vec<f64> = (0..10).map(run).collect();
        let filter = BloomG { bits, word_bits: 64, words: g, hashes };
        let model = filter.false_positive_rate_exact(elements as f64);
        assert_in_interval(&format!("B{g}(k={hashes}) at {load}"), model, &rates, 0.1);
        let by_print = filter.false_positive_rate(elements as f64);
        println!("  (9): {:.3} of that", by_print / model);
        assert!(by_print < model && by_print > 0.85 * model, "(9) is somewhat too low");
    }
}

/// Builds Bloom-α as §4.2 does, asks for absent elements; returns rate, accesses and split words.
fn simulate_alpha(words: usize, hashes: usize, alpha: f64, load: f64, seed: u64) -> [f64; 3] {
    let mut simulated = Simulated::new(words, seed);
    let elements = (load * words as f64 * 64.0) as usize;
    let (second, first) = (hashes / 2, hashes - hashes / 2);
    let mut on_word = vec![0usize; words];
    for _ in 0..elements {
        on_word[simulated.random.below(words as u64) as usize] += 1;
    }
    let mut fullest: Vec<usize> = (0..words).collect();
    fullest.sort_by_key(|&word| std::cmp::Reverse(on_word[word]));
    let (mut split, mut done) = (vec![false; words], 0);
    for word in fullest {
        if (done as f64) < alpha * elements as f64 {
            split[word] = true;
            done += on_word[word];
        }
    }
    for word in 0..words {
        for _ in 0..on_word[word] {
            let own = if split[word] { first } else { hashes };
            let mask = simulated.mask(own, 63);
            simulated.words[word] |= mask;
            if split[word] {
                let (other, mask) = simulated.draw(second, 63);
                simulated.words[other] |= mask;
            }
        }
    }
    let queries = 100_000;
    let (mut hits, mut accesses) = (0, 0);
    for _ in 0..queries {
        let word = simulated.random.below(words as u64) as usize;
        let mask = simulated.mask(if split[word] { first } else { hashes }, 63);
        let mut hit = simulated.has((word, mask));
        accesses += 1;
        if hit && split[word] {
            accesses += 1;
            let place = simulated.draw(second, 63);
            hit = simulated.has(place);
        }
        hits += u32::from(hit);
    }
    let part = |count: u32| f64::from(count) / f64::from(queries);
    let split = split.iter().filter(|split| **split).count() as f64 / words as f64;
    [part(hits), part(accesses), split]
}

#[test]
fn bloom_alpha_is_as_simulated() {
    let words = 4096;
    let bits = words as f64 * 64.0;
    for (hashes, alpha, load) in [(3, 0.25, 0.1), (3, 0.5, 0.1), (6, 0.5, 0.08), (3, 0.0, 0.1)] {
        let runs: Vec<[f64; 3]> =
            (0..10).map(|seed| simulate_alpha(words, hashes, alpha, load, seed)).collect();
        let of = |index: usize| runs.iter().map(|run| run[index]).collect::<Vec<f64>>();
        let model = BloomAlpha { bits, word_bits: 64, hashes, alpha };
        let query = model.query((load * bits).floor());
        let name = format!("Bloom-α, k {hashes}, α {alpha}");
        assert_in_interval(&name, query.false_positive_rate, &of(0), 0.1);
        assert_in_interval("  accesses", query.accesses, &of(1), 0.01);
        if alpha > 0.0 {
            assert_in_interval("  split words", query.split_words, &of(2), 0.1);
        }
        assert!(query.split_words <= alpha && query.accesses <= 1.0 + alpha);
    }
    assert_eq!(BloomAlpha { bits: BITS, word_bits: 64, hashes: 3, alpha: 0.5 }.hash_bits(), 46.0);
}

/// Figure 13: Bloom-α lies between Bloom-1 and Bloom-2, nearer to the latter as α grows.
#[test]
fn bloom_alpha_lies_between_bloom_1_and_bloom_2() {
    let elements = 0.1 * BITS;
    let [none, quarter, half] = [0.0, 0.25, 0.5].map(|alpha| {
        BloomAlpha { bits: BITS, word_bits: 64, hashes: 3, alpha }
            .query(elements)
            .false_positive_rate
    });
    let one = filter(1, 3).false_positive_rate(elements);
    let two = filter(2, 3).false_positive_rate(elements);
    println!(
        "Bloom-1 {one:.3e}, α = 0 {none:.3e}, 25 % {quarter:.3e}, 50 % {half:.3e}, Bloom-2 {two:.3e}"
    );
    assert!(quarter < none && half < quarter && quarter < one && half > 0.95 * two);
    assert!(none > one, "the flag takes a bit");
}

#[test]
fn ten_billion_elements() {
    let bits = 2f64.powi(37);
    let large = BloomG { bits, word_bits: 512, words: 2, hashes: 8 };
    let small = BloomG { bits: 2f64.powi(22), ..large };
    assert_close(
        "scaled",
        large.false_positive_rate(0.07 * bits),
        small.false_positive_rate(0.07 * 2f64.powi(22)),
        1e-3,
    );
}
