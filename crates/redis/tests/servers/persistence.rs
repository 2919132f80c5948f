//! Slabs are strings: they survive restarts, copies and moves unchanged.

use std::collections::HashMap;
use std::path::Path;

use super::client::{Client, Reply};
use super::server::{Server, programs, wait_until};
use super::slabs::{VALUES, assert_holds, bytes, packed_pairs, pairs};

fn ok() -> Reply {
    Reply::Simple("OK".to_owned())
}

/// A slab with items, written by every command.
fn fill(client: &mut Client, key: &str) -> HashMap<String, u32> {
    let create = format!("KBF.CREATE {key} VALUES {VALUES} CAPACITY 4000");
    assert_eq!(client.say(&create), ok());
    let mut map = pairs(0..1000, 1);
    let insert = |records: &[u8], sequence: &str| {
        let words: [&[u8]; 8] = [
            b"KBF.INSERT",
            key.as_bytes(),
            b"CLIENT",
            b"7",
            b"SEQ",
            sequence.as_bytes(),
            b"PACKED",
            records,
        ];
        words.map(<[u8]>::to_vec)
    };
    assert_eq!(client.call(&insert(&packed_pairs(&map), "1")).integer(), 1000);
    assert_eq!(client.call(&insert(&packed_pairs(&map), "1")), Reply::Null);
    assert_eq!(client.say(&format!("KBF.INSERT {key} ITEMS one 1 two 2")).integer(), 2);
    let updated = client.say(&format!("KBF.UPDATE {key} CLIENT 8 SEQ 1 ITEMS one 3 absent 4"));
    assert_eq!(updated, Reply::Array(vec![Reply::Integer(1), Reply::Integer(0)]));
    let deleted = client.say(&format!("KBF.DELETE {key} CLIENT 8 SEQ 2 ITEMS two absent"));
    assert_eq!(deleted, Reply::Array(vec![Reply::Integer(1), Reply::Integer(0)]));
    map.insert("one".to_owned(), 3);
    map
}

fn each_server(options: &str, test: impl Fn(Server, &Path)) {
    for program in programs() {
        test(Server::start(&program, options), &program);
    }
}

#[test]
fn an_append_only_file_has_every_write() {
    each_server("--appendonly yes --appendfsync always", |mut server, _| {
        let map = fill(&mut server.client(), "slab");
        assert_eq!(server.client().say("KBF.COMPRESS slab").integer() % 64, 1766 % 64);
        let before = bytes(&mut server.client(), "slab");
        server.restart();
        let client = &mut server.client();
        assert_eq!(bytes(client, "slab"), before);
        assert_holds(client, "slab", &map);
        assert_eq!(client.say("KBF.INFO slab CLIENT 8").integer(), 2);
        // Rewritten, it has the bytes instead of the commands.
        assert!(matches!(client.say("BGREWRITEAOF"), Reply::Simple(_)));
        let is_done = |client: &mut Client| {
            let info = client.say("INFO persistence").text();
            info.contains("aof_rewrite_in_progress:0") && info.contains("aof_rewrite_scheduled:0")
        };
        wait_until("the file is rewritten", || is_done(client));
        server.restart();
        assert_eq!(bytes(&mut server.client(), "slab"), before);
    });
}

#[test]
fn an_rdb_file_has_the_bytes() {
    each_server("--dbfilename slabs.rdb", |mut server, _| {
        let map = fill(&mut server.client(), "slab");
        let before = bytes(&mut server.client(), "slab");
        assert_eq!(server.client().say("SAVE"), ok());
        server.restart();
        let client = &mut server.client();
        assert_eq!(bytes(client, "slab"), before);
        assert_holds(client, "slab", &map);
        // A repeat of what was saved.
        let repeat = client.say("KBF.DELETE slab CLIENT 8 SEQ 2 ITEMS two absent");
        assert_eq!(repeat, Reply::Null);
    });
}

#[test]
fn dumps_copies_and_migrations_are_equal() {
    each_server("", |server, program| {
        let other = Server::start(program, "");
        let client = &mut server.client();
        let map = fill(client, "slab");
        let before = bytes(client, "slab");
        let dump = client.say("DUMP slab").bulk();
        let words: [&[u8]; 4] = [b"RESTORE", b"restored", b"0", &dump];
        assert_eq!(other.client().call(&words), ok());
        assert_eq!(client.say("COPY slab copied").integer(), 1);
        let migrate = format!("MIGRATE 127.0.0.1 {} copied 0 5000", other.port);
        assert_eq!(client.say(&migrate), ok());
        for key in ["restored", "copied"] {
            let client = &mut other.client();
            assert_eq!(bytes(client, key), before);
            assert_holds(client, key, &map);
            let written = client.say(&format!("KBF.INSERT {key} CLIENT 8 SEQ 3 ITEMS three 3"));
            assert_eq!(written.integer(), 1);
        }
        assert_eq!(client.say("GET copied"), Reply::Null);
    });
}

/// Two slabs joined have the items of both; RESP3 has maps and doubles.
#[test]
fn joined_slabs_and_replies_of_resp3() {
    each_server("", |server, _| {
        let client = &mut server.client();
        let mut all = HashMap::new();
        for (key, numbers) in [("a", 0..700), ("b", 700..1500)] {
            assert_eq!(client.say(&format!("KBF.CREATE {key} VALUES 3000 CAPACITY 4000")), ok());
            let map = pairs(numbers, 5);
            let records = packed_pairs(&map);
            let words: [&[u8]; 4] = [b"KBF.INSERT", key.as_bytes(), b"PACKED", &records];
            client.call(&words).integer();
            all.extend(map);
        }
        let other = bytes(client, "b");
        let words: [&[u8]; 8] =
            [b"KBF.JOIN", b"a", b"CLIENT", b"5", b"SEQ", b"1", b"VALUE", &other];
        assert_eq!(client.call(&words).integer(), 1500);
        assert_eq!(client.call(&words), Reply::Null);
        assert_holds(client, "a", &all);

        assert!(matches!(client.say("HELLO 3"), Reply::Map(_)));
        let Reply::Map(info) = client.say("KBF.INFO a") else { panic!("not a map") };
        let field = |name: &str| {
            let found = info.iter().find(|(key, _)| *key == Reply::Bulk(name.into()));
            found.unwrap_or_else(|| panic!("no {name}")).1.clone()
        };
        assert_eq!(field("items"), Reply::Integer(1500));
        assert_eq!(field("error"), Reply::Double("0.001".to_owned()));
        assert_eq!(field("clients"), Reply::Map(vec![(Reply::Integer(5), Reply::Integer(1))]));
        assert_eq!(client.say("KBF.QUERY a ITEMS x"), Reply::Array(vec![Reply::Null]));
        assert_eq!(client.call(&words), Reply::Null);
    });
}
