//! A primary that is killed while its replica is far behind.

use std::time::{Duration, Instant};

use acsm::cluster::store::{ClusterStore, Position};
use acsm_filters::kv::{Answer, Write};

use crate::cluster::servers::Cluster;
use crate::cluster::shadow::{Shadow, open, pairs};

/// Bytes by which the replica is behind.
const BEHIND: u64 = 10 << 20;

/// A client, and what it has written.
struct Writer {
    store: ClusterStore,
    shadow: Shadow,
    /// Pairs so far.
    number: u32,
}

impl Writer {
    /// Makes a store in a cluster with a short timeout.
    fn new(cluster: &Cluster) -> Writer {
        for server in &cluster.servers {
            let mut timeout = redis::cmd("CONFIG");
            let () = server.ask(timeout.arg("SET").arg("cluster-node-timeout").arg(2000));
        }
        cluster.done("init -q --pairs 3M --values 300 --slabs 24 --fp-rate 0.01", "");
        Writer { store: open(cluster), shadow: Shadow::new(cluster), number: 0 }
    }

    /// Inserts further pairs.
    fn write(&mut self, count: u32) {
        let batch: Vec<(String, String)> = pairs(self.number..self.number + count).collect();
        let codes = self.store.codes(batch.iter().map(|(_, value)| value.as_bytes())).unwrap();
        let positions = batch.iter().map(|(key, _)| self.store.position(key.as_bytes()));
        let pairs: Vec<_> = positions.zip(codes).collect();
        self.store.insert(&pairs).unwrap();
        batch.iter().for_each(|(key, value)| self.shadow.insert(key, value));
        self.number += count;
    }

    /// Writes until the replica of the first primary is far behind, and kills the primary.
    fn lose_primary(&mut self, cluster: &Cluster) {
        self.write(20_000);
        // The replica sleeps: it has nothing of what follows.
        let (primary, replica) = (&cluster.servers[0], &cluster.servers[3]);
        replica.signal("STOP");
        let offset = || primary.info("master_repl_offset").parse::<u64>().unwrap();
        let begin = offset();
        while offset() - begin < BEHIND {
            self.write(20_000);
        }
        primary.signal("KILL");
        replica.signal("CONT");
    }
}

#[test]
fn no_batch_is_lost_when_a_primary_is_killed_far_ahead_of_its_replica() {
    let Some(cluster) = Cluster::start(3, true) else { return };
    let mut writer = Writer::new(&cluster);
    writer.lose_primary(&cluster);
    let killed = Instant::now();
    for _ in 0..5 {
        writer.write(1000);
    }
    let pause = killed.elapsed();
    assert!(pause < Duration::from_secs(10), "clients went on after {pause:?}");
    let resent = writer.store.resent();
    assert!(resent > 0, "nothing was sent again: the replica was not behind");
    println!(
        "{} pairs, {resent} batches sent again, {pause:?} until clients went on",
        writer.number
    );
    // The promoted replica has no replica itself.
    writer.store.finish().unwrap();
    writer.shadow.assert_equal_cells();
}

#[test]
fn keys_from_before_a_failover_are_found_changed_and_deleted_after_it() {
    let Some(cluster) = Cluster::start(3, true) else { return };
    let mut writer = Writer::new(&cluster);
    writer.lose_primary(&cluster);
    let Writer { mut store, mut shadow, number } = writer;
    let batch: Vec<(String, String)> = pairs(number - 4000..number).collect();
    let positions: Vec<Position> =
        batch.iter().map(|(key, _)| store.position(key.as_bytes())).collect();
    let found = store.query(&positions).unwrap();
    assert!(store.resent() > 0, "nothing was sent again: the replica was not behind");
    let new = "value 0";
    let code = store.codes(std::iter::once(new.as_bytes())).unwrap()[0];
    let (mut updates, mut updated, mut deletions, mut deleted) = (vec![], vec![], vec![], vec![]);
    for (number, ((pair, position), found)) in batch.iter().zip(positions).zip(found).enumerate() {
        match (found.answer, found.filter) {
            (Answer::Absent, _) => panic!("{} is absent", pair.0),
            (Answer::Found(_), Some(filter)) if number % 2 == 0 => {
                updates.push((position, filter, code));
                updated.push((pair, filter));
            }
            (Answer::Found(_), Some(filter)) => {
                deletions.push((position, filter));
                deleted.push((pair, filter));
            }
            _ => {} // several values
        }
    }
    assert!(updates.len() > 1000 && deletions.len() > 1000);
    for (((key, value), filter), change) in updated.iter().zip(store.update(&updates).unwrap()) {
        if change == Write::Done {
            shadow.update(key, *filter, value, new);
        }
    }
    for (((key, value), filter), change) in deleted.iter().zip(store.delete(&deletions).unwrap()) {
        if change == Write::Done {
            shadow.delete(key, *filter, value);
        }
    }
    store.finish().unwrap();
    shadow.assert_equal_cells();
}
