//! The key-value Bloom filter against the slow model: every answer, of every decoding, at every load.

use acsm_filters::HashKey;
use acsm_filters::kv::{
    CodeChoice, Decoding, FcfMap, FcfParameters, KbfMap, KbfParameters, KvError, KvSpec, Maplet,
    Mismatch,
};
use acsm_filters::rng::Random;

use super::key;
use super::slow::SlowKbf;

const ALL: [Decoding; 4] =
    [Decoding::Option1, Decoding::Option2, Decoding::Literal, Decoding::Joint];

/// A filter of few cells.
fn parameters(decoding: Decoding, codes: CodeChoice, salted: bool, hashes: usize) -> KbfParameters {
    let spec = KvSpec { decoding, codes, salted, ..KvSpec::new(100, 130) };
    KbfParameters::with_cells(&spec, 96 * hashes as u64, hashes).unwrap()
}

fn digest(number: u64) -> u128 {
    HashKey::from_seed(3).digest_bytes(&key(number))
}

/// Pairs come and go, up to a load at which nothing is decided any more.
#[test]
fn every_answer_is_that_of_the_slow_model() {
    let mut answers = [0; 4];
    for (salted, codes) in [(true, CodeChoice::Algebraic), (false, CodeChoice::Greedy)] {
        for (decoding, hashes) in ALL.into_iter().zip([3, 4, 5, 4]) {
            let parameters = parameters(decoding, codes, salted, hashes);
            let mut filter = KbfMap::new(parameters).unwrap();
            let mut slow = SlowKbf::new(parameters);
            let mut random = Random::new(hashes as u64);
            let mut present: Vec<(u64, u32)> = vec![];
            for number in 0..260 {
                let value = random.below(130) as u32;
                filter.insert(digest(number), value);
                slow.insert(digest(number), value);
                present.push((number, value));
                if random.chance(0.4) {
                    let at = random.below(present.len() as u64) as usize;
                    let (number, old) = present[at];
                    let new = random.below(130) as u32;
                    filter.update(digest(number), old, new);
                    slow.delete(digest(number), old);
                    slow.insert(digest(number), new);
                    present[at].1 = new;
                }
                if random.chance(0.2) {
                    let at = random.below(present.len() as u64) as usize;
                    let (number, value) = present.swap_remove(at);
                    filter.delete(digest(number), value);
                    slow.delete(digest(number), value);
                }
                if slow.is_saturated() {
                    break;
                }
                for asked in number.saturating_sub(10)..number + 10 {
                    let answer = filter.query(digest(asked), 130);
                    assert_eq!(answer, slow.query(digest(asked), 130), "{parameters:?} {asked}");
                    use acsm_filters::kv::Answer::{Absent, Found, OneOf, Undecided};
                    answers[match answer {
                        Absent => 0,
                        Found(_) => 1,
                        OneOf(_) => 2,
                        Undecided => 3,
                    }] += 1;
                }
            }
            assert_eq!(filter.pairs(), present.len() as u64);
        }
    }
    assert!(answers.iter().all(|count| *count > 50), "all kinds of answers: {answers:?}");
}

fn filled(parameters: KbfParameters, keys: std::ops::Range<u64>) -> KbfMap {
    let mut filter = KbfMap::new(parameters).unwrap();
    keys.for_each(|number| assert!(filter.insert(digest(number), (number * 7 % 130) as u32)));
    filter
}

/// Also beyond the maximum of the counters.
#[test]
fn a_join_of_disjoint_filters_is_the_filter_of_both() {
    for codes in [CodeChoice::Algebraic, CodeChoice::Greedy] {
        for keys in [100, 2000] {
            let parameters = parameters(Decoding::Joint, codes, true, 4);
            let mut joined = filled(parameters, 0..keys / 3);
            joined.join(&filled(parameters, keys / 3..keys)).unwrap();
            let both = filled(parameters, 0..keys);
            assert_eq!(joined.bytes(), both.bytes());
            assert_eq!(joined.pairs(), keys);
        }
    }
}

#[test]
fn a_compressed_filter_is_the_filter_of_half_the_cells() {
    for codes in [CodeChoice::Algebraic, CodeChoice::Greedy] {
        let parameters = parameters(Decoding::Joint, codes, true, 5);
        let compressed = filled(parameters, 0..90).compressed().unwrap();
        let direct = filled(parameters.halved().unwrap(), 0..90);
        assert_eq!(compressed.parameters(), direct.parameters());
        assert_eq!(compressed.bytes(), direct.bytes());
        for number in 0..90 {
            assert!(compressed.query(digest(number), 130).allows(&((number * 7 % 130) as u32)));
        }
        let tiny = (0..5).try_fold(compressed, |filter, _| filter.compressed());
        assert!(matches!(tiny, Err(KvError::NotHalvable { cells_per_part: 3 })));
    }
}

