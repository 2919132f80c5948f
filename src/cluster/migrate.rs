//! Moving slots, and with them slabs, from server to server while clients go on.
//!
//! Valkey 9 moves a slot as a whole (`CLUSTER MIGRATESLOTS`): the source goes on until the target has
//! everything. Other servers move key by key: the slot is marked at both, `MIGRATE` carries the keys, and
//! clients are redirected to the target for those that it has already. A slab is one key, so it moves at
//! once; the source answers nothing else for about 50 ms per 4 MiB.

use std::thread;
use std::time::{Duration, Instant};

use super::error::ClusterError;
use super::router::Router;
use super::topology::{Server, Topology};

/// How long one slot may take.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The time between questions about a migration.
const PAUSE: Duration = Duration::from_millis(50);
/// How long servers may take to hear of each other's changes.
const AGREEMENT: Duration = Duration::from_secs(2);
/// How long the move of one key may take: less than the router waits for a reply.
const KEY_TIMEOUT: Duration = Duration::from_secs(4);

/// Moves a slot to the server with this number. Nothing happens if it has the slot.
pub fn move_slot(router: &mut Router, slot: u16, to: usize) -> Result<(), ClusterError> {
    let topology = router.topology();
    let target = topology.servers[to].clone();
    let Some(from) = topology.owner(slot) else {
        let why = "no server has it".to_owned();
        return Err(ClusterError::NotMoved { slot, to: target.address, why });
    };
    if from == to {
        return Ok(());
    }
    let source = topology.servers[from].clone();
    if !move_atomically(router, slot, &source, &target)? {
        let moved = move_keys(router, slot, &source, &target)
            .and_then(|()| agree(router, slot, &source, &target));
        moved.map_err(|error| not_moved(slot, &target, error))?;
    }
    router.refresh()
}

/// An error after which a slot may be at two servers in part.
fn not_moved(slot: u16, target: &Server, error: ClusterError) -> ClusterError {
    let why = match &error {
        ClusterError::NotMoved { .. } => return error,
        ClusterError::Connection { source, .. } => format!("{error}: {source}"),
        _ => error.to_string(),
    };
    ClusterError::NotMoved { slot, to: target.address.clone(), why }
}

/// Moves a slot as a whole. Returns whether the server can do that.
fn move_atomically(
    router: &mut Router,
    slot: u16,
    source: &Server,
    target: &Server,
) -> Result<bool, ClusterError> {
    let mut command = redis::cmd("CLUSTER");
    command.arg("MIGRATESLOTS").arg("SLOTSRANGE").arg(slot).arg(slot).arg("NODE").arg(&target.id);
    match router.at::<redis::Value>(&source.address, &command) {
        Ok(_) => {}
        Err(ClusterError::Refused { error, .. })
            if error.details().is_some_and(|details| details.contains("nknown subcommand")) =>
        {
            return Ok(false);
        }
        Err(error) => return Err(error),
    }
    let begin = Instant::now();
    loop {
        let mut nodes = redis::cmd("CLUSTER");
        let migrations = nodes.arg("GETSLOTMIGRATIONS");
        let jobs: Vec<redis::Value> = router.at(&source.address, migrations)?;
        let state = jobs.iter().find_map(|job| state_of(job, slot, &target.id));
        match state.as_deref() {
            Some("success") => return Ok(true),
            Some(state @ ("failed" | "cancelled" | "canceled")) => {
                let (to, why) = (target.address.clone(), format!("the migration is {state}"));
                return Err(ClusterError::NotMoved { slot, to, why });
            }
            _ if begin.elapsed() > TIMEOUT => {
                let to = target.address.clone();
                let why = format!("it takes longer than {} s", TIMEOUT.as_secs());
                return Err(ClusterError::NotMoved { slot, to, why });
            }
            _ => thread::sleep(PAUSE),
        }
    }
}

/// The state of a migration, if it is the newest of this slot to this server: the list begins with it.
fn state_of(job: &redis::Value, slot: u16, target: &str) -> Option<String> {
    let fields: std::collections::HashMap<String, redis::Value> =
        redis::from_redis_value(job.clone()).ok()?;
    let text = |name: &str| redis::from_redis_value::<String>(fields.get(name)?.clone()).ok();
    let ranges = text("slot_ranges")?;
    let is_it = ranges.split([' ', '-']).next()? == slot.to_string();
    (is_it && text("target_node")? == target).then(|| text("state")).flatten()
}

