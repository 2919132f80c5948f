//! Server CPU per item: `KBF.*` with records, in batches of 1000, compared with SET and GET in the same run.
//!
//! A batch is one call with 1000 records, or 1000 pipelined commands SET or GET of one item each, and for
//! comparison one MSET or MGET of 1000. One connection has one batch on its way, or eight, so that the server
//! never waits for the client; what takes less counts, for each operation by itself. Slabs of 4 MiB with
//! 3,000 values, filled to their capacity: k = 3 decoded as in the papers, k = 6 jointly. Five runs, of
//! which the median is shown. The client's time does not count.

use acsm_filters::HashKey;
use acsm_filters::rng::Random;

use super::client::{Client, Reply, encoded};
use super::server::{Server, programs};

const RUNS: usize = 5;
pub const BATCH: usize = 1000;
/// How many batches are on their way.
pub const IN_FLIGHT: [usize; 2] = [1, 8];
/// SET and GET.
const PLAIN_ITEMS: u64 = 100_000;

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

/// What is measured, in the order of a run.
const NAMES: [&str; 10] = [
    "SET",
    "GET",
    "MSET",
    "MGET",
    "KBF.INSERT, k = 3",
    "KBF.QUERY, k = 3",
    "KBF.UPDATE, k = 3",
    "KBF.INSERT, k = 6, joint",
    "KBF.QUERY, k = 6, joint",
    "KBF.UPDATE, k = 6, joint",
];

/// Each operation with the one it is compared with, and how many times cheaper it should be.
const TARGETS: [(usize, usize, Option<f64>); 6] = [
    (4, 0, Some(20.0)),
    (5, 1, Some(12.0)),
    (6, 0, None),
    (7, 0, None),
    (8, 1, None),
    (9, 0, None),
];

/// Seconds of CPU that the server has used.
pub fn cpu(client: &mut Client) -> f64 {
    let info = client.say("INFO cpu").text();
    let field = |name: &str| {
        let line = info.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|value| value.parse::<f64>().ok()).expect("CPU seconds")
    };
    field("used_cpu_user:") + field("used_cpu_sys:")
}

/// Nanoseconds of server CPU per item for these batches, each of encoded commands and their number.
fn measure(client: &mut Client, batches: &[(Vec<u8>, usize)], items: u64, in_flight: usize) -> f64 {
    let before = cpu(client);
    send(client, batches, in_flight);
    (cpu(client) - before) * 1e9 / items as f64
}

/// The same, with as many batches on their way as take the least.
fn least(client: &mut Client, batches: &[(Vec<u8>, usize)]) -> f64 {
    let times = IN_FLIGHT.map(|in_flight| measure(client, batches, PLAIN_ITEMS, in_flight));
    times[0].min(times[1])
}

/// Sends batches, of which a number have no reply yet.
pub fn send(client: &mut Client, batches: &[(Vec<u8>, usize)], in_flight: usize) {
    let mut sent = batches.iter();
    for (commands, _) in sent.by_ref().take(in_flight) {
        client.pipeline(commands, 0);
    }
    for (_, count) in batches {
        for reply in client.pipeline(&[], *count) {
            assert!(!matches!(reply, Reply::Error(_)), "{reply:?}");
        }
        if let Some((commands, _)) = sent.next() {
            client.pipeline(commands, 0);
        }
    }
}

/// One command per item, pipelined in batches.
fn plain(command: impl Fn(u64) -> Vec<String>) -> Vec<(Vec<u8>, usize)> {
    let numbers: Vec<u64> = (0..PLAIN_ITEMS).collect();
    let batch = |numbers: &[u64]| {
        let commands = numbers.iter().flat_map(|&number| encoded(&command(number)));
        (commands.collect(), numbers.len())
    };
    numbers.chunks(BATCH).map(batch).collect()
}

/// One command per batch.
fn listed(command: &str, has_values: bool) -> Vec<(Vec<u8>, usize)> {
    let numbers: Vec<u64> = (0..PLAIN_ITEMS).collect();
    let batch = |numbers: &[u64]| {
        let mut words = vec![command.to_owned()];
        for &number in numbers {
            words.push(item(number));
            words.extend(has_values.then(|| "1234".to_owned()));
        }
        (encoded(&words), 1)
    };
    numbers.chunks(BATCH).map(batch).collect()
}

fn item(number: u64) -> String {
    format!("item:{number:08}")
}

/// One command per batch of records.
pub fn packed(name: &str, kind: &Kind, values: Option<u64>) -> Vec<(Vec<u8>, usize)> {
    let key = HashKey::from_seed(0);
    let mut random = Random::new(values.unwrap_or(0));
    let numbers: Vec<u64> = (0..kind.items).collect();
    let batch = |numbers: &[u64]| {
        let mut records = vec![];
        for &number in numbers {
            records.extend(key.digest_bytes(item(number).as_bytes()).to_le_bytes());
            if values.is_some() {
                records.extend((random.below(3000) as u32).to_le_bytes());
            }
        }
        let words: [&[u8]; 4] = [name.as_bytes(), b"slab", b"PACKED", &records];
        (encoded(&words), 1)
    };
    numbers.chunks(BATCH).map(batch).collect()
}

/// An empty slab in place of the one that is there.
pub fn create(client: &mut Client, Kind { hashes, decode, .. }: &Kind) {
    let cells = ((4 << 20) - 2000) / 4 / (16 * hashes) * (16 * hashes);
    client.say("DEL slab");
    let create =
        format!("KBF.CREATE slab VALUES 3000 CELLS {cells} HASHES {hashes} DECODE {decode}");
    assert_eq!(client.say(&create), Reply::Simple("OK".to_owned()));
}

/// Nanoseconds of each operation.
fn run(client: &mut Client) -> Vec<f64> {
    client.say("FLUSHALL");
    let batches = [
        plain(|n| ["SET", &item(n), "1234"].map(str::to_owned).into()),
        plain(|n| ["GET", &item(n)].map(str::to_owned).into()),
        listed("MSET", true),
        listed("MGET", false),
    ];
    let mut found: Vec<f64> = batches.iter().map(|batches| least(client, batches)).collect();
    for kind in &KINDS {
        let operations = [("KBF.INSERT", Some(1)), ("KBF.QUERY", None), ("KBF.UPDATE", Some(2))];
        let batches = operations.map(|(name, values)| packed(name, kind, values));
        let mut sums = [[0.0; IN_FLIGHT.len()]; 3];
        for _ in 0..kind.passes {
            for (at, in_flight) in IN_FLIGHT.into_iter().enumerate() {
                create(client, kind);
                for (sums, batches) in sums.iter_mut().zip(&batches) {
                    sums[at] += measure(client, batches, kind.items, in_flight);
                }
            }
        }
        found.extend(sums.map(|[one, several]| one.min(several) / kind.passes as f64));
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
    for program in programs() {
        let server = Server::start(&program, "");
        let client = &mut server.client();
        let runs: Vec<Vec<f64>> = (0..RUNS).map(|_| run(client)).collect();
        println!(
            "{}: server CPU per item in ns, batches of {BATCH}, median of {RUNS} runs",
            program.display()
        );
        for (at, name) in NAMES.iter().enumerate() {
            let time = median(runs.iter().map(|run| run[at]).collect());
            print!("{name:25} {time:7.0}");
            if let Some((_, with, least)) = TARGETS.iter().find(|(operation, ..)| *operation == at)
            {
                let ratio = median(runs.iter().map(|run| run[*with] / run[at]).collect());
                print!("   {ratio:5.1} times cheaper than {}", NAMES[*with]);
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