/// Of 64-bit cells and of borrowed bytes at an odd address as well.
#[test]
fn bytes_make_the_same_filter() {
    for values in [130, 20_000] {
        let parameters = KbfParameters::new(&KvSpec::new(200, values)).unwrap();
        let filter = filled(parameters, 0..200);
        let loaded = KbfMap::from_parts(parameters, 200, filter.bytes()).unwrap();
        let mut bytes = vec![0; filter.bytes().len() + 1];
        let odd = 1 - bytes.as_ptr().addr() % 2;
        let bytes = &mut bytes[odd..][..filter.bytes().len()];
        let mut borrowed = KbfMap::over(parameters, 0, bytes).unwrap();
        (0..200).for_each(|n| assert!(borrowed.insert(digest(n), (n * 7 % 130) as u32)));
        assert_eq!(borrowed.bytes(), filter.bytes());
        for number in 0..1000 {
            let answer = filter.query(digest(number), 130);
            assert_eq!(loaded.query(digest(number), 130), answer);
            assert_eq!(borrowed.query(digest(number), 130), answer);
        }
        for length in [0, 64, filter.bytes().len() - 1, filter.bytes().len() + 64] {
            assert!(KbfMap::from_parts(parameters, 0, &vec![0; length]).is_err());
            assert!(KbfMap::over(parameters, 0, &mut vec![0; length]).is_err());
        }
    }
}

/// Bytes that no operations left behind give some answer.
#[test]
fn any_bytes_are_a_filter() {
    let mut random = Random::new(8);
    for values in [130, 20_000] {
        let parameters = KbfParameters::new(&KvSpec::new(50, values)).unwrap();
        let length = KbfMap::new(parameters).unwrap().bytes().len();
        let bytes: Vec<u8> = (0..length).map(|_| random.next_u64() as u8 & 0x33).collect();
        let mut filter = KbfMap::from_parts(parameters, u64::MAX, &bytes).unwrap();
        for number in 0..300 {
            let value = filter.query(digest(number), 130).found().unwrap_or(1);
            filter.update(digest(number), value, 2);
            filter.delete(digest(number), value);
        }
    }
}

#[test]
fn parameters_that_make_no_sense_are_refused() {
    let good = KbfParameters::new(&KvSpec::new(200, 130)).unwrap();
    let algebraic = |degree| acsm_filters::codes::CodeFamily::Algebraic { degree };
    for bad in [
        KbfParameters { hashes: 0, ..good },
        KbfParameters { hashes: 33, ..good },
        KbfParameters { cells_per_part: 0, ..good },
        KbfParameters { cell_bits: 16, ..good },
        KbfParameters { values: 0, ..good },
        KbfParameters { values: 1 << 14, ..good },
        KbfParameters { family: algebraic(16), ..good },
        KbfParameters { family: algebraic(1), ..good },
        KbfParameters { family: algebraic(200), ..good },
    ] {
        assert!(matches!(KbfMap::new(bad), Err(KvError::Inconsistent)), "{bad:?}");
        assert!(KbfMap::from_parts(bad, 0, &[]).is_err(), "{bad:?}");
    }
}

#[test]
fn values_that_do_not_exist_change_nothing() {
    let spec = KvSpec::new(200, 130);
    let mut filter = filled(KbfParameters::new(&spec).unwrap(), 0..50);
    let mut fcf = FcfMap::new(FcfParameters::new(&spec).unwrap()).unwrap();
    assert!(fcf.insert(digest(0), 0));
    let before = [filter.bytes().to_vec(), fcf.bytes().to_vec()];
    for value in [130, 131, u32::MAX] {
        assert!(!filter.insert(digest(60), value) && !fcf.insert(digest(60), value));
        filter.update(digest(0), 0, value);
        filter.update(digest(0), value, 0);
        filter.delete(digest(0), value);
        fcf.update(digest(0), 0, value);
        fcf.update(digest(0), value, 0);
        fcf.delete(digest(0), value);
    }
    assert_eq!([filter.bytes().to_vec(), fcf.bytes().to_vec()], before);
    assert_eq!((filter.pairs(), fcf.pairs()), (50, 1));
}

#[test]
fn different_filters_are_not_joined() {
    let own = parameters(Decoding::Joint, CodeChoice::Algebraic, true, 4);
    let mut filter = filled(own, 0..50);
    let before = filter.bytes().to_vec();
    for (other, what) in [
        (KbfParameters { hashes: 5, ..own }, Mismatch::Hashes),
        (KbfParameters { cells_per_part: 32, ..own }, Mismatch::Cells),
        (KbfParameters { cell_bits: 64, ..own }, Mismatch::CellBits),
        (KbfParameters { values: 131, ..own }, Mismatch::Codes),
        (KbfParameters { salted: false, ..own }, Mismatch::Salt),
        (KbfParameters { hash_key: HashKey::from_seed(9), ..own }, Mismatch::HashKey),
    ] {
        let other = KbfMap::new(other).unwrap();
        assert_eq!(filter.join(&other), Err(KvError::Different(what)));
    }
    assert_eq!((filter.bytes(), filter.pairs()), (before.as_slice(), 50));
}
