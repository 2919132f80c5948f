//! Key-value Bloom filters: figures that were computed or simulated elsewhere, and the model's own
//! filter of few states.

use std::f64::consts::LN_2;

use acsm_model::kv::{Decoding, KeyValueFilter, of_filters};
use acsm_model::{FlowCells, StateMix, kbf};

/// A filter with as many values in use as there are codes.
fn all_in_use(hashes: usize, load: f64, values: f64, code_bits: f64) -> KeyValueFilter {
    KeyValueFilter { hashes, load, values, assigned: values, code_bits }
}

/// ρ times the capacity of a filter with k hashes, 3,000 values of 28 bits.
fn at(hashes: usize, rho: f64) -> KeyValueFilter {
    all_in_use(hashes, rho * LN_2, 3000.0, 28.0)
}

fn assert_near(name: &str, computed: f64, known: f64) {
    assert!((computed / known - 1.0).abs() < 0.1, "{name}: {computed:.3e}, known {known:.1e}");
}

/// Figures 7, 8 and 17 of the journal, with two digits: cells × 1.0 to 0.5 for p = 1e-3.
#[test]
fn the_papers_experiment() {
    let known = [
        (1.0, 1.8e-7, 1.1e-8, 1.0e-3),
        (0.9, 8.0e-7, 5.1e-8, 2.0e-3),
        (0.8, 4.0e-6, 2.9e-7, 4.4e-3),
        (0.7, 2.3e-5, 1.9e-6, 9.8e-3),
        (0.6, 1.5e-4, 1.5e-5, 2.3e-2),
        (0.5, 1.1e-3, 1.4e-4, 5.7e-2),
    ];
    for (cells, one, two, false_positive) in known {
        let filter = at(10, 1.0 / cells);
        assert_near("option 1", filter.undecided(Decoding::Option1), one);
        assert_near("literal", filter.undecided(Decoding::Literal), two);
        assert!(filter.undecided(Decoding::Option2) <= filter.undecided(Decoding::Literal));
        assert_near("absent", filter.false_positive(Decoding::Option1), false_positive);
    }
    // Half of the cells for other rates; k is rounded, so ρ is not quite 2.
    for (p, hashes, one, false_positive) in
        [(1e-4_f64, 13, 6.7e-5, 2.1e-2), (1e-5, 17, 4.8e-6, 9.0e-3), (1e-6, 20, 2.6e-7, 3.3e-3)]
    {
        let filter = at(hashes, 2.0 * hashes as f64 * LN_2 / -p.ln());
        assert_near("option 1", filter.undecided(Decoding::Option1), one);
        assert_near("absent", filter.false_positive(Decoding::Option1), false_positive);
    }
}

#[test]
fn joint_decoding_is_never_worse() {
    for hashes in [1, 2, 4, 6, 10] {
        for load in [0.01, 0.3, 1.0, 2.0, 5.0] {
            for values in [2.0, 100.0, 3000.0, 1e6] {
                let filter = all_in_use(hashes, load, values, 60.0);
                let joint = filter.undecided(Decoding::Joint);
                for other in [Decoding::Option1, Decoding::Option2, Decoding::Literal] {
                    assert!(joint <= 1.000_001 * filter.undecided(other), "{filter:?} {other:?}");
                }
                let rates = [Decoding::Joint, Decoding::Option1].map(|d| filter.false_positive(d));
                assert!(rates[0] <= rates[1], "{filter:?}");
            }
        }
    }
}

/// For a few values that are equally frequent the two models describe one filter, but for sums of three:
/// those of few codes are not random words.
#[test]
fn it_agrees_with_the_model_of_few_states() {
    let cells = FlowCells::at_load(5, 0.7);
    let few = kbf::errors(&cells, &StateMix::even(16), kbf::Decoding::AllPairs);
    let many = all_in_use(5, 0.7, 16.0, 8.0);
    let silent = many.undecided(Decoding::Option1);
    assert!(few.dont_know < silent && few.dont_know > silent / 10.0, "{few:?}, {silent}");
    assert_near("absent", many.false_positive(Decoding::Option1), few.of_absent());
}

/// Two candidates fewer of three thousand make no difference, and one value in use leaves none.
#[test]
fn the_fewer_values_are_in_use_the_less_is_undecided() {
    let full = all_in_use(6, 1.4, 3000.0, 28.0);
    let with = |assigned: f64| KeyValueFilter { assigned, ..full };
    let rates = |filter: KeyValueFilter| {
        [filter.undecided(Decoding::Joint), filter.false_positive(Decoding::Joint)]
    };
    assert_near("undecided", rates(with(2998.0))[0], rates(full)[0]);
    assert_eq!(rates(with(1.0))[0], 0.0);
    assert_eq!(rates(with(0.0)), [0.0, 0.0]);
    let more = [1.0, 2.0, 10.0, 100.0, 1000.0, 3000.0].map(|assigned| rates(with(assigned)));
    for pair in more.windows(2) {
        assert!(pair[0][0] < pair[1][0] && pair[0][1] < pair[1][1], "{pair:?}");
    }
    // The papers' options do not look at what is in use.
    let option = |assigned| with(assigned).undecided(Decoding::Option2);
    assert_eq!(option(10.0), option(3000.0));
}

/// Beyond 2^14 values in use, keys with three or more on every cell are not decided.
#[test]
fn too_many_values_are_not_tried_one_by_one() {
    let full = all_in_use(4, 2.0, 1e6, 56.0);
    let most = f64::from(1 << 14);
    let [tried, not_tried] = [most, most + 1.0]
        .map(|assigned| KeyValueFilter { assigned, ..full }.undecided(Decoding::Joint));
    let no_pair = (1.0 - 3.0 * (-2.0_f64).exp()).powi(4); // two others at least on each of four cells
    assert!(tried < not_tried, "{tried} {not_tried}");
    assert_near("not tried", not_tried, no_pair);
}

#[test]
fn filters_add_up() {
    assert_eq!(of_filters(0.0, 5), 0.0);
    assert!((of_filters(1e-9, 1000) - 1e-6).abs() < 1e-11);
    assert!((of_filters(0.5, 2) - 0.75).abs() < 1e-12);
}
