//! A replica has the same bytes after every way to write, and goes on when its primary is killed.

use std::collections::HashMap;
use std::path::Path;

use super::client::{Client, Reply};
use super::server::{Server, programs, wait_until};
use super::slabs::{assert_holds, bytes, packed_items, packed_pairs, pairs};

fn replica_of(primary: &Server, program: &Path) -> Server {
    let replica = Server::start(program, "");
    replica.client().say(&format!("REPLICAOF 127.0.0.1 {}", primary.port));
    wait_until("the replica is connected", || {
        replica.client().say("INFO replication").text().contains("link_status:up")
    });
    replica
}

/// A way to write: its name, and what it does with the slab and with a map that has the same pairs.
type Way = (&'static str, fn(&mut Client, &mut HashMap<String, u32>));

fn call(client: &mut Client, options: &str, form: &str, records: &[u8]) -> Reply {
    let mut words: Vec<&[u8]> = options.split(' ').map(str::as_bytes).collect();
    words.extend([form.as_bytes(), records]);
    client.call(&words)
}

const WAYS: [Way; 9] = [
    ("create", |client, _| {
        client.say("KBF.CREATE slab VALUES 3000 CAPACITY 4000 ERROR 0.0003");
        client.say("KBF.CREATE given VALUES 3000 CELLS 9600 HASHES 6");
    }),
    ("insert items", |client, map| {
        assert_eq!(client.say("KBF.INSERT slab ITEMS one 1 two 2").integer(), 2);
        map.extend([("one".to_owned(), 1), ("two".to_owned(), 2)]);
    }),
    ("insert records", |client, map| {
        let new = pairs(0..500, 3);
        let options = "KBF.INSERT slab CLIENT 9 SEQ 1";
        assert_eq!(call(client, options, "PACKED", &packed_pairs(&new)).integer(), 500);
        map.extend(new);
    }),
    ("update items", |client, map| {
        let reply = client.say("KBF.UPDATE slab CLIENT 9 SEQ 2 ITEMS one 11");
        assert_eq!(reply, Reply::Array(vec![Reply::Integer(1)]));
        map.insert("one".to_owned(), 11);
    }),
    ("update records", |client, map| {
        let new = HashMap::from([("item 3".to_owned(), 33), ("item 4".to_owned(), 44)]);
        let options = "KBF.UPDATE slab CLIENT 9 SEQ 3 BELOW 3000";
        assert_eq!(call(client, options, "PACKED", &packed_pairs(&new)).bulk(), [1, 1]);
        map.extend(new);
    }),
    ("delete items", |client, map| {
        let reply = client.say("KBF.DELETE slab CLIENT 9 SEQ 4 ITEMS two");
        assert_eq!(reply, Reply::Array(vec![Reply::Integer(1)]));
        map.remove("two");
    }),
    ("delete records", |client, map| {
        let gone = ["item 5".to_owned(), "item 6".to_owned()];
        let options = "KBF.DELETE slab CLIENT 9 SEQ 5";
        assert_eq!(call(client, options, "PACKED", &packed_items(&gone)).bulk(), [1, 1]);
        map.retain(|item, _| !gone.contains(item));
    }),
    ("join", |client, map| {
        client.say("KBF.CREATE other VALUES 3000 CAPACITY 4000 ERROR 0.0003");
        let new = pairs(2000..2100, 4);
        call(client, "KBF.INSERT other", "PACKED", &packed_pairs(&new)).integer();
        let other = bytes(client, "other");
        call(client, "KBF.JOIN slab CLIENT 9 SEQ 6", "VALUE", &other).integer();
        map.extend(new);
    }),
    ("compress", |client, _| {
        client.say("KBF.COMPRESS slab CLIENT 9 SEQ 7").integer();
    }),
];

#[test]
fn a_failover_after_every_way_to_write_loses_nothing() {
    for program in programs() {
        let mut primary = Server::start(&program, "");
        let mut replica = replica_of(&primary, &program);
        let mut map = HashMap::new();
        for (way, write) in WAYS {
            let client = &mut primary.client();
            write(client, &mut map);
            let before = bytes(client, "slab");
            assert!(client.say("WAIT 1 50000").integer() >= 1, "{way}");
            primary.kill();
            let client = &mut replica.client();
            client.say("REPLICAOF NO ONE");
            assert!(bytes(client, "slab") == before, "{way}: other bytes on the replica");
            if !map.is_empty() {
                assert_holds(client, "slab", &map);
            }
            let next = replica_of(&replica, &program);
            primary = std::mem::replace(&mut replica, next);
        }
        let client = &mut primary.client();
        assert_eq!(client.say("KBF.INFO slab CLIENT 9").integer(), 7);
        let gap = client.say("KBF.INSERT slab CLIENT 9 SEQ 9 ITEMS x 1").error();
        assert_eq!(gap, "KBFGAP 8 is the next batch of client 9, not 9");
    }
}

/// Batches that a replica did not get are sent again from the gap on: the result is that of all batches,
/// each applied once.
#[test]
fn a_client_that_sends_again_from_the_gap_loses_nothing() {
    for program in programs() {
        let mut primary = Server::start(&program, "");
        let replica = replica_of(&primary, &program);
        let create = "KBF.CREATE slab VALUES 3000 CAPACITY 4000";
        primary.client().say(create);
        let batches: Vec<HashMap<String, u32>> =
            (0..30u32).map(|n| pairs(n * 100..(n + 1) * 100, n.into())).collect();
        let send = |client: &mut Client, n: usize| {
            let options = format!("KBF.INSERT slab CLIENT 3 SEQ {}", n + 1);
            call(client, &options, "PACKED", &packed_pairs(&batches[n]))
        };
        let client = &mut primary.client();
        (0..10).for_each(|n| assert_eq!(send(client, n).integer(), 100));
        assert!(client.say("WAIT 1 50000").integer() >= 1);
        // From here on the replica gets nothing, and the primary acknowledges all the same.
        replica.client().say("REPLICAOF 127.0.0.1 1");
        (10..20).for_each(|n| assert_eq!(send(client, n).integer(), 100));
        primary.kill();

        let client = &mut replica.client();
        client.say("REPLICAOF NO ONE");
        let gap = send(client, 20).error();
        let next: usize = gap.split(' ').nth(1).unwrap().parse().unwrap();
        assert_eq!((gap.starts_with("KBFGAP "), next), (true, 11));
        // Two too early: repeats, which are ignored.
        assert!((next - 3..next - 1).all(|n| send(client, n) == Reply::Null));
        (next - 1..30).for_each(|n| assert_eq!(send(client, n).integer(), 100));

        let server = Server::start(&program, "");
        let shadow = &mut server.client();
        shadow.say(create);
        (0..30).for_each(|n| assert_eq!(send(shadow, n).integer(), 100));
        assert!(bytes(client, "slab") == bytes(shadow, "slab"));
        let all: HashMap<String, u32> = batches.into_iter().flatten().collect();
        assert_holds(client, "slab", &all);
    }
}
