//! Approximate key-value stores beside a real Memcached with the same pairs: the time of a query, and memory.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::time::Instant;

use acsm_filters::kv::{Answer, FcfMap, KbfMap, KvSpec, KvStore, Maplet};
use acsm_filters::rng::Random;

use super::kv_pairs::Pairs;
use super::memcached::{Memcached, Transport};
use super::turns::median;

/// Rounds of a table. Each asks for its part of the keys, of all stores and servers in turn.
const ROUNDS: usize = 20;
/// Keys in one request of multi-get.
const MULTI_GET: usize = 100;
/// How many times faster than Memcached one by one a query is meant to be…
const ONE_BY_ONE_RATIO: f64 = 20.0;
/// …and than its multi-get.
const MULTI_GET_RATIO: f64 = 2.0;
/// The part of Memcached's bytes that a store is meant to take at most.
const MEMORY_SHARE: f64 = 0.5;

/// The rows that others are compared with.
const ONE_BY_ONE: usize = 0;
const IN_BATCHES: usize = 1;

/// Asks for the keys and returns the bytes of all values found.
type Ask<'a> = dyn FnMut(&[&[u8]]) -> u64 + 'a;

/// Where the keys are that are asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum KeyPlaces {
    /// Each where it was allocated, in random order: loading it is part of the query.
    Scattered,
    /// Copied side by side in the order of the queries, as in a message that has just been read.
    SideBySide,
}

struct Row<'a> {
    name: String,
    ask: Box<Ask<'a>>,
    /// The row that its time is divided by.
    compared_with: usize,
    /// The ratio that is aimed at, if there is one.
    ratio_least: Option<f64>,
    /// The part of the bytes of all values that has to be found.
    found_least: f64,
    nanos: Vec<f64>,
}

