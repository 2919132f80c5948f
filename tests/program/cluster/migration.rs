//! Slabs that move while they are written.

use std::thread;

use acsm::cluster::access::Access;
use acsm::cluster::migrate::move_slot;
use acsm::cluster::router::Router;

use crate::cluster::servers::Cluster;
use crate::cluster::shadow::{Shadow, open, pairs};

#[test]
fn every_slab_moves_to_every_server_while_it_is_written() {
    let Some(cluster) = Cluster::start(3, true) else { return };
    cluster.done("init -q --pairs 60000 --values 300 --slabs 6", "");
    let mut shadow = Shadow::new(&cluster);
    let access = Access::from_url(&cluster.url()).unwrap();
    let slots: Vec<u16> = (0..6).map(|slab| shadow.store.layout().slot(slab)).collect();
    let mover = thread::spawn(move || {
        let mut router = Router::connect(access).unwrap();
        for round in 1..=3 {
            for slot in &slots {
                let to = (router.topology().owner(*slot).unwrap() + round % 2 + 1) % 3;
                move_slot(&mut router, *slot, to).unwrap();
                assert_eq!(router.topology().owner(*slot), Some(to));
            }
        }
    });
    let mut writer = open(&cluster);
    let mut number = 0;
    while !mover.is_finished() || number < 30_000 {
        let batch: Vec<(String, String)> = pairs(number..number + 500).collect();
        number += 500;
        let codes = writer.codes(batch.iter().map(|(_, value)| value.as_bytes())).unwrap();
        let positions = batch.iter().map(|(key, _)| writer.position(key.as_bytes()));
        let positions: Vec<_> = positions.collect();
        let found = writer.query(&positions).unwrap();
        assert_eq!(found.len(), batch.len());
        writer.insert(&positions.into_iter().zip(codes).collect::<Vec<_>>()).unwrap();
        batch.iter().for_each(|(key, value)| shadow.insert(key, value));
    }
    mover.join().unwrap();
    assert_eq!(writer.finish().unwrap(), 0);
    shadow.assert_equal_cells();
}
