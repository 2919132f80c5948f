//! Any sequence of operations against a hash map, with exact accounting: what the store says it did is
//! done, the true value is always among the candidates, and the cells are those of the pairs that are
//! left, whatever happened before.

use std::collections::{BTreeMap, HashMap};

use acsm_filters::HashKey;
use acsm_filters::kv::{Answer, Decoding, KbfMap, KvSpec, KvStore, Maplet, ValueTable, Write};
use proptest::prelude::*;

use super::key;

#[derive(Debug, Clone)]
enum Operation {
    Insert(u64, u8),
    Update(u64, u8),
    Delete(u64),
    Compact,
    Compress,
    Join(u8),
    SaveAndLoad,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let (key, value) = (0..120_u64, 0..40_u8);
    let operation = prop_oneof![
        30 => (key.clone(), value.clone()).prop_map(|(key, value)| Operation::Insert(key, value)),
        10 => (key.clone(), value).prop_map(|(key, value)| Operation::Update(key, value)),
        10 => key.prop_map(Operation::Delete),
        1 => Just(Operation::Compact),
        1 => Just(Operation::Compress),
        1 => (1..20_u8).prop_map(Operation::Join),
        1 => Just(Operation::SaveAndLoad),
    ];
    proptest::collection::vec(operation, 1..200)
}

/// The default most often.
fn decodings() -> impl Strategy<Value = Decoding> {
    prop_oneof![
        3 => Just(Decoding::Joint),
        1 => Just(Decoding::Option1),
        1 => Just(Decoding::Option2),
        1 => Just(Decoding::Literal),
    ]
}

fn text(value: u8) -> Vec<u8> {
    format!("value {value}").into_bytes()
}

/// A small store that grows, so that several filters and crowded cells occur.
fn spec() -> KvSpec {
    KvSpec { rate: 0.05, hash_key: HashKey::from_seed(2), ..KvSpec::new(40, 40) }
}

/// A store, and what must be in it.
struct Pair<M> {
    store: KvStore<M>,
    truth: BTreeMap<u64, u8>,
    next_joined: u64,
}

impl<M: Maplet> Pair<M> {
    /// Only legitimate operations: keys are inserted if they are not there, and changed if they are.
    fn write(&mut self, operation: &Operation) {
        match *operation {
            Operation::Insert(number, value) if !self.truth.contains_key(&number) => {
                self.store.insert(&key(number), &text(value)).unwrap();
                self.truth.insert(number, value);
            }
            Operation::Update(number, value) if self.truth.contains_key(&number) => {
                let done = self.store.update(&key(number), &text(value)).unwrap();
                assert_ne!(done, Write::Absent);
                if done == Write::Done {
                    self.truth.insert(number, value);
                }
            }
            Operation::Delete(number) if self.truth.contains_key(&number) => {
                let done = self.store.delete(&key(number)).unwrap();
                assert_ne!(done, Write::Absent);
                if done == Write::Done {
                    self.truth.remove(&number);
                }
            }
            _ => {}
        }
    }

    fn check(&self) {
        for (number, value) in &self.truth {
            let answer = self.store.query(&key(*number));
            assert!(answer.allows(&text(*value).as_slice()), "{number}: {answer:?}");
            if let Answer::OneOf(several) = answer {
                assert!((2..=64).contains(&several.len()));
            }
        }
        let stats = self.store.stats();
        assert_eq!(stats.pairs, self.truth.len() as u64);
    }
}

impl Pair<KbfMap> {
    fn run(&mut self, operation: &Operation) {
        match operation {
            Operation::Compact => self.store.compact().unwrap(),
            Operation::Compress if self.store.parameters().cells_per_part >= 32 => {
                self.store.compress().unwrap();
            }
            Operation::Join(count) => self.join(*count),
            Operation::SaveAndLoad => self.save_and_load(),
            _ => self.write(operation),
        }
    }

    /// Joins a store of keys that are nowhere else, with the same values.
    fn join(&mut self, count: u8) {
        let mut other = self.store.like().unwrap();
        for _ in 0..count {
            self.next_joined += 1;
            let (number, value) = (self.next_joined, (self.next_joined % 40) as u8);
            other.insert(&key(number), &text(value)).unwrap();
            self.truth.insert(number, value);
        }
        self.store.join(other).unwrap();
    }

    fn save_and_load(&mut self) {
        let load = |map: &KbfMap| KbfMap::from_parts(*map.parameters(), map.pairs(), map.bytes());
        let filters = self.store.filters().iter().map(load).collect::<Result<Vec<_>, _>>();
        let values = self.store.values();
        let hash_key = self.store.parameters().hash_key;
        let values = ValueTable::from_values(values.limit(), hash_key, values.values()).unwrap();
        let loaded = KvStore::from_parts(filters.unwrap(), values).unwrap();
        for number in 0..300 {
            assert_eq!(loaded.query(&key(number)), self.store.query(&key(number)));
        }
        self.store = loaded;
    }

    /// All filters joined are one filter with the pairs that are there.
    fn check_cells(&self) {
        let parameters = *self.store.parameters();
        let mut joined = KbfMap::new(parameters).unwrap();
        self.store.filters().iter().for_each(|filter| joined.join(filter).unwrap());
        let mut fresh = KbfMap::new(parameters).unwrap();
        let indexes: HashMap<&[u8], u32> = self.store.values().values().zip(0..).collect();
        for (number, value) in &self.truth {
            let digest = parameters.hash_key.digest_bytes(&key(*number));
            fresh.insert(digest, indexes[text(*value).as_slice()]);
        }
        if joined.saturations() == 0 && self.store.stats().saturations == 0 {
            assert!(joined.bytes() == fresh.bytes(), "the cells are those of the pairs");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_kbf_keeps_what_it_says(operations in operations(), decoding in decodings()) {
        let store = KvStore::new(&KvSpec { decoding, ..spec() }).unwrap();
        let mut pair = Pair { store, truth: BTreeMap::new(), next_joined: 1000 };
        for operation in &operations {
            pair.run(operation);
            pair.check();
        }
        pair.check_cells();
    }

    #[test]
    fn an_fcf_keeps_what_it_says(operations in operations()) {
        let store = KvStore::new_fcf(&spec()).unwrap();
        let mut pair = Pair { store, truth: BTreeMap::new(), next_joined: 1000 };
        for operation in &operations {
            pair.write(operation);
            pair.check();
        }
    }
}