impl<'a> Row<'a> {
    fn exact(name: String, ask: impl FnMut(&[&[u8]]) -> u64 + 'a) -> Row<'a> {
        let (compared_with, ratio_least, found_least) = (ONE_BY_ONE, None, 1.0);
        Row { name, ask: Box::new(ask), compared_with, ratio_least, found_least, nanos: vec![] }
    }

    /// QUERY, key by key. One in 1/p keys is undecided.
    fn one_by_one<M: Maplet>(name: String, store: &'a KvStore<M>) -> Row<'a> {
        let query = |keys: &[&[u8]]| keys.iter().map(|key| value_bytes(store.query(key))).sum();
        Row { found_least: 0.99, ..Row::exact(name, query) }
    }

    /// The same for as many keys at once as there are in a multi-get.
    fn in_batches<M: Maplet>(name: String, store: &'a KvStore<M>) -> Row<'a> {
        let query = |keys: &[&[u8]]| {
            let mut found = 0;
            for keys in keys.chunks(MULTI_GET) {
                store.query_many(keys, |_, answer| found += value_bytes(answer));
            }
            found
        };
        Row { compared_with: IN_BATCHES, found_least: 0.99, ..Row::exact(name, query) }
    }

    /// Nanoseconds per query, of the median round.
    fn median_nanos(&self) -> f64 {
        median(self.nanos.clone())
    }

    /// The median of `self / other`, each within its round.
    fn ratio_to(&self, other: &Row<'_>) -> f64 {
        median(self.nanos.iter().zip(&other.nanos).map(|(ours, theirs)| ours / theirs).collect())
    }
}

fn value_bytes(answer: Answer<&[u8]>) -> u64 {
    answer.found().map_or(0, |value| value.len() as u64)
}

/// The stores at one error rate.
struct Stores {
    rate: f64,
    kbf: KvStore<KbfMap>,
    fcf: KvStore<FcfMap>,
}

impl Stores {
    fn new(pairs: &Pairs, rate: f64) -> Stores {
        let spec = KvSpec { rate, ..KvSpec::new(pairs.keys.len() as u64, pairs.values.len()) };
        let all: Vec<_> = pairs.iter().collect();
        let mut kbf = KvStore::new(&spec).expect("a store");
        kbf.insert_many(&all).expect("memory for the store");
        let mut fcf = KvStore::new_fcf(&spec).expect("a store");
        fcf.insert_many(&all).expect("memory for the store");
        Stores { rate, kbf, fcf }
    }
}

/// Memcached on both transports, filled; none if it cannot be had.
struct Servers(Vec<(&'static str, RefCell<Memcached>)>);

impl Servers {
    fn start(pairs: &Pairs) -> Servers {
        let bytes: usize = pairs.iter().map(|(key, value)| key.len() + value.len() + 100).sum();
        let megabytes = 64 + 2 * (bytes as u64 >> 20);
        let filled = |name, transport| {
            let mut server = Memcached::start(transport, megabytes)?;
            server.fill(pairs.iter())?;
            Ok((name, RefCell::new(server)))
        };
        let all: io::Result<Vec<_>> =
            [("loopback", Transport::Loopback), ("unix socket", Transport::UnixSocket)]
                .map(|(name, transport)| filled(name, transport))
                .into_iter()
                .collect();
        Servers(all.unwrap_or_else(|error| {
            let why = match error.kind() {
                io::ErrorKind::NotFound => "is not installed (Debian: memcached)".to_owned(),
                _ => format!("cannot be used ({error})"),
            };
            println!("\nMemcached {why}: the tables have no rows of it");
            vec![]
        }))
    }

    /// For each transport: a request that does nothing, get with one key, and with many.
    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.0.iter().flat_map(|(name, server)| {
            let nothing = |keys: &[&[u8]]| {
                keys.iter().for_each(|_| server.borrow_mut().round_trip().expect("an answer"));
                0
            };
            let one = |keys: &[&[u8]]| get(server, keys, 1);
            let many = |keys: &[&[u8]]| get(server, keys, MULTI_GET);
            [
                Row {
                    found_least: 0.0,
                    ..Row::exact(format!("{name}: round trip, no query"), nothing)
                },
                Row {
                    ratio_least: Some(ONE_BY_ONE_RATIO),
                    ..Row::exact(format!("{name}: get, one by one"), one)
                },
                Row {
                    compared_with: IN_BATCHES,
                    ratio_least: Some(MULTI_GET_RATIO),
                    ..Row::exact(format!("{name}: get of {MULTI_GET} keys"), many)
                },
            ]
        })
    }
}

/// `at_once` keys per request.
fn get(server: &RefCell<Memcached>, keys: &[&[u8]], at_once: usize) -> u64 {
    let mut server = server.borrow_mut();
    keys.chunks(at_once).map(|keys| server.get(keys).expect("an answer")).sum()
}

/// Measures `count` queries of as many pairs and prints two tables: time and memory.
pub fn compare(count: u64, values: u64) {
    let pairs = Pairs::new(count, values);
    let stores = [1e-3, 1e-6].map(|rate| Stores::new(&pairs, rate));
    let value_indexes = (0..).map(|number| pairs.value_of(number) as u16);
    let table: HashMap<Box<[u8]>, u16> = pairs.keys.iter().cloned().zip(value_indexes).collect();
    let servers = Servers::start(&pairs);

    for places in [KeyPlaces::Scattered, KeyPlaces::SideBySide] {
        let mut rows = vec![];
        for Stores { rate, kbf, fcf } in &stores {
            // The first two are ONE_BY_ONE and IN_BATCHES.
            rows.push(Row::one_by_one(format!("kbf, p = {rate:e}, one by one"), kbf));
            rows.push(Row::in_batches(format!("kbf, p = {rate:e}, {MULTI_GET} at once"), kbf));
            rows.push(Row::one_by_one(format!("fcf, p = {rate:e}, one by one"), fcf));
            rows.push(Row::in_batches(format!("fcf, p = {rate:e}, {MULTI_GET} at once"), fcf));
        }
        let value_bytes = |key: &&[u8]| pairs.values[usize::from(table[*key])].len() as u64;
        let look_up = move |keys: &[&[u8]]| keys.iter().map(value_bytes).sum();
        rows.push(Row::exact("HashMap<Box<[u8]>, u16>".to_owned(), look_up));
        rows.extend(servers.rows());
        take_turns(&pairs, places, &mut rows);
        print_times(&pairs, places, &rows);
    }
    print_memory(&pairs, &stores, table.capacity(), &servers);
}

/// Elapsed time counts, also of queries in process: a client of Memcached waits for another process.
fn take_turns(pairs: &Pairs, places: KeyPlaces, rows: &mut [Row<'_>]) {
    let mut random = Random::new(1);
    let count = pairs.keys.len();
    let asked: Vec<usize> = (0..count).map(|_| random.below(count as u64) as usize).collect();
    for asked in asked.chunks(count.div_ceil(ROUNDS)) {
        let scattered: Vec<&[u8]> = asked.iter().map(|key| &*pairs.keys[*key]).collect();
        let copies = scattered.concat();
        let mut rest = copies.as_slice();
        let copy_of = |key: &&[u8]| rest.split_off(..key.len()).unwrap_or_default();
        let keys = match places {
            KeyPlaces::SideBySide => scattered.iter().map(copy_of).collect(),
            KeyPlaces::Scattered => scattered,
        };
        let bytes: usize = asked.iter().map(|key| pairs.values[pairs.value_of(*key)].len()).sum();
        for row in &mut *rows {
            let start = Instant::now();
            let found = (row.ask)(&keys);
            row.nanos.push(start.elapsed().as_nanos() as f64 / keys.len() as f64);
            let part = found as f64 / bytes as f64;
            assert!((row.found_least..=1.0).contains(&part), "{}: {part} is found", row.name);
        }
    }
}

fn print_times(pairs: &Pairs, places: KeyPlaces, rows: &[Row<'_>]) {
    let places = match places {
        KeyPlaces::Scattered => "scattered",
        KeyPlaces::SideBySide => "side by side",
    };
    let title = format!("{} keys, {places}", pairs.keys.len());
    println!("\n{title:38} {:>8} {:>7}  target", "ns/query", "ratio");
    for row in rows {
        let (nanos, ratio) = (row.median_nanos(), row.ratio_to(&rows[row.compared_with]));
        let target = row.ratio_least.map_or(String::new(), |least| {
            format!("{least:.0} or more: {}", verdict(ratio >= least))
        });
        println!("{:38} {nanos:8.0} {ratio:7.2}  {target}", row.name);
    }
}

fn print_memory(pairs: &Pairs, stores: &[Stores], table_capacity: usize, servers: &Servers) {
    let mut sizes = vec![];
    if let Some((_, server)) = servers.0.first() {
        let mut server = server.borrow_mut();
        let bytes = server.statistic("bytes").expect("an answer");
        sizes.push(("Memcached, bytes of its items".to_owned(), bytes));
        let resident =
            server.resident_bytes().map(|bytes| ("Memcached, resident".to_owned(), bytes));
        sizes.extend(resident);
    }
    let of_memcached = sizes.first().map(|(_, bytes)| *bytes);
    sizes.push(("HashMap and a table of values".to_owned(), table_bytes(pairs, table_capacity)));
    let exact = sizes.len();
    for Stores { rate, kbf, fcf } in stores {
        sizes.push((format!("kbf, p = {rate:e}"), kbf.stats().bytes.total() as u64));
        sizes.push((format!("fcf, p = {rate:e}"), fcf.stats().bytes.total() as u64));
    }
    println!("\n{:38} {:>10} {:>7}  target", "memory", "bytes/pair", "share");
    for (index, (name, bytes)) in sizes.iter().enumerate() {
        let per_pair = *bytes as f64 / pairs.keys.len() as f64;
        print!("{name:38} {per_pair:10.1}");
        if let Some(whole) = of_memcached {
            let share = *bytes as f64 / whole as f64;
            print!(" {:5.1} %", 100.0 * share);
            if index >= exact {
                print!(
                    "  {:.0} % or less: {}",
                    100.0 * MEMORY_SHARE,
                    verdict(share <= MEMORY_SHARE)
                );
            }
        }
        println!();
    }
}

/// A bucket and its control byte, each key with what the allocator keeps beside it, and each value once.
fn table_bytes(pairs: &Pairs, capacity: usize) -> u64 {
    let buckets = (24 + 1) * (capacity as u64 * 8 / 7);
    let allocated = |text: &[u8]| (text.len() as u64 + 8).next_multiple_of(16).max(32);
    let values = pairs.values.iter().map(|value| allocated(value) + 16);
    buckets + pairs.keys.iter().map(|key| allocated(key)).sum::<u64>() + values.sum::<u64>()
}

fn verdict(holds: bool) -> &'static str {
    if holds { "pass" } else { "FAIL" }
}
