//! The store as a whole: growth, values, batches, bad input.

use std::collections::HashSet;

use acsm_filters::HashKey;
use acsm_filters::kv::{
    Answer, CodeChoice, Decoding, FcfMap, KEY_BYTES_LIMIT, KbfMap, KbfParameters, KvError, KvSpec,
    KvStore, Maplet, Mismatch, VALUE_BYTES_LIMIT, ValueTable, Write,
};
use acsm_filters::rng::Random;

use super::key;

fn value(number: u64) -> Vec<u8> {
    format!("value {}", number % 100).into_bytes()
}

fn fill<M: Maplet>(store: &mut KvStore<M>, keys: std::ops::Range<u64>) {
    keys.for_each(|number| store.insert(&key(number), &value(number)).unwrap());
}

fn assert_kept<M: Maplet>(store: &KvStore<M>, keys: impl IntoIterator<Item = u64>) {
    for number in keys {
        assert!(store.query(&key(number)).allows(&value(number).as_slice()), "{number}");
    }
}

#[test]
fn growth_and_compaction_keep_every_key() {
    let mut store = KvStore::new(&KvSpec::new(1000, 100)).unwrap();
    let capacity = store.stats().capacity;
    assert!((1000..1200).contains(&capacity));
    fill(&mut store, 0..4000);
    let stats = store.stats();
    assert_eq!((stats.pairs, stats.filters), (4000, 4000_usize.div_ceil(capacity as usize)));
    assert_kept(&store, 0..4000);

    // Most go; what remains fits one filter.
    let stays = |number: &u64| number.is_multiple_of(7);
    let mut undecided = vec![];
    for number in (0..4000).filter(|number| !stays(number)) {
        if store.delete(&key(number)).unwrap() == Write::Undecided {
            undecided.push(number);
        }
    }
    assert!(undecided.len() < 60, "{}", undecided.len());
    let before = store.stats();
    assert_eq!(before.undecided_deletes, undecided.len() as u64);
    store.compact().unwrap();
    let after = store.stats();
    assert_eq!((after.filters, after.pairs), (1, before.pairs));
    assert_eq!(after.pairs, 572 + undecided.len() as u64);
    assert_kept(&store, (0..4000).filter(stays).chain(undecided));

    // Room that was freed is used again.
    let room = after.capacity - after.pairs;
    fill(&mut store, 10_000..10_000 + room);
    assert_eq!(store.stats().filters, 1);
}

#[test]
fn an_fcf_grows_and_keeps_every_key() {
    let mut store = KvStore::new_fcf(&KvSpec::new(1000, 100)).unwrap();
    fill(&mut store, 0..5000);
    let stats = store.stats();
    assert!((4..=5).contains(&stats.filters) && stats.pairs == 5000, "{stats:?}");
    assert_kept(&store, 0..5000);
    for number in 0..5000 {
        let done = store.update(&key(number), &value(number + 1)).unwrap();
        assert!(done == Write::Done || store.query(&key(number)) != Answer::Absent);
    }
    assert!(store.stats().undecided_updates < 60);
    let parts =
        store.filters().iter().map(|map| FcfMap::from_parts(*map.parameters(), map.bytes()));
    let filters = parts.collect::<Result<Vec<_>, _>>().unwrap();
    let hash_key = store.parameters().hash_key;
    let values = ValueTable::from_values(100, hash_key, store.values().values()).unwrap();
    let loaded = KvStore::from_parts(filters, values).unwrap();
    for number in 0..10_000 {
        assert_eq!(loaded.query(&key(number)), store.query(&key(number)));
    }
    assert_eq!(loaded.stats().pairs, store.stats().pairs);
}

/// Keys that look alike, here the same one, have four slots in a table.
#[test]
fn a_full_table_is_followed_by_the_next() {
    let mut store = KvStore::new_fcf(&KvSpec::new(1000, 100)).unwrap();
    (0..9).for_each(|_| store.insert(b"key", b"value").unwrap());
    let stats = store.stats();
    assert_eq!((stats.filters, stats.full, stats.pairs), (3, 5, 9));
    assert_eq!(store.query(b"key"), Answer::Found(&b"value"[..]));
}

/// In all, with 3,000 values of 8 to 11 bytes.
#[test]
fn a_store_takes_at_most_200_bits_per_pair() {
    let spec = KvSpec::new(300_000, 3000);
    let mut store = KvStore::new(&spec).unwrap();
    for number in 0..300_000 {
        store.insert(&key(number), format!("category {}", number % 3000).as_bytes()).unwrap();
    }
    let stats = store.stats();
    assert_eq!((stats.filters, stats.values), (1, 3000));
    assert!(stats.bits_per_pair() < 150.0, "{:?}: {}", stats.bytes, stats.bits_per_pair());
    let mut fcf = KvStore::new_fcf(&spec).unwrap();
    fill(&mut fcf, 0..300_000);
    let bits = fcf.stats().bytes.main as f64 * 8.0 / 300_000.0;
    assert!(fcf.stats().filters == 1 && bits < 26.5, "{bits}");
}