/// Moves the keys of a slot one after another, then the slot.
fn move_keys(
    router: &mut Router,
    slot: u16,
    source: &Server,
    target: &Server,
) -> Result<(), ClusterError> {
    set_slot(router, target, slot, &["IMPORTING", &source.id])?;
    set_slot(router, source, slot, &["MIGRATING", &target.id])?;
    loop {
        let mut command = redis::cmd("CLUSTER");
        command.arg("GETKEYSINSLOT").arg(slot).arg(1);
        let keys: Vec<Vec<u8>> = router.at(&source.address, &command)?;
        if keys.is_empty() {
            break;
        }
        let access = router.access().clone();
        let mut migrate = redis::cmd("MIGRATE");
        migrate.arg(&target.address.host).arg(target.address.port).arg("").arg(0);
        // A key may be at both after a move that took too long.
        migrate.arg(KEY_TIMEOUT.as_millis() as u64).arg("REPLACE");
        match (&access.user, &access.password) {
            (Some(user), Some(password)) => drop(migrate.arg("AUTH2").arg(user).arg(password)),
            (None, Some(password)) => drop(migrate.arg("AUTH").arg(password)),
            _ => {}
        }
        migrate.arg("KEYS").arg(&keys);
        router.at::<redis::Value>(&source.address, &migrate)?;
    }
    // The target takes the slot with an epoch above all that it knows, so it has to know all of them.
    await_same_epoch(router, source, target)?;
    // The target first: from then on somebody has the slot, whatever happens. Then all others, which
    // would hear of it anyhow.
    let mut servers = vec![target.clone(), source.clone()];
    let others = router.topology().servers.iter();
    servers.extend(others.filter(|s| s.id != source.id && s.id != target.id).cloned());
    for (number, server) in servers.iter().enumerate() {
        let told = match number {
            0 => set_slot(router, server, slot, &["NODE", &target.id]),
            _ => tell(router, server, slot, target),
        };
        // One of the others may have failed just now.
        if number < 2 {
            told?;
        }
    }
    Ok(())
}

/// The replies of the primaries to `CLUSTER word`. One that does not answer is left out, unless it is the
/// source or the target.
fn ask_primaries(
    router: &mut Router,
    source: &Server,
    target: &Server,
    word: &str,
) -> Result<Vec<(Server, String)>, ClusterError> {
    let mut replies = vec![];
    for server in router.topology().servers.clone() {
        match router.at(&server.address, redis::cmd("CLUSTER").arg(word)) {
            Ok(text) => replies.push((server, text)),
            Err(error) if [&source.id, &target.id].contains(&&server.id) => return Err(error),
            Err(_) => {}
        }
    }
    Ok(replies)
}

/// Waits until all primaries have heard of the same epoch, for a while.
fn await_same_epoch(
    router: &mut Router,
    source: &Server,
    target: &Server,
) -> Result<(), ClusterError> {
    let begin = Instant::now();
    while begin.elapsed() < AGREEMENT {
        let mut epochs = vec![];
        for (_, info) in ask_primaries(router, source, target, "INFO")? {
            let epoch = info.lines().find_map(|line| line.strip_prefix("cluster_current_epoch:"));
            epochs.push(epoch.map(str::to_owned));
        }
        epochs.dedup();
        if epochs.len() <= 1 {
            break;
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// Waits until all primaries that answer say that the target has the slot. A message of the source from before the
/// move can take it away again: then the target takes it once more, with a higher epoch.
fn agree(
    router: &mut Router,
    slot: u16,
    source: &Server,
    target: &Server,
) -> Result<(), ClusterError> {
    let begin = Instant::now();
    let mut told = begin;
    loop {
        let mut others = vec![];
        for (server, nodes) in ask_primaries(router, source, target, "NODES")? {
            let view = Topology::parse(&nodes, &server.address).unwrap_or_default();
            let owner = view.owner(slot).map(|owner| view.servers[owner].id.clone());
            if owner.as_deref() != Some(&target.id) {
                others.push(server);
            }
        }
        if others.is_empty() {
            return Ok(());
        }
        if begin.elapsed() > TIMEOUT {
            let (to, why) =
                (target.address.clone(), "servers disagree about who has it".to_owned());
            return Err(ClusterError::NotMoved { slot, to, why });
        }
        if told.elapsed() > AGREEMENT {
            told = Instant::now();
            if others.iter().any(|server| server.id == target.id) {
                set_slot(router, target, slot, &["IMPORTING", &source.id])?;
                set_slot(router, target, slot, &["NODE", &target.id])?;
            }
            for server in others.iter().filter(|server| server.id != target.id) {
                let told = tell(router, server, slot, target);
                if server.id == source.id {
                    told?;
                }
            }
        }
        thread::sleep(PAUSE);
    }
}

/// Tells a server that the target has a slot. One that gave away its last slot, and has heard so from the target,
/// is the target's replica by now (`cluster-allow-replica-migration`), and is told nothing about slots.
fn tell(
    router: &mut Router,
    server: &Server,
    slot: u16,
    target: &Server,
) -> Result<(), ClusterError> {
    match set_slot(router, server, slot, &["NODE", &target.id]) {
        Err(ClusterError::Refused { error, .. })
            if error.details().is_some_and(|details| details.contains("only with masters")) =>
        {
            Ok(())
        }
        told => told,
    }
}

fn set_slot(
    router: &mut Router,
    server: &Server,
    slot: u16,
    words: &[&str],
) -> Result<(), ClusterError> {
    let mut command = redis::cmd("CLUSTER");
    command.arg("SETSLOT").arg(slot).arg(words);
    router.at::<redis::Value>(&server.address, &command).map(drop)
}
