//! Values that are no slabs, arguments that cannot be, and counts beyond all limits: an error each.

use super::client::{Client, Reply};
use super::server::{Server, programs};

/// Each command on a key, with arguments that are right.
const COMMANDS: [&str; 7] = [
    "KBF.INSERT key ITEMS a 1",
    "KBF.QUERY key ITEMS a",
    "KBF.UPDATE key ITEMS a 1",
    "KBF.DELETE key ITEMS a",
    "KBF.COMPRESS key",
    "KBF.INFO key",
    "KBF.INFO key CLIENT 1",
];

fn error(client: &mut Client, command: &str) -> String {
    match client.say(command) {
        Reply::Error(error) => error,
        other => panic!("{command}: {other:?}"),
    }
}

#[test]
fn foreign_values_are_refused_and_left_alone() {
    for program in programs() {
        let server = Server::start(&program, "");
        let client = &mut server.client();
        for command in COMMANDS {
            assert_eq!(error(client, command), "ERR no such key");
        }
        for make in
            ["RPUSH key 1 2", "HSET key a 1", "SADD key a", "ZADD key 1 a", "XADD key 1-1 a b"]
        {
            client.say("DEL key");
            client.say(make);
            let before = client.say("DUMP key").bulk();
            for command in COMMANDS {
                assert!(error(client, command).starts_with("WRONGTYPE "), "{make}: {command}");
            }
            assert_eq!(
                error(client, "KBF.CREATE key VALUES 9 CAPACITY 9"),
                "ERR key already exists"
            );
            assert_eq!(client.say("DUMP key").bulk(), before);
        }
        for value in ["", "1", "123456789", "text", "\u{89}ACSM\r\n\u{1a}", &"x".repeat(5000)] {
            client.say("DEL key");
            client.call(&["SET", "key", value]);
            for command in COMMANDS {
                let error = error(client, command);
                assert!(
                    error.starts_with("KBFNOTSLAB the value of the key is not a slab: "),
                    "{error}"
                );
            }
            assert_eq!(client.say("GET key").bulk(), value.as_bytes());
        }
    }
}

#[test]
fn counts_beyond_the_limits_are_refused() {
    for program in programs() {
        let server = Server::start(&program, "");
        let client = &mut server.client();
        let most = i64::MAX;
        for create in [
            format!("KBF.CREATE key VALUES {most} CAPACITY 9"),
            "KBF.CREATE key VALUES 1048576 CAPACITY 9".to_owned(),
            format!("KBF.CREATE key VALUES 9 CAPACITY {most}"),
            format!("KBF.CREATE key VALUES 9 CELLS {most} HASHES 3"),
            format!("KBF.CREATE key VALUES 9 CELLS 9 HASHES {most}"),
            "KBF.CREATE key VALUES 9 CELLS 1048576 HASHES 3".to_owned(),
            "KBF.CREATE key VALUES 9 CAPACITY 9 ERROR inf".to_owned(),
            "KBF.CREATE key VALUES 9 CAPACITY 9 ERROR 1e-300".to_owned(),
        ] {
            assert!(error(client, &create).starts_with("ERR "), "{create}");
            assert_eq!(client.say("EXISTS key").integer(), 0);
        }
        client.say("KBF.CREATE key VALUES 9 CAPACITY 9");
        let before = client.say("GET key");
        let many = "x ".repeat(65_537);
        for command in ["KBF.QUERY key ITEMS ", "KBF.DELETE key ITEMS "] {
            let error = error(client, &format!("{command}{}", many.trim_end()));
            assert_eq!(error, "ERR 65537 items; a call has at most 65536");
        }
        for command in ["KBF.INSERT", "KBF.UPDATE"] {
            let records = vec![0; 20 * 65_537];
            let words: [&[u8]; 4] = [command.as_bytes(), b"key", b"PACKED", &records];
            let error = client.call(&words).error();
            assert_eq!(error, "ERR 65537 items; a call has at most 65536");
        }
        assert_eq!(client.say("GET key"), before);
        // As many as are allowed.
        let records = vec![7; 16 * 65_536];
        let words: [&[u8]; 4] = [b"KBF.QUERY", b"key", b"PACKED", &records];
        assert_eq!(client.call(&words).array()[0].clone().bulk().len(), 4 * 65_536);
    }
}

/// 64 clients are remembered, and one that was evicted cannot write again.
#[test]
fn clients_beyond_the_table_evict_the_longest_idle() {
    for program in programs() {
        let server = Server::start(&program, "");
        let client = &mut server.client();
        client.say("KBF.CREATE key VALUES 9 CAPACITY 1000");
        let insert = |client: &mut Client, id: u32, sequence: u32| {
            client
                .say(&format!("KBF.INSERT key CLIENT {id} SEQ {sequence} ITEMS {id}:{sequence} 1"))
        };
        (1..=64).for_each(|id| assert_eq!(insert(client, id, 1).integer(), 1));
        assert_eq!(insert(client, 1, 2).integer(), 1);
        assert_eq!(insert(client, 65, 1).integer(), 1);
        let evicted = insert(client, 2, 2).error();
        assert_eq!(
            evicted,
            "KBFEVICTED 2 is the highest id that was evicted; client 2 is unknown, and not above it"
        );
        assert_eq!(insert(client, 1, 2), Reply::Null);
        assert_eq!(client.say("KBF.INFO key CLIENT 65").integer(), 1);
        assert_eq!(client.say("KBF.INFO key CLIENT 2").integer(), 0);
    }
}