/// The secondary filter takes new values for others now and then: the table knows better.
#[test]
fn values_have_indexes_of_their_own() {
    let count = 16_000;
    let mut table = ValueTable::new(16_383, HashKey::from_seed(1)).unwrap();
    let text = |number: u32| format!("value {number}").into_bytes();
    let mut indexes = HashSet::new();
    for number in 0..count {
        let index = table.index_or_insert(&text(number)).unwrap();
        assert!(indexes.insert(index));
        assert_eq!(table.value(index), Some(text(number).as_slice()));
    }
    for number in 0..count {
        assert_eq!(table.index_or_insert(&text(number)).unwrap(), number);
        assert_eq!(table.index(&text(number)), Some(number));
    }
    assert_eq!(table.len(), count as usize);
    assert_eq!(table.index(b"another"), None);
    let expected = 1e-3 * f64::from(count);
    assert!(f64::from(table.stats().undecided as u32) < 2.0 * expected, "{:?}", table.stats());

    let mut crowded = ValueTable::new(100, HashKey::from_seed(1)).unwrap();
    for number in 0..100 {
        assert_eq!(crowded.index_or_insert(&text(number)), Ok(number));
    }
    assert_eq!(crowded.index_or_insert(b"one more"), Err(KvError::ValuesInUse { values: 100 }));
    let copy = ValueTable::from_values(100, HashKey::from_seed(1), crowded.values()).unwrap();
    assert!(copy.begins_with(&crowded) && crowded.begins_with(&copy));
    let twice = [b"same".as_slice(), b"same"];
    assert!(ValueTable::from_values(100, HashKey::from_seed(1), twice).is_err());
}

#[test]
fn batches_answer_and_insert_like_single_operations() {
    let spec = KvSpec::new(1000, 100);
    let (mut single, mut batch) = (KvStore::new(&spec).unwrap(), KvStore::new(&spec).unwrap());
    fill(&mut single, 0..1500);
    let pairs: Vec<_> = (0..1500).map(|number| (key(number), value(number))).collect();
    batch.insert_many(&pairs).unwrap();
    assert_eq!(single.filters().len(), batch.filters().len());
    for (a, b) in single.filters().iter().zip(batch.filters()) {
        assert_eq!(a.bytes(), b.bytes());
    }
    let mut keys: Vec<Vec<u8>> = (0..3001).map(|number| key(number).to_vec()).collect();
    keys[77].clear();
    let mut next = 0;
    batch.query_many(&keys, |number, answer| {
        assert_eq!((number, answer), (next, single.query(&keys[next])));
        next += 1;
    });
    assert_eq!(next, keys.len());
    batch.query_many(&[] as &[&[u8]], |_, _| unreachable!());
}

/// A store of these keys, with all values.
fn joinable(spec: &KvSpec, keys: std::ops::Range<u64>) -> KvStore<KbfMap> {
    let mut all_values = KvStore::new(spec).unwrap();
    fill(&mut all_values, 0..100);
    let mut store = all_values.like().unwrap();
    assert_eq!((store.stats().pairs, store.stats().values), (0, 100));
    fill(&mut store, keys);
    store
}

#[test]
fn stores_are_joined_and_compressed() {
    let spec = KvSpec::new(1000, 100);
    let mut store = joinable(&spec, 0..500);
    store.join(joinable(&spec, 500..1000)).unwrap();
    let mut direct = joinable(&spec, 0..1000);
    assert_eq!(store.filters()[0].bytes(), direct.filters()[0].bytes());
    assert_eq!(store.stats().pairs, 1000);
    assert_kept(&store, 0..1000);
    store.compress().unwrap();
    direct.compress().unwrap();
    assert_eq!(store.filters()[0].bytes(), direct.filters()[0].bytes());
    assert!(store.stats().rho() > 1.5);
    assert_kept(&store, 0..1000);

    // A shorter table of values is a prefix of the longer.
    let mut few = KvStore::new(&spec).unwrap();
    fill(&mut few, 2000..2003);
    let mut more = KvStore::new(&spec).unwrap();
    fill(&mut more, 2000..2006);
    (2000..2003).for_each(|number| assert_eq!(more.delete(&key(number)).unwrap(), Write::Done));
    few.join(more).unwrap();
    assert_kept(&few, 2000..2006);

    let mut other = KvStore::new(&spec).unwrap();
    fill(&mut other, 3001..3003);
    let refused = few.join(other);
    assert_eq!(refused, Err(KvError::Different(Mismatch::Values)));
    let unsalted = KvStore::new(&KvSpec { salted: false, ..spec }).unwrap();
    assert_eq!(few.join(unsalted), Err(KvError::Different(Mismatch::Salt)));
    assert_kept(&few, 2000..2006);
}

