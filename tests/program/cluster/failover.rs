//! A primary that is killed while its replica is far behind.

use std::time::{Duration, Instant};

use crate::cluster::servers::Cluster;
use crate::cluster::shadow::{Shadow, open, pairs};

/// Bytes by which the replica is behind.
const BEHIND: u64 = 10 << 20;

#[test]
fn no_batch_is_lost_when_a_primary_is_killed_far_ahead_of_its_replica() {
    let Some(cluster) = Cluster::start(3, true) else { return };
    for server in &cluster.servers {
        let mut timeout = redis::cmd("CONFIG");
        let () = server.ask(timeout.arg("SET").arg("cluster-node-timeout").arg(2000));
    }
    cluster.done("init -q --pairs 3M --values 300 --slabs 24 --fp-rate 0.01", "");
    let mut shadow = Shadow::new(&cluster);
    let mut writer = open(&cluster);
    let mut write = |shadow: &mut Shadow, range: std::ops::Range<u32>| {
        let batch: Vec<(String, String)> = pairs(range).collect();
        let codes = writer.codes(batch.iter().map(|(_, value)| value.as_bytes())).unwrap();
        let positions = batch.iter().map(|(key, _)| writer.position(key.as_bytes()));
        let pairs: Vec<_> = positions.zip(codes).collect();
        writer.insert(&pairs).unwrap();
        batch.iter().for_each(|(key, value)| shadow.insert(key, value));
    };
    write(&mut shadow, 0..20_000);
    // The replica of the first primary sleeps: it has nothing of what follows.
    let (primary, replica) = (&cluster.servers[0], &cluster.servers[3]);
    replica.signal("STOP");
    let offset = || primary.info("master_repl_offset").parse::<u64>().unwrap();
    let (begin, mut number) = (offset(), 20_000);
    while offset() - begin < BEHIND {
        write(&mut shadow, number..number + 20_000);
        number += 20_000;
    }
    primary.signal("KILL");
    replica.signal("CONT");
    let killed = Instant::now();
    for _ in 0..5 {
        write(&mut shadow, number..number + 1000);
        number += 1000;
    }
    let pause = killed.elapsed();
    assert!(pause < Duration::from_secs(10), "clients went on after {pause:?}");
    assert!(writer.resent() > 0, "nothing was sent again: the replica was not behind");
    println!(
        "{number} pairs, {} batches sent again, {pause:?} until clients went on",
        writer.resent()
    );
    // The promoted replica has no replica itself.
    writer.finish().unwrap();
    shadow.assert_equal_cells();
}
