//! Server CPU per item: `KBF.*` with records, in batches of 1000, compared with SET and GET in the same run.
//!
//! Slabs of 4 MiB with 3,000 values; five runs, of which the median is shown. The client's time does not count.

#[path = "../tests/servers/client.rs"]
#[allow(dead_code)] // what only tests use
mod client;
#[path = "../tests/servers/server.rs"]
#[allow(dead_code)]
mod server;

use acsm_filters::HashKey;
use acsm_filters::rng::Random;

use client::{Client, Reply, encoded};
use server::{Server, programs};

const RUNS: usize = 5;
const BATCH: usize = 1000;
/// SET and GET.
const PLAIN_ITEMS: u64 = 200_000;
/// Per slab.
const ITEMS: u64 = 200_000;
/// Cheap operations are repeated on several slabs, so that the time can be measured.
const SLABS: usize = 5;

/// What is measured, in the order of a run.
const NAMES: [&str; 8] = [
    "SET",
    "GET",
    "KBF.INSERT, k = 3",
    "KBF.QUERY, k = 3",
    "KBF.UPDATE, k = 3",
    "KBF.INSERT, k = 6",
    "KBF.QUERY, k = 6",
    "KBF.UPDATE, k = 6",
];

/// Each operation with the one it is compared with, and how many times cheaper it should be.
const TARGETS: [(usize, usize, Option<f64>); 6] = [
    (2, 0, Some(20.0)),
    (3, 1, Some(12.0)),
    (4, 0, None),
    (5, 0, None),
    (6, 1, None),
    (7, 0, None),
];

/// Seconds of CPU that the server has used.
fn cpu(client: &mut Client) -> f64 {
    let info = client.say("INFO cpu").text();
    let field = |name: &str| {
        let line = info.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|value| value.parse::<f64>().ok()).expect("CPU seconds")
    };
    field("used_cpu_user:") + field("used_cpu_sys:")
}

/// Nanoseconds of server CPU per item for these batches, each of encoded commands and their number.
fn measure(client: &mut Client, batches: &[(Vec<u8>, usize)], items: u64) -> f64 {
    let before = cpu(client);
    for (commands, count) in batches {
        for reply in client.pipeline(commands, *count) {
            assert!(!matches!(reply, Reply::Error(_)), "{reply:?}");
        }
    }
    (cpu(client) - before) * 1e9 / items as f64
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

fn item(number: u64) -> String {
    format!("item:{number:08}")
}

/// One command per batch of records, for each slab.
fn packed(name: &str, k: u32, values: Option<u64>) -> Vec<(Vec<u8>, usize)> {
    let key = HashKey::from_seed(0);
    let mut random = Random::new(values.unwrap_or(0));
    let mut batches = vec![];
    for slab in 0..SLABS {
        let numbers: Vec<u64> = (0..ITEMS).collect();
        for numbers in numbers.chunks(BATCH) {
            let mut records = vec![];
            for &number in numbers {
                records.extend(key.digest_bytes(item(number).as_bytes()).to_le_bytes());
                if values.is_some() {
                    records.extend((random.below(3000) as u32).to_le_bytes());
                }
            }
            let slab = format!("slab:{k}:{slab}");
            let words: [&[u8]; 4] = [name.as_bytes(), slab.as_bytes(), b"PACKED", &records];
            batches.push((encoded(&words), 1));
        }
    }
    batches
}

/// Nanoseconds of each operation.
fn run(client: &mut Client) -> Vec<f64> {
    client.say("FLUSHALL");
    let mut found = vec![
        measure(
            client,
            &plain(|n| ["SET", &item(n), "1234"].map(str::to_owned).into()),
            PLAIN_ITEMS,
        ),
        measure(client, &plain(|n| ["GET", &item(n)].map(str::to_owned).into()), PLAIN_ITEMS),
    ];
    for k in [3u32, 6] {
        let cells = ((4 << 20) - 2000) / 4 / (16 * k) * (16 * k);
        for slab in 0..SLABS {
            let create = format!("KBF.CREATE slab:{k}:{slab} VALUES 3000 CELLS {cells} HASHES {k}");
            assert_eq!(client.say(&create), Reply::Simple("OK".to_owned()));
        }
        let all = ITEMS * SLABS as u64;
        found.push(measure(client, &packed("KBF.INSERT", k, Some(1)), all));
        found.push(measure(client, &packed("KBF.QUERY", k, None), all));
        found.push(measure(client, &packed("KBF.UPDATE", k, Some(2)), all));
    }
    found
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn main() {
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
            print!("{name:18} {time:7.0}");
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
