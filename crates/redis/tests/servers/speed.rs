//! Server CPU per item: `KBF.*` with records, in batches of 1000, compared with SET and GET in the same run.
//!
//! The same keys and values each: as many as a slab of 4 MiB with k = 3 and 3,000 values has capacity for. A batch
//! is one call with 1000 records, or 1000 pipelined commands SET or GET of one item each, and for comparison one
//! MSET or MGET of 1000. An insertion is compared with a SET of a key that is not there, an update with one of a key
//! that is. One connection has one batch on its way, or several, so that the server never waits for the client;
//! what takes the least counts, for each operation by itself. k = 3 is decoded as in the papers, and beside it is
//! k = 6 with joint decoding, at its capacity. Five runs, of which the median is shown. The client's time does
//! not count. What the server does with a call besides its items is shown too: the same
//! bytes, for a key that is not there.

use acsm_filters::HashKey;
use acsm_filters::rng::Random;

use super::client::{Client, Reply, encoded};
use super::server::{Server, programs};

const RUNS: usize = 5;
const BATCH: usize = 1000;
/// How many batches are on their way.
const IN_FLIGHT: [usize; 3] = [1, 8, 36];
const VALUES: u64 = 3000;

/// A slab with as many items as it has capacity for at p = 0.001.
pub struct Kind {
    pub hashes: u32,
    pub decode: &'static str,
    pub items: u64,
    /// How many times it is filled in a run, so that the time of cheap operations can be measured.
    passes: usize,
}

pub const KINDS: [Kind; 2] = [
    Kind { hashes: 3, decode: "2", items: 36_000, passes: 12 },
    Kind { hashes: 6, decode: "JOINT", items: 240_000, passes: 2 },
];

/// Encoded commands and their number.
type Batch = (Vec<u8>, usize);

/// What is measured.
struct Operation {
    name: String,
    batches: Vec<Batch>,
    /// The operation that it is compared with, and how many times cheaper it should be.
    compared: Option<(&'static str, Option<f64>)>,
}

/// Operations one after another, on what `prepare` makes.
struct Group {
    prepare: Box<dyn Fn(&mut Client)>,
    items: u64,
    passes: usize,
    operations: Vec<Operation>,
}

const SET: &str = "SET of a new key";
const SET_AGAIN: &str = "SET of a key that is there";
const GET: &str = "GET";

/// Seconds of CPU that the server has used.
pub fn cpu(client: &mut Client) -> f64 {
    let info = client.say("INFO cpu").text();
    let field = |name: &str| {
        let line = info.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|value| value.parse::<f64>().ok()).expect("CPU seconds")
    };
    field("used_cpu_user:") + field("used_cpu_sys:")
}

/// Nanoseconds of server CPU per item for these batches.
fn measure(client: &mut Client, batches: &[Batch], items: u64, in_flight: usize) -> f64 {
    let before = cpu(client);
    send(client, batches, in_flight);
    (cpu(client) - before) * 1e9 / items as f64
}

/// Sends batches, of which a number have no reply yet.
pub fn send(client: &mut Client, batches: &[Batch], in_flight: usize) {
    let mut sent = batches.iter();
    for (commands, _) in sent.by_ref().take(in_flight) {
        client.pipeline(commands, 0);
    }
    for (_, count) in batches {
        for reply in client.pipeline(&[], *count) {
            let is_expected = !matches!(&reply, Reply::Error(text) if text != NO_KEY);
            assert!(is_expected, "{reply:?}");
        }
        if let Some((commands, _)) = sent.next() {
            client.pipeline(commands, 0);
        }
    }
}

/// Of the calls for a key that is not there.
const NO_KEY: &str = "ERR no such key";

/// Items with their values, which are the same for the same seed.
fn pairs(count: u64, seed: u64) -> Vec<(String, u64)> {
    let mut random = Random::new(seed);
    (0..count).map(|number| (format!("item:{number:08}"), random.below(VALUES))).collect()
}

/// One command per item, pipelined in batches.
fn plain(name: &str, pairs: &[(String, u64)], has_values: bool) -> Vec<Batch> {
    let command = |(item, value): &(String, u64)| {
        let mut words = vec![name.to_owned(), item.clone()];
        words.extend(has_values.then(|| value.to_string()));
        encoded(&words)
    };
    let batch = |pairs: &[_]| (pairs.iter().flat_map(command).collect(), pairs.len());
    pairs.chunks(BATCH).map(batch).collect()
}

/// One command per batch, which begins with these words.
fn listed(words: &str, pairs: &[(String, u64)], has_values: bool) -> Vec<Batch> {
    let of_pair = |(item, value): &(String, u64)| {
        [Some(item.clone()), has_values.then(|| value.to_string())].into_iter().flatten()
    };
    let batch = |pairs: &[_]| {
        let all = words.split(' ').map(str::to_owned).chain(pairs.iter().flat_map(of_pair));
        (encoded(&all.collect::<Vec<_>>()), 1)
    };
    pairs.chunks(BATCH).map(batch).collect()
}

/// One command per batch of records, with values from a seed if it takes values.
pub fn packed(name: &str, key: &str, items: u64, values: Option<u64>) -> Vec<Batch> {
    let hash_key = HashKey::from_seed(0);
    let batch = |pairs: &[(String, u64)]| {
        let mut records = vec![];
        for (item, value) in pairs {
            records.extend(hash_key.digest_bytes(item.as_bytes()).to_le_bytes());
            if values.is_some() {
                records.extend((*value as u32).to_le_bytes());
            }
        }
        let words: [&[u8]; 4] = [name.as_bytes(), key.as_bytes(), b"PACKED", &records];
        (encoded(&words), 1)
    };
    pairs(items, values.unwrap_or(0)).chunks(BATCH).map(batch).collect()
}

