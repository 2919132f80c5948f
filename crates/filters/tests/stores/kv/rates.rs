//! Error rates of key-value Bloom filters against the closed forms of `acsm-model`. Seeds are fixed;
//! bounds are five standard deviations, of the sampling and of the filter itself.

use acsm_filters::codes::CodeFamily;
use acsm_filters::kv::{
    Answer, CodeChoice, Decoding, FcfMap, FcfParameters, KbfMap, KbfParameters, KvSpec, Maplet,
};
use acsm_filters::rng::Random;
use acsm_model::kv::{self, KeyValueFilter};
use acsm_model::{StateMix, fcf};

/// Fewer keys unless optimised.
const fn scaled(keys: u64) -> u64 {
    if cfg!(debug_assertions) { keys / 10 } else { keys }
}

const VALUES: usize = 3000;

/// Keys, the value each should have, and a filter of them.
struct Experiment {
    filter: KbfMap,
    /// The number of each key…
    numbers: Vec<u64>,
    /// …and its value.
    truth: Vec<u32>,
    values: Zipf,
    random: Random,
}

/// What the filter answers about keys that are there.
#[derive(Debug, Default, Clone, Copy)]
struct Outcome {
    asked: u64,
    undecided: u64,
    wrong: u64,
}

/// Values with probabilities proportional to rank^−s.
struct Zipf(Vec<f64>);

impl Zipf {
    fn new(values: usize, exponent: f64) -> Zipf {
        let mut sums: Vec<f64> = vec![];
        for rank in 1..=values {
            let weight = (rank as f64).powf(-exponent);
            sums.push(sums.last().unwrap_or(&0.0) + weight);
        }
        Zipf(sums)
    }

    fn draw(&self, random: &mut Random) -> u32 {
        let at = random.unit() * self.0.last().unwrap();
        self.0.partition_point(|sum| *sum < at).min(self.0.len() - 1) as u32
    }
}

/// Digests of keys, by number.
fn digest(number: u64) -> u128 {
    let mut random = Random::for_purpose(5, number);
    u128::from(random.next_u64()) << 64 | u128::from(random.next_u64())
}

impl Experiment {
    /// A filter with `keys` keys, k cells each and this load.
    fn new(decoding: Decoding, keys: u64, hashes: usize, load: f64, exponent: f64) -> Experiment {
        let spec = KvSpec { decoding, ..KvSpec::new(keys, VALUES) };
        let cells = (keys as f64 * hashes as f64 / load) as u64;
        let parameters = KbfParameters::with_cells(&spec, cells, hashes).unwrap();
        Experiment::with(parameters, keys, Zipf::new(VALUES, exponent))
    }

    fn with(parameters: KbfParameters, keys: u64, values: Zipf) -> Experiment {
        let filter = KbfMap::new(parameters).unwrap();
        let (numbers, truth, random) = (vec![], vec![], Random::new(11));
        let mut made = Experiment { filter, numbers, truth, values, random };
        for number in 0..keys {
            let value = made.values.draw(&mut made.random);
            made.filter.insert(digest(number), value);
            made.numbers.push(number);
            made.truth.push(value);
        }
        made
    }

    fn query(&self, key: u64) -> Answer<u32> {
        self.query_number(self.numbers[key as usize])
    }

    fn query_number(&self, number: u64) -> Answer<u32> {
        self.filter.query(digest(number), self.assigned())
    }

    /// Values in use.
    fn assigned(&self) -> u32 {
        self.values.0.len() as u32
    }

    /// Puts another key, which was never there, in the place of this one, if its value is decided.
    fn replace(&mut self, key: u64, number: u64) {
        if let Answer::Found(value) = self.query(key) {
            self.filter.delete(digest(self.numbers[key as usize]), value);
            let new = self.values.draw(&mut self.random);
            self.filter.insert(digest(number), new);
            (self.numbers[key as usize], self.truth[key as usize]) = (number, new);
        }
    }

    /// Asks these keys.
    fn ask(&self, keys: std::ops::Range<u64>) -> Outcome {
        let mut outcome = Outcome::default();
        for key in keys {
            outcome.asked += 1;
            match self.query(key) {
                Answer::Found(value) => {
                    outcome.wrong += u64::from(value != self.truth[key as usize]);
                }
                Answer::Absent => outcome.wrong += 1,
                answer => {
                    outcome.undecided += 1;
                    let is_right = answer.allows(&self.truth[key as usize]);
                    outcome.wrong += u64::from(!is_right);
                }
            }
        }
        outcome
    }

