//! QUERY of an approximate key-value store beside a hash table in the same process: a million keys, or as
//! many as `cargo bench --bench kv -- COUNT` says, 3,000 values, in random order; what decoding a pair of
//! codes takes; and QUERY and memory beside a real Memcached, if that is installed. What counts are ratios
//! within one run.

mod harness {
    pub mod beside_memcached;
    pub mod kv_pairs;
    pub mod memcached;
    pub mod on_cpu;
    #[allow(dead_code)] // only its medians are used
    pub mod turns;
}

use std::collections::HashMap;
use std::hint::black_box;

use acsm_filters::codes::{CodeFamily, Codes};
use acsm_filters::kv::{Answer, KvSpec, KvStore, Maplet};
use acsm_filters::rng::Random;
use harness::beside_memcached;
use harness::on_cpu::Stopwatch;
use harness::turns::median;

const VALUES: u64 = 3000;
const ROUNDS: usize = 5;
/// Keys that are asked in one call of `query_many`.
const BATCH: usize = 1000;

type Key = [u8; 20];

fn key(number: u64) -> Key {
    let mut key = *b"product/000000000000";
    for (place, digit) in key.iter_mut().rev().take(12).enumerate() {
        *digit = b'0' + (number / 10_u64.pow(place as u32) % 10) as u8;
    }
    key
}

fn value(number: u64) -> [u8; 2] {
    ((number % VALUES) as u16).to_le_bytes()
}

/// Nanoseconds per query, of the median round.
struct Row<'a> {
    name: &'static str,
    bits_per_pair: f64,
    run: Box<dyn FnMut() -> u64 + 'a>,
    nanos: Vec<f64>,
}

impl<'a> Row<'a> {
    fn new(name: &'static str, bits_per_pair: f64, run: impl FnMut() -> u64 + 'a) -> Row<'a> {
        Row { name, bits_per_pair, run: Box::new(run), nanos: vec![] }
    }

    fn median(&self) -> f64 {
        median(self.nanos.clone())
    }
}

fn filled<M: Maplet>(mut store: KvStore<M>, count: u64) -> KvStore<M> {
    let pairs: Vec<_> = (0..count).map(|number| (key(number), value(number))).collect();
    store.insert_many(&pairs).expect("memory for the store");
    store
}

fn one_by_one<M: Maplet>(store: &KvStore<M>, asked: &[Key]) -> u64 {
    asked.iter().filter(|key| matches!(store.query(*key), Answer::Found(_))).count() as u64
}

fn in_batches<M: Maplet>(store: &KvStore<M>, asked: &[Key]) -> u64 {
    let mut found = 0;
    for keys in asked.chunks(BATCH) {
        store.query_many(keys, |_, answer| found += u64::from(matches!(answer, Answer::Found(_))));
    }
    found
}

fn main() {
    let wanted = std::env::args().find_map(|argument| argument.parse().ok());
    let count: u64 = wanted.unwrap_or(1_000_000);
    let mut random = Random::new(1);
    let asked: Vec<Key> = (0..count).map(|_| key(random.below(count))).collect();

    let mut table: HashMap<Box<[u8]>, u16> = HashMap::new();
    for number in 0..count {
        table.insert(key(number).as_slice().into(), (number % VALUES) as u16);
    }
    // A bucket and its control byte, and the key with what the allocator keeps beside it.
    let table_bits =
        8.0 * ((24 + 1) as f64 * table.capacity() as f64 * 8.0 / 7.0 + 32.0 * count as f64);
    let spec = KvSpec::new(count, VALUES as usize);
    let kbf = filled(KvStore::new(&spec).expect("a store"), count);
    let fcf = filled(KvStore::new_fcf(&spec).expect("a store"), count);
    let (kbf_bits, fcf_bits) = (kbf.stats().bits_per_pair(), fcf.stats().bits_per_pair());

    let mut rows = [
        Row::new("HashMap<Box<[u8]>, u16>", table_bits / count as f64, || {
            asked.iter().filter(|key| table.contains_key(key.as_slice())).count() as u64
        }),
        Row::new("kbf, one by one", kbf_bits, || one_by_one(&kbf, &asked)),
        Row::new("kbf, in batches", kbf_bits, || in_batches(&kbf, &asked)),
        Row::new("fcf, one by one", fcf_bits, || one_by_one(&fcf, &asked)),
        Row::new("fcf, in batches", fcf_bits, || in_batches(&fcf, &asked)),
    ];
    for _ in 0..=ROUNDS {
        for row in &mut rows {
            let stopwatch = Stopwatch::start();
            let found = (row.run)();
            row.nanos.push(stopwatch.nanos() / count as f64);
            assert!(found as f64 > 0.99 * count as f64, "{}: {found} of {count}", row.name);
        }
    }
    println!(
        "{:28} {:>8} {:>6} {:>14}",
        format!("{count} keys"),
        "ns/query",
        "ratio",
        "bits per pair"
    );
    let baseline = rows[0].median();
    for row in &rows {
        let nanos = row.median();
        let (name, bits) = (row.name, row.bits_per_pair);
        println!("{name:28} {nanos:8.1} {:6.2} {bits:14.1}", nanos / baseline);
    }
    drop(rows);
    pair_decoding();
    beside_memcached::compare(count, VALUES);
}

/// What it takes to find the two codes of a sum.
fn pair_decoding() {
    println!("\n{:28} {:>8}", "pair decoding", "ns/pair");
    for (family, values, pairs) in [
        (CodeFamily::Algebraic { degree: 14 }, 1 << 14, 1_000_000),
        (CodeFamily::Algebraic { degree: 28 }, 1 << 20, 200_000),
        (CodeFamily::Greedy, 3000, 10_000),
    ] {
        let codes = Codes::new(family, values).expect("memory for the codes");
        let mut random = Random::new(2);
        let mut code = || codes.code(random.below(codes.count() as u64) as u32);
        let sums: Vec<u64> = (0..pairs).map(|_| code() ^ code()).collect();
        let stopwatch = Stopwatch::start();
        let found = sums.iter().filter(|sum| codes.pair(**sum).is_some()).count();
        let nanos = stopwatch.nanos() / f64::from(pairs);
        black_box(found);
        println!("{:28} {nanos:8.1}", format!("{}, {values} values", family.name()));
    }
}
