//! Random commands, and slabs with random bytes: the server never ends, and the module never panics.
//!
//! `KBF_FUZZ_CALLS=N` makes N calls to each server; else it is the same short run every time.

use acsm_filters::rng::Random;
use acsm_filters::snapshot::crc32c;

use super::client::{Client, Reply, encoded};
use super::server::{Server, programs};

const CALLS: u64 = 20_000;
/// Calls that are sent before replies are read.
const PIPELINED: usize = 200;
const KEYS: [&str; 4] = ["a", "b", "c", "d"];

/// Words that commands know, and some that they do not.
const WORDS: [&str; 20] = [
    "ITEMS",
    "PACKED",
    "CLIENT",
    "SEQ",
    "BELOW",
    "VALUE",
    "VALUES",
    "CAPACITY",
    "CELLS",
    "HASHES",
    "ERROR",
    "HASHKEY",
    "CODES",
    "GREEDY",
    "ALGEBRAIC",
    "DECODE",
    "JOINT",
    "LITERAL",
    "NOSALT",
    "nonsense",
];

const NUMBERS: [&str; 14] = [
    "0",
    "1",
    "2",
    "3",
    "9",
    "127",
    "3000",
    "16383",
    "16384",
    "-1",
    "4294967296",
    "9223372036854775807",
    "18446744073709551616",
    "1e-3",
];

fn pick<'a>(random: &mut Random, from: &[&'a str]) -> &'a str {
    from[random.below(from.len() as u64) as usize]
}

fn random_bytes(random: &mut Random, most: u64) -> Vec<u8> {
    (0..random.below(most + 1)).map(|_| random.next_u64() as u8).collect()
}

/// Options that are mostly right, so that calls get far.
fn options(random: &mut Random, command: &mut Vec<Vec<u8>>) {
    if random.chance(0.4) {
        let (client, sequence) = (1 + random.below(80), 1 + random.below(4));
        let words = format!("CLIENT {client} SEQ {sequence}");
        command.extend(words.split(' ').map(Into::into));
    }
}

fn items(random: &mut Random, command: &mut Vec<Vec<u8>>, with_values: bool) {
    let count = 1 + random.below(30);
    if random.chance(0.5) {
        command.push(b"ITEMS".to_vec());
        for _ in 0..count {
            command.push(random.below(300).to_string().into_bytes());
            if with_values {
                command.push(random.below(135).to_string().into_bytes());
            }
        }
    } else {
        let mut records = vec![];
        for _ in 0..count {
            let digest = acsm_filters::HashKey::from_seed(0).digest([random.below(300)]);
            records.extend(digest.to_le_bytes());
            if with_values {
                records.extend((random.below(135) as u32).to_le_bytes());
            }
        }
        command.extend([b"PACKED".to_vec(), records]);
    }
}

fn create(random: &mut Random, key: &str) -> Vec<Vec<u8>> {
    let values = pick(random, &["1", "130", "3000", "20000", "4213"]);
    let mut text = format!("KBF.CREATE {key} VALUES {values} ");
    text += &match random.below(3) {
        0 => format!("CAPACITY {}", 1 + random.below(300)),
        1 => format!("CELLS {} HASHES {}", 1 + random.below(2000), 1 + random.below(33)),
        _ => format!("CELLS {} HASHES 3 CAPACITY {}", 1 + random.below(500), random.below(99)),
    };
    text += pick(random, &["", "", " CODES GREEDY", " NOSALT", " ERROR 0.2"]);
    text += pick(random, &["", "", " DECODE 1", " DECODE 2", " DECODE LITERAL"]);
    text.split(' ').map(Into::into).collect()
}

/// A change of the bytes of a slab, mostly in its header.
fn damage(random: &mut Random, key: &str) -> Vec<Vec<u8>> {
    let offset = match random.below(3) {
        0 => random.below(1800),
        1 => 1734 + random.below(5000),
        _ => random.below(140),
    };
    let mut bytes = random_bytes(random, 8);
    bytes.push(random.next_u64() as u8);
    vec![b"SETRANGE".to_vec(), key.into(), offset.to_string().into(), bytes]
}