    /// The number of absent keys, of those asked, that get another answer than `Absent`.
    fn false_positives(&self, asked: u64) -> u64 {
        let absent = 1 << 40..(1 << 40) + asked;
        absent.filter(|&number| self.query_number(number) != Answer::Absent).count() as u64
    }

    /// The closed forms for this filter with this number of pairs.
    fn model(&self) -> KeyValueFilter {
        let parameters = self.filter.parameters();
        KeyValueFilter {
            hashes: parameters.hashes as usize,
            load: parameters.load(self.filter.pairs()),
            values: f64::from(parameters.values),
            assigned: f64::from(self.assigned()),
            code_bits: parameters.code_bits().into(),
        }
    }

    /// Updates a key as the filter itself has its value; returns whether that was decided.
    fn update(&mut self, key: u64) -> bool {
        let Answer::Found(old) = self.query(key) else { return false };
        let new = self.values.draw(&mut self.random);
        self.filter.update(digest(self.numbers[key as usize]), old, new);
        self.truth[key as usize] = new;
        true
    }
}

fn model_of(decoding: Decoding) -> kv::Decoding {
    match decoding {
        Decoding::Option1 => kv::Decoding::Option1,
        Decoding::Option2 => kv::Decoding::Option2,
        Decoding::Literal => kv::Decoding::Literal,
        Decoding::Joint => kv::Decoding::Joint,
    }
}

/// Asserts that `hits` of `asked` is what theory says. Events of one filter are not quite independent:
/// its cells vary, by 1 % of the rate in the smallest of these filters.
fn assert_rate(name: &str, hits: u64, asked: u64, rate: f64) {
    let expected = asked as f64 * rate;
    let bound = 5.0 * (expected + 1.0).sqrt() + 0.03 * expected;
    println!("{name}: {hits} of {asked}, expected {expected:.1} ± {bound:.1}");
    assert!((hits as f64 - expected).abs() < bound, "{name}: {hits}, expected {expected:.1}");
}

/// The papers' experiment: p = 1e-3, so k = 10, in half of the cells.
#[test]
fn the_papers_options_err_as_predicted() {
    let keys = scaled(1_000_000);
    for decoding in [Decoding::Option1, Decoding::Option2, Decoding::Literal] {
        let made = Experiment::new(decoding, keys, 10, 2.0 * std::f64::consts::LN_2, 0.0);
        let outcome = made.ask(0..keys);
        let model = made.model();
        let rate = model.undecided(model_of(decoding));
        assert_rate(&format!("{decoding:?}"), outcome.undecided, keys, rate);
        assert_eq!(outcome.wrong, 0);
        let absent = keys / 10;
        let rate = model.false_positive(model_of(decoding));
        assert!((rate - 0.057).abs() < 0.002);
        assert_rate("false positives", made.false_positives(absent), absent, rate);
    }
}

/// Greedy codes without salt, as the papers have them: the same rates, if values are equally frequent.
#[test]
fn greedy_codes_without_salt_are_as_good_for_even_values() {
    let keys = scaled(300_000);
    let (codes, salted) = (CodeChoice::Greedy, false);
    for decoding in [Decoding::Option1, Decoding::Joint] {
        let spec = KvSpec { decoding, codes, salted, ..KvSpec::new(keys, VALUES) };
        let parameters = KbfParameters::with_cells(&spec, 8 * keys, 10).unwrap();
        let made = Experiment::with(parameters, keys, Zipf::new(VALUES, 0.0));
        let outcome = made.ask(0..keys);
        let rate = made.model().undecided(model_of(decoding));
        assert_rate(&format!("greedy {decoding:?}"), outcome.undecided, keys, rate);
        assert_eq!(outcome.wrong, 0);
    }
}

/// A tenth of the keys at a time, in the order of their insertion.
#[test]
fn deletions_leave_no_trace() {
    let keys = scaled(300_000);
    let batch = keys / 10;
    let mut made = Experiment::new(Decoding::Option2, keys, 10, 2.0 * std::f64::consts::LN_2, 0.0);
    let mut undecided_before = made.ask(0..keys).undecided;
    let mut deleted: Vec<u64> = vec![];
    for first in (0..keys).step_by(batch as usize).take(9) {
        for key in first..first + batch {
            if let Answer::Found(value) = made.query(key) {
                made.filter.delete(digest(key), value);
                deleted.push(key);
            }
        }
        let rest = made.ask(first + batch..keys);
        assert_eq!(rest.wrong, 0, "after {first}");
        assert!(rest.undecided <= undecided_before, "cells recover when others leave");
        undecided_before = rest.undecided;
        // Keys that were deleted are as absent as any.
        let rate = made.model().false_positive(kv::Decoding::Option2);
        let hits = deleted.iter().filter(|&&key| made.query(key) != Answer::Absent).count();
        assert_rate(&format!("deleted up to {first}"), hits as u64, deleted.len() as u64, rate);
    }
}

