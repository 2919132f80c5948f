//! Whatever a user or a trace says, a model answers: no panic, no endless loop.

use acsm_model::aging::Arrivals;
use acsm_model::bhbf::Masks;
use acsm_model::bloom_alpha::BloomAlpha;
use acsm_model::bloom_g::BloomG;
use acsm_model::kbf::Decoding;
use acsm_model::kv::KeyValueFilter;
use acsm_model::recycling::{
    Cycle, End, Filter, Frozen, Hashing, Phases, Retain, best_recycle, expected_messages, limit,
    n_bounded, one_hash,
};
use acsm_model::{FlowCells, StateMix, bloom, bound, dbf, fcf, kbf, kv, sbf};

const NUMBERS: [f64; 9] =
    [f64::NAN, f64::NEG_INFINITY, -1.0, 0.0, 1e-300, 0.5, 1e5, 1e10, f64::INFINITY];

/// A chance, or no number where none was given.
fn assert_chance(name: &str, chance: f64) {
    assert!(chance.is_nan() || (-1e-9..=1.0 + 1e-9).contains(&chance), "{name}: {chance}");
}

#[test]
fn any_number_gets_an_answer() {
    let masks = Masks::new();
    for load in NUMBERS {
        for hashes in [0, 1, 7] {
            let layouts = [
                FlowCells::at_load(hashes, load),
                FlowCells::blocked(hashes, load, 2, 26),
                FlowCells::blocked(hashes, load, 0, 0),
            ];
            for cells in &layouts {
                for mix in [StateMix::even(1), StateMix::new(&[load, 1.0, 0.0])] {
                    let results = [
                        dbf::errors(cells, mix.states()),
                        sbf::errors(cells, &mix),
                        kbf::errors(cells, &mix, Decoding::AllPairs),
                        kbf::errors(cells, &mix, Decoding::Literal),
                        kbf::errors(cells, &mix, Decoding::ThreeWay),
                        masks.errors(cells, mix.states()),
                    ];
                    if (0.0..=1e10).contains(&load) {
                        for errors in results {
                            assert_chance("absent flows", errors.of_absent());
                            assert_chance("flows", errors.of_extant());
                        }
                    }
                }
            }
            for (values, code_bits) in NUMBERS.into_iter().zip(NUMBERS.into_iter().rev()) {
                let assigned = code_bits;
                let filter = KeyValueFilter { hashes, load, values, assigned, code_bits };
                for decoding in [kv::Decoding::Option1, kv::Decoding::Literal, kv::Decoding::Joint]
                {
                    assert_chance("undecided", filter.undecided(decoding));
                    assert_chance("false positives", filter.false_positive(decoding));
                }
            }
            limit::false_positive_rate(hashes, load);
            n_bounded::actual(load, hashes, 10.0);
            n_bounded::oracle(1e9, hashes, load);
            let arrivals =
                Arrivals { per_second: load, lifetime_seconds: 1.0, phase_seconds: load };
            arrivals.cells_of_flow(1e6, hashes, load);
        }
        bloom::cell_has_at_least(3, load);
        bloom::best_hashes(load, 32);
        bound::bits_per_flow(load, &StateMix::even(6));
        fcf::errors(fcf::fingerprint_bits(load, 0.93), load, &StateMix::even(6));
        BloomG { bits: load, word_bits: 64, words: 2, hashes: 3 }.false_positive_rate(1000.0);
        let filter = BloomG { bits: 1e6, word_bits: 0, words: 0, hashes: 0 };
        filter.false_positive_rate_exact(load);
        BloomG { bits: 1e6, word_bits: 512, words: 2, hashes: 3 }.false_positive_rate_exact(load);
        BloomAlpha { bits: 64.0, word_bits: 64, hashes: 3, alpha: load }.query(load);
    }
}

#[test]
fn any_filter_can_be_asked_to_recycle() {
    for bits in [0, 1, 2, 50] {
        for hashes in [0, 1, 3, 60] {
            for (hashing, retain) in
                [(Hashing::Colliding, Retain::Keep), (Hashing::Distinct, Retain::Forget)]
            {
                let filter = Filter { bits, hashes, hashing, retain };
                let cycle = Cycle::new(filter);
                for sigma in [0, 1, 49, 1000, u64::MAX] {
                    cycle.two_phase_rate(sigma, Frozen::AfterOverflow);
                    cycle.steady_state(sigma, sigma);
                    filter.overflow(3, sigma);
                    expected_messages(&filter, sigma, End::Beyond);
                    one_hash(bits, sigma);
                }
                n_bounded::exact(&filter, 3);
            }
        }
    }
    for bits in [0, 1, 100, u64::MAX] {
        for rate in NUMBERS {
            for phases in [Phases::One, Phases::Two] {
                best_recycle(bits, rate, phases);
            }
        }
    }
}