#[test]
fn bad_input_is_refused_and_changes_nothing() {
    let mut store = KvStore::new(&KvSpec::new(100, 150)).unwrap();
    fill(&mut store, 0..50);
    let before = store.filters()[0].bytes().to_vec();
    let long = vec![7; KEY_BYTES_LIMIT];
    let too_long = KvError::KeyTooLong { bytes: KEY_BYTES_LIMIT, limit: KEY_BYTES_LIMIT };
    for (bad, why) in [(&b""[..], KvError::EmptyKey), (&long, too_long)] {
        assert_eq!(store.insert(bad, b"v"), Err(why));
        assert_eq!(store.update(bad, b"v"), Err(why));
        assert_eq!(store.set(bad, b"v"), Err(why));
        assert_eq!(store.delete(bad), Err(why));
        assert_eq!(store.query(bad), Answer::Absent);
        assert_eq!(store.insert_many(&[(bad, b"v")]), Err(why));
    }
    let value = vec![1; VALUE_BYTES_LIMIT];
    let refused = KvError::ValueTooLong { bytes: VALUE_BYTES_LIMIT, limit: VALUE_BYTES_LIMIT };
    assert_eq!(store.insert(b"key", &value), Err(refused));
    assert_eq!(store.update(b"no such key", b"v"), Ok(Write::Absent));
    assert_eq!(store.delete(b"no such key"), Ok(Write::Absent));
    assert_eq!(store.filters()[0].bytes(), before);
    assert_eq!(store.stats().writes_to_absent, 2);

    // The longest key and value, and the empty value.
    let (key, value) = (&long[1..], &value[1..]);
    store.insert(key, value).unwrap();
    assert_eq!(store.query(key), Answer::Found(value));
    store.insert(b"k", b"").unwrap();
    assert_eq!(store.query(b"k"), Answer::Found(&b""[..]));

    // As many values as it was made for, and no more.
    let left = store.stats().values_max - store.stats().values;
    for number in 0..left {
        store.insert(&number.to_be_bytes(), format!("new {number}").as_bytes()).unwrap();
    }
    let refused = KvError::ValuesInUse { values: 150 };
    assert_eq!(store.insert(b"one more", b"one more"), Err(refused));
    assert_eq!(store.query(b"one more"), Answer::Absent);
}

#[test]
fn parts_that_do_not_belong_together_are_refused() {
    let filter = |seed: u64, values: usize| {
        let spec = KvSpec { hash_key: HashKey::from_seed(seed), ..KvSpec::new(100, values) };
        KbfMap::new(KbfParameters::new(&spec).unwrap()).unwrap()
    };
    let values = |limit: usize| ValueTable::new(limit, HashKey::from_seed(1)).unwrap();
    let store = |filters: Vec<KbfMap>, limit| KvStore::from_parts(filters, values(limit));
    assert!(store(vec![filter(1, 200), filter(1, 200)], 200).is_ok());
    assert!(store(vec![], 200).is_err());
    assert!(store(vec![filter(1, 200)], 201).is_err());
    assert!(store(vec![filter(1, 200), filter(2, 200)], 200).is_err());
    assert!(store(vec![filter(1, 200), filter(1, 300)], 200).is_err());
}

/// What can break the guarantee is counted.
#[test]
fn what_can_break_the_guarantee_is_counted() {
    let spec = KvSpec { decoding: Decoding::Joint, ..KvSpec::new(300, 100) };
    let mut store = KvStore::new(&spec).unwrap();
    fill(&mut store, 0..300);
    let expected = store.stats().inserts_of_present;
    store.insert(&key(5), &value(6)).unwrap();
    assert_eq!(store.stats().inserts_of_present, expected + 1);

    // Six times the pairs it is made for, in one filter.
    let parameters = *KvStore::new(&spec).unwrap().parameters();
    let crowded = KbfParameters { capacity: u64::MAX, ..parameters };
    let mut store = KvStore::with_parameters(crowded).unwrap();
    fill(&mut store, 0..2000);
    let mut random = Random::new(1);
    let mut undecided = 0;
    for _ in 0..100 {
        let number = random.below(2000);
        undecided += u64::from(store.update(&key(number), b"new") == Ok(Write::Undecided));
    }
    assert!(undecided > 30);
    assert_eq!(store.stats().undecided_updates, undecided);
    assert_eq!(store.delete(&key(1)), Ok(Write::Undecided));
    assert_eq!(store.stats().undecided_deletes, 1);

    // Counters of three bits are full soon, and say nothing from then on.
    let greedy = KvSpec { codes: CodeChoice::Greedy, ..spec };
    let crowded = KbfParameters { capacity: u64::MAX, ..KbfParameters::new(&greedy).unwrap() };
    let mut store = KvStore::with_parameters(crowded).unwrap();
    fill(&mut store, 0..2000);
    assert!(store.stats().saturations > 100);
    assert_kept(&store, 0..2000);
}
