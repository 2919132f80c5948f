//! How much each slab and each server has to do: pairs, or queries.

use redis::Value;

use super::error::ClusterError;
use super::store::ClusterStore;
use super::topology::Server;

/// The slabs of one server.
#[derive(Debug, Clone)]
pub struct ServerLoad {
    /// The server.
    pub server: Server,
    /// Its slabs, and the load of each.
    pub slabs: Vec<(u32, u64)>,
}

impl ServerLoad {
    /// The load of the server.
    pub fn total(&self) -> u64 {
        self.slabs.iter().map(|(_, load)| load).sum()
    }
}

/// The servers with the loads of their slabs, given by slab.
pub fn by_server(store: &ClusterStore, loads: &[u64]) -> Vec<ServerLoad> {
    let topology = store.router.topology();
    let empty = |server: &Server| ServerLoad { server: server.clone(), slabs: vec![] };
    let mut servers: Vec<ServerLoad> = topology.servers.iter().map(empty).collect();
    for (slab, load) in (0_u32..).zip(loads) {
        if let Some(owner) = topology.owner(store.layout().slot(slab)) {
            servers[owner].slabs.push((slab, *load));
        }
    }
    servers
}

/// Pairs of each slab.
pub fn items(store: &mut ClusterStore) -> Result<Vec<u64>, ClusterError> {
    let mut loads = vec![0; store.layout().slabs() as usize];
    for (id, info) in store.info()? {
        loads[id.slab as usize] += info.items;
    }
    Ok(loads)
}

/// The microseconds of processor time of each slab's slot, which the servers count since their start or
/// since they have the slot. None if the servers do not count by slot.
pub fn processor_time(store: &mut ClusterStore) -> Result<Option<Vec<u64>>, ClusterError> {
    let mut loads = vec![0; store.layout().slabs() as usize];
    for server in store.router.topology().servers.clone() {
        let mut command = redis::cmd("CLUSTER");
        command.arg("SLOT-STATS").arg("SLOTSRANGE").arg(0).arg(16_383);
        let slots: Vec<(u16, Value)> = match store.router.at(&server.address, &command) {
            Ok(slots) => slots,
            Err(ClusterError::Refused { error, .. })
                if error.details().is_some_and(|details| details.contains("nknown subcommand")) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        for (slot, stats) in slots {
            let stats: std::collections::HashMap<String, u64> =
                redis::from_redis_value(stats).unwrap_or_default();
            let Some(slab) = store.layout().slab_in(slot) else { continue };
            match stats.get("cpu-usec") {
                Some(micros) => loads[slab as usize] = *micros,
                None => return Ok(None), // not counted: cluster-slot-stats-enabled no
            }
        }
    }
    Ok(Some(loads))
}
