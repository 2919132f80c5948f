//! What tests put into slabs, and the same in memory.

use std::collections::HashMap;

use acsm_filters::HashKey;
use acsm_filters::rng::Random;

use super::client::{Client, Reply};

pub const VALUES: u32 = 3000;

/// The digest of an item in a slab that was created without `HASHKEY`.
pub fn digest(item: &str) -> u128 {
    HashKey::from_seed(0).digest_bytes(item.as_bytes())
}

/// Records of digests and values.
pub fn packed_pairs<'a>(pairs: impl IntoIterator<Item = (&'a String, &'a u32)>) -> Vec<u8> {
    let record = |(item, value): (&String, &u32)| {
        [&digest(item).to_le_bytes()[..], &value.to_le_bytes()].concat()
    };
    pairs.into_iter().flat_map(record).collect()
}

/// Records of digests.
pub fn packed_items<'a>(items: impl IntoIterator<Item = &'a String>) -> Vec<u8> {
    items.into_iter().flat_map(|item| digest(item).to_le_bytes()).collect()
}

/// Items with these numbers and random values.
pub fn pairs(numbers: std::ops::Range<u32>, seed: u64) -> HashMap<String, u32> {
    let mut random = Random::new(seed);
    let pair = |n: u32| (format!("item {n}"), random.below(VALUES.into()) as u32);
    numbers.map(pair).collect()
}

/// Asserts that the slab has these items with these values: the value is found, or among the candidates.
pub fn assert_holds(client: &mut Client, key: &str, pairs: &HashMap<String, u32>) {
    let (items, values): (Vec<&String>, Vec<&u32>) = pairs.iter().unzip();
    let records = packed_items(items.iter().copied());
    let command: [&[u8]; 4] = [b"KBF.QUERY", key.as_bytes(), b"PACKED", &records];
    let answer = client.call(&command).array();
    let [Reply::Bulk(answers), Reply::Array(candidates)] = &answer[..] else {
        panic!("{answer:?}")
    };
    let mut candidates = candidates.iter();
    let mut found = 0;
    for ((item, value), answer) in items.iter().zip(values).zip(answers.chunks_exact(4)) {
        let answer = u32::from_le_bytes(answer.try_into().unwrap());
        match answer {
            0xffff_ffff => panic!("{key}: {item} is absent"),
            0xffff_fffe => {}
            0xffff_fffd => {
                let several = candidates.next().unwrap().clone().array();
                assert!(several.contains(&Reply::Integer((*value).into())), "{key}: {item}");
            }
            answer => {
                assert_eq!(answer, *value, "{key}: {item}");
                found += 1;
            }
        }
    }
    assert!(found as f64 > 0.98 * pairs.len() as f64, "{key}: {found} of {}", pairs.len());
}

/// The bytes of a key.
pub fn bytes(client: &mut Client, key: &str) -> Vec<u8> {
    client.call(&["GET", key]).bulk()
}