/// A command of any kind.
fn command(random: &mut Random) -> Vec<Vec<u8>> {
    let key = pick(random, &KEYS);
    let name = match random.below(12) {
        0 => return create(random, key),
        1 if random.chance(0.2) => return damage(random, key),
        2 if random.chance(0.2) => return vec![b"DEL".to_vec(), key.into()],
        3 if random.chance(0.1) => {
            let text = pick(random, &["APPEND", "SET"]);
            return vec![text.into(), key.into(), random_bytes(random, 40)];
        }
        1..=3 => "KBF.INSERT",
        4 | 5 => "KBF.QUERY",
        6 | 7 => "KBF.UPDATE",
        8 => "KBF.DELETE",
        9 => "KBF.COMPRESS",
        10 => "KBF.JOIN",
        _ => "KBF.INFO",
    };
    let mut words: Vec<Vec<u8>> = vec![name.into(), key.into()];
    match name {
        "KBF.COMPRESS" if random.chance(0.9) => words[0] = b"KBF.INFO".to_vec(),
        "KBF.INSERT" | "KBF.UPDATE" => {
            options(random, &mut words);
            items(random, &mut words, true);
        }
        "KBF.DELETE" => {
            options(random, &mut words);
            items(random, &mut words, false);
        }
        "KBF.QUERY" => items(random, &mut words, false),
        "KBF.JOIN" => words.extend([b"VALUE".to_vec(), random_bytes(random, 200)]),
        _ => {}
    }
    if random.chance(0.2) {
        mangle(random, &mut words);
    }
    words
}

/// Changes some words of a command: any but its name.
fn mangle(random: &mut Random, words: &mut Vec<Vec<u8>>) {
    for _ in 0..1 + random.below(3) {
        let at = 1 + random.below(words.len() as u64) as usize;
        match random.below(4) {
            0 if at < words.len() => drop(words.remove(at)),
            1 => words.insert(at, pick(random, &WORDS).into()),
            2 => words.insert(at, pick(random, &NUMBERS).into()),
            _ => words.insert(at, random_bytes(random, 30)),
        }
        words.truncate(100);
        if words.len() == 1 {
            return;
        }
    }
}

/// Slabs with right checksums over random contents, which no SETRANGE would make.
fn restore_forged(random: &mut Random, client: &mut Client) {
    let key = pick(random, &KEYS);
    let Reply::Bulk(mut bytes) = client.call(&["GET", key]) else { return };
    if bytes.len() < 1800 {
        return;
    }
    for _ in 0..1 + random.below(3) {
        let at = match random.below(4) {
            0 => 40 + random.below(54),
            1 => 118 + random.below(16),
            2 => 158 + random.below(1552),
            _ => 1734 + random.below(bytes.len() as u64 - 1766),
        };
        let at = at as usize % bytes.len();
        bytes[at] = random.next_u64() as u8;
    }
    for (header, len) in [(16, 54), (94, 16), (134, 1552)] {
        let crc = crc32c(&bytes[header + 24..header + 24 + len]).to_le_bytes();
        bytes[header + 16..header + 20].copy_from_slice(&crc);
        let crc = crc32c(&bytes[header..header + 20]).to_le_bytes();
        bytes[header + 20..header + 24].copy_from_slice(&crc);
    }
    client.call(&[b"SET", b"forged".as_slice(), &bytes]);
    let dump = client.say("DUMP forged").bulk();
    client.call(&[b"RESTORE", key.as_bytes(), b"0", &dump, b"REPLACE"]);
    client.call(&[b"KBF.JOIN", pick(random, &KEYS).as_bytes(), b"VALUE", &bytes]);
}

#[test]
fn random_commands_and_slabs_are_answered() {
    let calls = std::env::var("KBF_FUZZ_CALLS").map_or(CALLS, |calls| calls.parse().unwrap());
    for program in programs() {
        let server = Server::start(&program, "");
        let client = &mut server.client();
        let mut random = Random::new(17);
        let (mut made, mut errors) = (0, 0);
        while made < calls {
            let commands: Vec<Vec<Vec<u8>>> =
                (0..PIPELINED).map(|_| command(&mut random)).collect();
            let sent: Vec<u8> = commands.iter().flat_map(|words| encoded(words)).collect();
            for (reply, words) in client.pipeline(&sent, PIPELINED).into_iter().zip(&commands) {
                let Reply::Error(error) = reply else { continue };
                errors += 1;
                assert!(!error.contains("defect"), "{error}: {words:?}");
            }
            made += PIPELINED as u64;
            restore_forged(&mut random, client);
            if random.chance(0.3) {
                client.say("FLUSHALL");
            }
        }
        assert_eq!(client.say("PING"), Reply::Simple("PONG".to_owned()));
        assert!(!server.log().contains("panicked"), "{}", server.log());
        let share = errors as f64 / made as f64;
        assert!(
            (0.1..0.8).contains(&share),
            "{share} of {made} calls are refused: others matter too"
        );
        eprintln!("{}: {made} calls, {errors} refused", program.display());
    }
}
