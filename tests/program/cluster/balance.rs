//! Balancing on real servers.

use crate::cluster::servers::{Cluster, Server, wait_until};
use crate::cluster::shadow::{Shadow, open, pairs, tsv};

#[test]
fn slabs_are_exchanged_until_servers_have_the_same_load() {
    let Some(cluster) = Cluster::start(3, false) else { return };
    cluster.done("init -q --pairs 20000 --values 300 --slabs 24", "");
    let mut shadow = Shadow::new(&cluster);
    // Only some slabs of each server have pairs: those whose number is a multiple of 1, 2 or 4.
    let uneven = |number: &u32| {
        let slab = shadow.store.position(format!("key {number}").as_bytes()).slab;
        slab.is_multiple_of(1 << (slab / 8))
    };
    let numbers: Vec<u32> = (0..12_000).filter(uneven).collect();
    let lines: String = numbers.iter().map(|number| tsv(*number..number + 1)).collect();
    let path = cluster.write("pairs.tsv", &lines);
    cluster.done(&format!("load -q {path}"), "");
    for pair in numbers.iter().flat_map(|number| pairs(*number..number + 1)) {
        shadow.insert(&pair.0, &pair.1);
    }
    let before = cluster.json("status --json")["imbalance"].as_f64().unwrap();
    assert!(before > 0.3, "{before}");

    let planned = cluster.json("balance --dry-run --json");
    assert_eq!(planned["done"], false);
    assert_eq!(cluster.json("status --json")["imbalance"].as_f64(), Some(before));
    let done = cluster.json("balance --json -q");
    assert_eq!(done["exchanges"], planned["exchanges"]);
    assert!((1..=3).contains(&done["exchanges"].as_array().unwrap().len()), "{done}");
    let status = cluster.json("status --json");
    let after = status["imbalance"].as_f64().unwrap();
    let promised = done["imbalance"].as_array().unwrap().last().unwrap().as_f64().unwrap();
    assert!((after - promised).abs() < 1e-9, "{after} {promised}");
    assert!(after < 0.2 * before, "{before} {after}");
    for server in status["servers"].as_array().unwrap() {
        assert_eq!(server["slabs"], 8);
    }
    shadow.assert_equal_cells();

    // By queries, from a list of keys: all for slabs of one server.
    let asked: String = numbers.iter().map(|number| format!("key {number}\n")).collect();
    let keys = cluster.write("keys", &asked);
    let by_queries = cluster.json(&format!("balance --by queries --keys {keys} --dry-run --json"));
    assert_eq!(by_queries["by"], "queries");
    assert!((by_queries["imbalance_before"].as_f64().unwrap() - after).abs() < 1e-9);

    // A server that is drained has no slabs, and everything is still there.
    let drained = cluster.servers[1].address();
    cluster.done(&format!("balance -q --exchanges 0 --drain {drained}"), "");
    let status = cluster.json("status --json");
    let slabs = |server: &serde_json::Value| server["slabs"].as_u64().unwrap();
    let servers = status["servers"].as_array().unwrap();
    assert_eq!(servers.iter().map(slabs).max(), Some(12));
    let of_drained = servers.iter().find(|server| server["address"] == drained.as_str()).unwrap();
    assert_eq!(slabs(of_drained), 0);
    shadow.assert_equal_cells();
    // A further run gives it slabs again, as to a server that was added.
    cluster.done("balance -q", "");
    let status = cluster.json("status --json");
    assert!(status["servers"].as_array().unwrap().iter().all(|server| slabs(server) == 8));
    shadow.assert_equal_cells();
}

#[test]
fn a_server_that_is_added_gets_slabs_and_is_removed_again() {
    let Some(mut cluster) = Cluster::start_with_spare(2) else { return };
    cluster.done("init -q --pairs 20000 --values 300 --slabs 12", "");
    let mut shadow = Shadow::new(&cluster);
    // A client that stays connected through all of it.
    let mut writer = open(&cluster);
    let mut number = 0;
    let mut write = |shadow: &mut Shadow| {
        let batch: Vec<(String, String)> = pairs(number..number + 3000).collect();
        number += 3000;
        let codes = writer.codes(batch.iter().map(|(_, value)| value.as_bytes())).unwrap();
        let positions = batch.iter().map(|(key, _)| writer.position(key.as_bytes()));
        writer.insert(&positions.zip(codes).collect::<Vec<_>>()).unwrap();
        batch.iter().for_each(|(key, value)| shadow.insert(key, value));
        writer.finish().unwrap();
        shadow.assert_equal_cells();
    };
    let slabs = |cluster: &Cluster| -> Vec<u64> {
        let status = cluster.json("status --json");
        let of = |server: &Server| {
            let servers = status["servers"].as_array().unwrap();
            let found = servers.iter().find(|found| found["address"] == server.address().as_str());
            found.map_or(0, |found| found["slabs"].as_u64().unwrap())
        };
        cluster.servers.iter().map(of).collect()
    };
    write(&mut shadow);
    assert_eq!(slabs(&cluster), [6, 6, 0]);
    cluster.done("balance -q", "");
    assert_eq!(slabs(&cluster), [4, 4, 4]);
    write(&mut shadow);

    // It had only the slots of slabs, so that it can leave once they are gone. With the last one it becomes a
    // replica.
    let spare = cluster.servers[2].address();
    cluster.done(&format!("balance -q --exchanges 0 --drain {spare}"), "");
    assert_eq!(slabs(&cluster), [6, 6, 0]);
    let id: String = cluster.servers[2].ask(redis::cmd("CLUSTER").arg("MYID"));
    drop(cluster.servers.pop());
    for server in &cluster.servers {
        let () = server.ask(redis::cmd("CLUSTER").arg("FORGET").arg(&id));
    }
    wait_until("the server is forgotten", || {
        let knows = |server: &Server| {
            server.ask::<String>(redis::cmd("CLUSTER").arg("NODES")).contains(&id)
        };
        !cluster.servers.iter().any(knows)
    });
    write(&mut shadow);
    assert_eq!(slabs(&cluster), [6, 6]);
}