/// An empty slab in place of the one that is there.
pub fn create(client: &mut Client, Kind { hashes, decode, .. }: &Kind) {
    let cells = ((4 << 20) - 2000) / 4 / (16 * hashes) * (16 * hashes);
    client.say("DEL slab");
    let create =
        format!("KBF.CREATE slab VALUES {VALUES} CELLS {cells} HASHES {hashes} DECODE {decode}");
    assert_eq!(client.say(&create), Reply::Simple("OK".to_owned()));
}

/// All that is measured.
fn groups() -> Vec<Group> {
    let Kind { items, passes, .. } = KINDS[0];
    let (first, second) = (pairs(items, 1), pairs(items, 2));
    let operation =
        |name: &str, batches| Operation { name: name.to_owned(), batches, compared: None };
    let empty = || {
        Box::new(|client: &mut Client| {
            assert_eq!(client.say("FLUSHALL"), Reply::Simple("OK".to_owned()))
        })
    };
    let single = [
        operation(SET, plain("SET", &first, true)),
        operation(GET, plain("GET", &first, false)),
        operation(SET_AGAIN, plain("SET", &second, true)),
    ];
    let several = [
        operation("MSET of new keys", listed("MSET", &first, true)),
        operation("MGET", listed("MGET", &first, false)),
    ];
    let mut groups = vec![
        Group { prepare: empty(), items, passes, operations: single.into() },
        Group { prepare: empty(), items, passes, operations: several.into() },
    ];
    for kind in &KINDS {
        let Kind { hashes, decode, items, passes } = *kind;
        let what = if decode == "JOINT" { ", joint" } else { "" };
        let operation = |(name, values, with, least): (&str, _, _, f64)| Operation {
            name: format!("{name}, k = {hashes}{what}"),
            batches: packed(name, "slab", items, values),
            compared: Some((with, Some(least).filter(|_| hashes == 3 && least > 0.0))),
        };
        let operations = [
            ("KBF.INSERT", Some(1), SET, 20.0),
            ("KBF.QUERY", None, GET, 12.0),
            ("KBF.UPDATE", Some(2), SET_AGAIN, 0.0),
        ];
        let operations: Vec<Operation> = operations.map(operation).into();
        let prepare = Box::new(move |client: &mut Client| create(client, kind));
        groups.push(Group { prepare, items, passes, operations });
    }
    // What the server does before and after a command has its items, in both forms.
    let of_insert = |key: &str| listed(&format!("KBF.INSERT {key} ITEMS"), &first, true);
    let of_query = |key: &str| listed(&format!("KBF.QUERY {key} ITEMS"), &first, false);
    let operations = vec![
        operation("KBF.INSERT, no slab", packed("KBF.INSERT", "none", items, Some(1))),
        operation("KBF.QUERY, no slab", packed("KBF.QUERY", "none", items, None)),
        operation("KBF.INSERT ITEMS, k = 3", of_insert("slab")),
        operation("KBF.QUERY ITEMS, k = 3", of_query("slab")),
        operation("KBF.INSERT ITEMS, no slab", of_insert("none")),
        operation("KBF.QUERY ITEMS, no slab", of_query("none")),
    ];
    let prepare = Box::new(|client: &mut Client| create(client, &KINDS[0]));
    groups.push(Group { prepare, items, passes, operations });
    groups
}

/// Nanoseconds of each operation.
fn run(client: &mut Client, groups: &[Group]) -> Vec<f64> {
    let mut found = vec![];
    for Group { prepare, items, passes, operations } in groups {
        let mut sums = vec![[0.0; IN_FLIGHT.len()]; operations.len()];
        for _ in 0..*passes {
            for (at, in_flight) in IN_FLIGHT.into_iter().enumerate() {
                prepare(client);
                for (sums, operation) in sums.iter_mut().zip(operations) {
                    sums[at] += measure(client, &operation.batches, *items, in_flight);
                }
            }
        }
        let least = |sums: &[f64; IN_FLIGHT.len()]| sums.iter().copied().fold(f64::MAX, f64::min);
        found.extend(sums.iter().map(|sums| least(sums) / *passes as f64));
    }
    found
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

#[test]
#[ignore = "measures, and needs a release build: scripts/bench server"]
fn cpu_per_item() {
    let groups = groups();
    let operations: Vec<&Operation> = groups.iter().flat_map(|group| &group.operations).collect();
    for program in programs() {
        let server = Server::start(&program, "");
        let client = &mut server.client();
        let runs: Vec<Vec<f64>> = (0..RUNS).map(|_| run(client, &groups)).collect();
        println!(
            "{}: server CPU per item in ns, batches of {BATCH}, median of {RUNS} runs",
            program.display()
        );
        for (at, Operation { name, compared, .. }) in operations.iter().enumerate() {
            let time = median(runs.iter().map(|run| run[at]).collect());
            print!("{name:26} {time:7.1}");
            if let Some((with, least)) = compared {
                let other = operations.iter().position(|operation| operation.name == *with);
                let other = other.expect("an operation with this name");
                let ratio = median(runs.iter().map(|run| run[other] / run[at]).collect());
                print!("   {ratio:5.1} times cheaper than {with}");
                match least {
                    Some(least) if ratio >= *least => print!(" (at least {least}: met)"),
                    Some(least) => print!(" (at least {least}: MISSED)"),
                    None => {}
                }
            }
            println!();
        }
    }
}
