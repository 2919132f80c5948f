//! A client that slabs have forgotten, since many others have written to them.

use std::time::SystemTime;

use acsm::cluster::router::Request;

use crate::cluster::servers::Cluster;
use crate::cluster::shadow::{Shadow, open, pairs};

/// How many clients a slab remembers.
const CLIENTS: u64 = 64;

#[test]
fn no_batch_of_a_forgotten_client_is_applied_twice() {
    let Some(cluster) = Cluster::start(1, false) else { return };
    cluster.done("init -q --pairs 10000 --values 300 --slabs 2 --fp-rate 1e-9", "");
    let mut shadow = Shadow::new(&cluster);
    let mut writer = open(&cluster);
    let mut write = |shadow: &mut Shadow, range: std::ops::Range<u32>| {
        let batch: Vec<(String, String)> = pairs(range).collect();
        let codes = writer.codes(batch.iter().map(|(_, value)| value.as_bytes())).unwrap();
        let positions = batch.iter().map(|(key, _)| writer.position(key.as_bytes()));
        writer.insert(&positions.zip(codes).collect::<Vec<_>>()).unwrap();
        batch.iter().for_each(|(key, value)| shadow.insert(key, value));
    };
    write(&mut shadow, 0..1000);
    // Others delete a key that is absent, each with a newer id.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let others: Vec<u64> = (1..=CLIENTS).map(|n| ((now.as_micros() as u64) << 10) + n).collect();
    let ids: Vec<_> = shadow.store.description().all_filters().collect();
    for (id, client) in ids.iter().flat_map(|id| others.iter().map(move |client| (*id, client))) {
        let mut delete = redis::cmd("KBF.DELETE");
        delete.arg(shadow.store.layout().slab_key(id)).arg("CLIENT").arg(client);
        delete.arg("SEQ").arg(1).arg("ITEMS").arg("a key that is absent");
        let request = Request::new(shadow.store.layout().slot(id.slab), &delete);
        shadow.store.router.run_one(request).unwrap().unwrap();
    }
    write(&mut shadow, 1000..1001);
    // One slab has the new batch, under a new id; what was written to the other is unknown.
    assert_eq!(writer.finish().unwrap(), 2);
    shadow.assert_equal_cells();
}