/// An update that is undecided is not done, and says so.
#[test]
fn updates_leave_the_rates_as_they_are() {
    let keys = scaled(300_000);
    let mut made = Experiment::new(Decoding::Option1, keys, 10, 2.0 * std::f64::consts::LN_2, 0.0);
    let rate = made.model().undecided(kv::Decoding::Option1);
    let missed = (0..keys).filter(|&key| !made.update(key)).count() as u64;
    let after = made.ask(0..keys);
    assert_rate("updates that were undecided", missed, keys, rate);
    assert_rate("undecided after all updates", after.undecided, keys, rate);
    assert_eq!(after.wrong, 0);
}

/// JOIN of two at ρ each, and COMPRESS of one at ρ, have the errors of 2ρ.
#[test]
fn joined_and_compressed_filters_err_as_twice_the_load() {
    let keys = scaled(400_000);
    for rho in [0.8, 1.0] {
        let load = rho * std::f64::consts::LN_2;
        let mut made = Experiment::new(Decoding::Option1, keys, 10, load, 0.0);
        let mut other = KbfMap::new(*made.filter.parameters()).unwrap();
        for key in keys..2 * keys {
            let value = made.values.draw(&mut made.random);
            other.insert(digest(key), value);
            made.numbers.push(key);
            made.truth.push(value);
        }
        let compressed = made.filter.compressed().unwrap();
        made.filter.join(&other).unwrap();
        let rate = made.model().undecided(kv::Decoding::Option1);
        let outcome = made.ask(0..2 * keys);
        assert_rate(&format!("joined at {rho}"), outcome.undecided, 2 * keys, rate);
        assert_eq!(outcome.wrong, 0);

        made.filter = compressed;
        let outcome = made.ask(0..keys);
        assert!((made.model().load - 2.0 * load).abs() < 0.01);
        assert_rate(&format!("compressed at {rho}"), outcome.undecided, keys, rate);
        assert_eq!(outcome.wrong, 0);
    }
}

/// k = 6 and m/n = 6, whatever the values, fresh, and after every key was updated twice and half of the keys
/// were replaced six times.
#[test]
fn joint_decoding_with_salt_is_not_worn_out() {
    let keys = scaled(1_000_000);
    for exponent in [0.0, 1.0, 1.5] {
        let mut made = Experiment::new(Decoding::Joint, keys, 6, 1.0, exponent);
        let rate = made.model().undecided(kv::Decoding::Joint);
        assert!(rate < 4e-5);
        let fresh = made.ask(0..keys);
        assert_rate(&format!("Zipf {exponent}, fresh"), fresh.undecided, keys, rate);
        assert_eq!((fresh.wrong, made.false_positives(keys / 2)), (0, 0));

        for _ in 0..2 {
            let undecided = (0..keys).filter(|&key| !made.update(key)).count() as u64;
            assert_rate("undecided updates", undecided, keys, rate);
        }
        for round in 1..=6 {
            (0..keys).step_by(2).for_each(|key| made.replace(key, round * keys + key));
        }
        let worn = made.ask(0..keys);
        assert_rate(&format!("Zipf {exponent}, worn"), worn.undecided, keys, rate);
        assert_eq!((worn.wrong, made.false_positives(keys / 2)), (0, 0));
    }
}

/// Near the capacity, where errors are frequent enough to be counted.
#[test]
fn joint_decoding_errs_as_predicted() {
    let keys = scaled(1_000_000);
    for (hashes, load) in [(6, 1.41), (4, 1.4), (8, 2.0)] {
        let made = Experiment::new(Decoding::Joint, keys, hashes, load, 1.0);
        let outcome = made.ask(0..keys);
        let rate = made.model().undecided(kv::Decoding::Joint);
        assert_rate(&format!("k = {hashes}"), outcome.undecided, keys, rate);
        assert_eq!(outcome.wrong, 0);
        // Expected candidates are more than the probability that there are any.
        let (hits, bound) = (made.false_positives(keys), made.model());
        let expected = keys as f64 * bound.false_positive(kv::Decoding::Joint);
        println!("false positives: {hits}, at most {expected:.1}");
        assert!((hits as f64) < expected + 5.0 * (expected + 1.0).sqrt());
        assert!(hits as f64 > 0.3 * expected - 5.0 * (expected + 1.0).sqrt());
    }
}

