//! Any sequence of operations on a key-value store, and any bytes as the cells of its filter: what the
//! store says it did is done, and the value of a key that is there is always among the candidates.
#![no_main]

use std::collections::HashMap;

use acsm_filters::kv::{KbfMap, KvSpec, KvStore, Maplet, Write};
use libfuzzer_sys::fuzz_target;

/// Few pairs for many keys, so that cells are crowded and the store grows.
fn spec() -> KvSpec {
    KvSpec { rate: 0.1, ..KvSpec::new(40, 256) }
}

/// Runs operations of three bytes each: what, on which key, with which value.
fn run<M: Maplet>(store: &mut KvStore<M>, truth: &mut HashMap<u8, u8>, operations: &[[u8; 3]]) {
    for &[what, key, value] in operations {
        let done = match (what % 4, truth.contains_key(&key)) {
            (0 | 1, false) => store.insert(&[key], &[value]).map(|()| Write::Done),
            (0, true) => store.update(&[key], &[value]),
            (1, true) => store.set(&[key], &[value]),
            (2, true) => store.delete(&[key]),
            _ => continue,
        };
        match (what % 4, done.expect("values and keys are few and short")) {
            (_, Write::Absent) => panic!("{key} is there"),
            (_, Write::Undecided) => {}
            (2, Write::Done) => drop(truth.remove(&key)),
            (_, Write::Done) => drop(truth.insert(key, value)),
        }
    }
    for (key, value) in &*truth {
        assert!(store.query(&[*key]).allows(&[*value].as_slice()), "{key}");
    }
    assert_eq!(store.stats().pairs, truth.len() as u64);
}

fuzz_target!(|bytes: &[u8]| {
    let (operations, _) = bytes.as_chunks();
    let operations = &operations[..operations.len().min(150)];
    let (mut store, mut truth) =
        (KvStore::new_fcf(&spec()).expect("a small store"), HashMap::new());
    operations.chunks(50).for_each(|part| run(&mut store, &mut truth, part));

    let (mut store, mut truth) = (KvStore::new(&spec()).expect("a small store"), HashMap::new());
    for part in operations.chunks(50) {
        run(&mut store, &mut truth, part);
        store.compact().expect("filters of one store");
        run(&mut store, &mut truth, &[]);
    }

    let mut cells = store.filters()[0].bytes().to_vec();
    cells.iter_mut().zip(bytes.iter().cycle()).for_each(|(cell, byte)| *cell ^= byte);
    let parameters = *store.parameters();
    let mut loaded = KbfMap::from_parts(parameters, u64::MAX, &cells).expect("as many bytes");
    for key in 0..=u8::MAX {
        let digest = parameters.hash_key.digest_bytes(&[key]);
        if let Some(value) = loaded.query(digest, 256).found() {
            loaded.update(digest, value, 1);
            loaded.delete(digest, 1);
        }
    }
});