/// Room for 3,000 values, of which few are in use: the fewer, the fewer can be confused.
#[test]
fn few_values_in_use_err_as_predicted() {
    let keys = scaled(1_000_000);
    let spec = KvSpec::new(keys, VALUES);
    let parameters = KbfParameters::with_cells(&spec, keys * 3, 6).unwrap();
    let rates = [1, 2, 10, 100].map(|assigned| {
        let made = Experiment::with(parameters, keys, Zipf::new(assigned, 1.0));
        let (outcome, rate) = (made.ask(0..keys), made.model().undecided(kv::Decoding::Joint));
        assert_rate(&format!("{assigned} values"), outcome.undecided, keys, rate);
        assert_eq!(outcome.wrong, 0);
        let most = keys as f64 * made.model().false_positive(kv::Decoding::Joint);
        assert!((made.false_positives(keys) as f64) < most + 5.0 * (most + 1.0).sqrt());
        rate
    });
    assert!(rates[0] == 0.0 && rates.is_sorted(), "{rates:?}");
}

/// Whatever CREATE is asked for, both rates are kept at capacity.
#[test]
fn a_filter_made_for_a_rate_keeps_it() {
    let keys = scaled(200_000);
    for (values, rate) in [(6, 1e-2), (100, 1e-3), (3000, 1e-2), (16_383, 1e-3), (1 << 20, 1e-2)] {
        for decoding in [Decoding::Option2, Decoding::Joint] {
            let spec = KvSpec { decoding, rate, ..KvSpec::new(keys, values) };
            let parameters = KbfParameters::new(&spec).unwrap();
            let made = Experiment::with(parameters, parameters.capacity, Zipf::new(values, 1.0));
            let (keys, outcome) = (parameters.capacity, made.ask(0..parameters.capacity));
            let most = |asked: u64| 1.05 * asked as f64 * rate + 5.0 * (asked as f64 * rate).sqrt();
            let false_positives = made.false_positives(keys);
            println!("{values} values, {decoding:?}: {outcome:?}, {false_positives} found");
            assert_eq!(outcome.wrong, 0);
            assert!((outcome.undecided as f64) < most(keys), "{outcome:?}");
            assert!((false_positives as f64) < most(keys), "{false_positives} of {keys}");
            // The model and the sizing were derived independently.
            let model = made.model();
            assert!(model.undecided(model_of(decoding)) < 1.05 * rate);
            assert!(model.false_positive(model_of(decoding)) < 1.05 * rate);
        }
    }
}

/// Codes of 2r bits in cells of 64: the more words there are beside sums of two codes, the more a sum of
/// three tells. From r = 24 on there is nothing left to gain.
#[test]
fn larger_fields_leave_less_undecided() {
    let (keys, values) = (scaled(200_000), (1 << 20) - 1);
    let undecided = [20, 24, 28, 30].map(|degree| {
        let spec = KvSpec { rate: 1e-2, ..KvSpec::new(keys, values) };
        let wide = KbfParameters::with_cells(&spec, 4 * keys, 5).unwrap();
        let family = CodeFamily::Algebraic { degree };
        let made = Experiment::with(KbfParameters { family, ..wide }, keys, Zipf::new(values, 0.0));
        let outcome = made.ask(0..keys);
        println!("r = {degree}: {outcome:?}");
        assert_eq!(outcome.wrong, 0);
        outcome.undecided
    });
    let [small, rest @ ..] = undecided;
    for large in rest {
        assert!(3 * large < 2 * small && large.abs_diff(rest[0]) < large / 5 + 10, "{undecided:?}");
    }
}

/// Fingerprints in slots err as the model of fcf says.
#[test]
fn an_fcf_errs_as_predicted() {
    let keys = scaled(300_000);
    let spec = KvSpec { rate: 1e-2, ..KvSpec::new(keys, VALUES) };
    let parameters = FcfParameters::new(&spec).unwrap();
    let mut map = FcfMap::new(parameters).unwrap();
    let value = |key: u64| (key % VALUES as u64) as u32;
    (0..keys).for_each(|key| assert!(map.insert(digest(key), value(key))));
    let errors =
        fcf::errors_among(parameters.fingerprints() as f64, map.load(), &StateMix::even(16));
    let query = |key: u64| map.query(digest(key), VALUES as u32);
    let absent = keys..2 * keys;
    let found = absent.filter(|&key| query(key) != Answer::Absent).count() as u64;
    assert_rate("fcf, absent", found, keys, errors.of_absent());
    assert!((0..keys).all(|key| query(key).allows(&value(key))));
    // Two keys that look alike nearly always have different values.
    let undecided = (0..keys).filter(|&key| query(key) != Answer::Found(value(key))).count() as u64;
    assert_rate("fcf, undecided", undecided, keys, errors.of_absent());
}
