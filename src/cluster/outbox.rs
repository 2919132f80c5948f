//! Writes to slabs, each with a client and a sequence, kept until a replica has them.
//!
//! A batch that is written twice would undo itself, and replication is asynchronous: after a failover the new
//! primary may lack batches that the old one had acknowledged. So the slab itself keeps the last sequence of
//! each client. A repeat is ignored; at a gap the server names the first batch that is missing, and all from
//! there on are sent again.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use redis::{Connection, ServerError, Value};

use super::access::Access;
use super::error::ClusterError;
use super::layout::{Layout, SlabId};
use super::router::{Reply, Request, Router};
use super::topology::{Address, Topology};

/// Bytes of batches after which replicas are asked what they have.
const ASK_BYTES: usize = 4 << 20;
/// The most bytes of batches that are kept: beyond, the client waits for replicas.
const KEPT_BYTES: usize = 256 << 20;
/// How long a replica may take to answer. One that does not is left alone as long.
const REPLICA_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the client waits for replicas.
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(20);
/// The time between questions.
const PAUSE: Duration = Duration::from_millis(20);
/// How often a batch is sent again before the client gives up.
const ATTEMPTS: usize = 20;

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Records of digest and value.
    Insert,
    /// Records of digest and new value.
    Update {
        /// Values in use.
        below: u32,
    },
    /// Records of digests.
    Delete {
        /// Values in use.
        below: u32,
    },
}

/// A batch for one slab.
#[derive(Debug, Clone)]
pub struct Batch {
    /// What is done with the records.
    pub operation: Operation,
    /// As `PACKED` has them.
    pub records: Vec<u8>,
}

/// The batches of one slab.
struct Lane {
    /// The id of this client, which can differ from slab to slab.
    client: u64,
    /// The sequence of the next batch.
    next: u64,
    /// Those that no replica has confirmed, in their order, the last with the sequence before `next`.
    kept: VecDeque<Batch>,
    /// How many before them were dropped for lack of room, and no replica has confirmed them.
    dropped: usize,
}

/// All batches that are not confirmed.
pub struct Outbox {
    client: u64,
    lanes: BTreeMap<SlabId, Lane>,
    kept_bytes: usize,
    /// Bytes at which replicas are asked next.
    ask_at: usize,
    replicas: HashMap<Address, Replica>,
    /// Batches that were sent again after a gap.
    pub resent: u64,
    /// Acknowledged batches of clients that a slab has forgotten: no server can say whether it has them.
    unknown: usize,
}

/// A connection to a replica, or when it may be tried again.
enum Replica {
    Open(Box<Connection>),
    Silent(Instant),
}

impl Lane {
    fn first(&self) -> u64 {
        self.next - self.kept.len() as u64
    }

    /// How many batches no replica has confirmed.
    fn unconfirmed(&self) -> usize {
        self.kept.len() + self.dropped
    }

    fn request(&self, layout: &Layout, id: SlabId, sequence: u64) -> Option<Request> {
        let batch = self.kept.get(sequence.checked_sub(self.first())? as usize)?;
        let (name, below) = match batch.operation {
            Operation::Insert => ("KBF.INSERT", None),
            Operation::Update { below } => ("KBF.UPDATE", Some(below)),
            Operation::Delete { below } => ("KBF.DELETE", Some(below)),
        };
        let mut command = redis::cmd(name);
        command.arg(layout.slab_key(id)).arg("CLIENT").arg(self.client).arg("SEQ").arg(sequence);
        if let Some(below) = below {
            command.arg("BELOW").arg(below);
        }
        command.arg("PACKED").arg(batch.records.as_slice());
        Some(Request::new(layout.slot(id.slab), &command))
    }
}

impl Default for Outbox {
    fn default() -> Outbox {
        Outbox {
            client: new_client(0),
            lanes: BTreeMap::new(),
            kept_bytes: 0,
            ask_at: ASK_BYTES,
            replicas: HashMap::new(),
            resent: 0,
            unknown: 0,
        }
    }
}

impl Outbox {
    /// Writes batches, one per slab at most. Returns the replies in their order; null for a batch
    /// that had been applied before.
    pub fn write(
        &mut self,
        router: &mut Router,
        layout: &Layout,
        batches: Vec<(SlabId, Batch)>,
    ) -> Result<Vec<Value>, ClusterError> {
        let mut requests = vec![];
        let mut ids = vec![];
        for (id, batch) in batches {
            self.kept_bytes += batch.records.len();
            let client = self.client;
            let new = || Lane { client, next: 1, kept: VecDeque::new(), dropped: 0 };
            let lane = self.lanes.entry(id).or_insert_with(new);
            lane.kept.push_back(batch);
            lane.next += 1;
            requests.extend(lane.request(layout, id, lane.next - 1));
            ids.push(id);
        }
        let replies = router.run(&requests)?;
        let mut values = vec![];
        for (id, reply) in ids.into_iter().zip(replies) {
            values.push(self.settled(router, layout, id, reply)?);
        }
        if self.kept_bytes >= self.ask_at {
            self.make_room(router, layout)?;
        }
        Ok(values)
    }

    /// The reply to the last batch of a slab, after what the server lacks was sent again.
    fn settled(
        &mut self,
        router: &mut Router,
        layout: &Layout,
        id: SlabId,
        mut reply: Reply,
    ) -> Result<Value, ClusterError> {
        for _ in 0..ATTEMPTS {
            let error = match reply {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let Some(lane) = self.lanes.get_mut(&id) else { break };
            match (error.code(), number_in(&error)) {
                ("KBFGAP", Some(from)) if from < lane.first() => {
                    let (key, to) = (layout.slab_key(id), lane.first() - 1);
                    return Err(ClusterError::Lost { key, from, to });
                }
                ("KBFGAP", Some(from)) => {
                    let again: Vec<Request> =
                        (from..lane.next).filter_map(|n| lane.request(layout, id, n)).collect();
                    self.resent += again.len() as u64;
                    let mut replies = router.run(&again)?;
                    // A further failover may have come between: the first error decides.
                    let at = replies.iter().position(Result::is_err).unwrap_or(again.len() - 1);
                    reply = replies.swap_remove(at);
                }
                ("KBFEVICTED", Some(evicted)) => {
                    // Only the last batch is known not to have been applied.
                    self.client = new_client(evicted);
                    lane.client = self.client;
                    let dropped = lane.kept.len() - 1;
                    let bytes = lane.kept.drain(..dropped).map(|batch| batch.records.len());
                    self.kept_bytes -= bytes.sum::<usize>();
                    self.unknown += dropped + std::mem::take(&mut lane.dropped);
                    lane.next = 2;
                    let again: Vec<Request> = lane.request(layout, id, 1).into_iter().collect();
                    reply = router.run(&again)?.swap_remove(0);
                }
                _ => {
                    // Nothing was written, and the sequence is not used.
                    lane.next -= 1;
                    let refused = lane.kept.pop_back();
                    self.kept_bytes -= refused.map_or(0, |batch| batch.records.len());
                    return Err(refusal(layout, id, error));
                }
            }
        }
        Err(ClusterError::reply(format!(
            "{}: batches are refused again and again",
            layout.slab_key(id)
        )))
    }

    /// Asks replicas what they have; waits for them while too much is kept.
    fn make_room(&mut self, router: &mut Router, layout: &Layout) -> Result<(), ClusterError> {
        let begin = Instant::now();
        self.complete_primaries(router, layout)?;
        self.confirm(router, layout);
        // Waiting is of no use where there is no replica.
        self.drop_beyond_bound(|id| !has_replica(router.topology(), layout, id));
        while self.kept_bytes > KEPT_BYTES && begin.elapsed() < CONFIRM_TIMEOUT {
            thread::sleep(PAUSE);
            self.confirm(router, layout);
        }
        // No replica that answers: what is kept stays within its bound.
        self.drop_beyond_bound(|_| true);
        self.ask_at = self.kept_bytes + ASK_BYTES;
        Ok(())
    }

    /// Drops the oldest batches of some slabs while too much is kept.
    fn drop_beyond_bound(&mut self, may_drop: impl Fn(SlabId) -> bool) {
        while self.kept_bytes > KEPT_BYTES {
            let open = self.lanes.iter_mut().filter(|(id, _)| may_drop(**id));
            let Some((_, lane)) = open.max_by_key(|(_, lane)| lane.kept.len()) else { break };
            let Some(batch) = lane.kept.pop_front() else { break };
            lane.dropped += 1;
            self.kept_bytes -= batch.records.len();
        }
    }

    /// Makes sure that the primaries have everything, and waits until replicas have it too, where there are
    /// any. Returns the number of batches that these have not confirmed, or that they were not asked about
    /// since the slab has forgotten the client.
    pub fn finish(&mut self, router: &mut Router, layout: &Layout) -> Result<usize, ClusterError> {
        let begin = Instant::now();
        loop {
            self.complete_primaries(router, layout)?;
            self.confirm(router, layout);
            let topology = router.topology();
            let open = self.lanes.iter().filter(|(id, _)| has_replica(topology, layout, **id));
            let left: usize = open.map(|(_, lane)| lane.unconfirmed()).sum();
            if left == 0 || begin.elapsed() > CONFIRM_TIMEOUT {
                return Ok(left + self.unknown);
            }
            thread::sleep(PAUSE);
        }
    }

    /// Asks the primaries for the last batch that each slab has, and sends again what it lacks.
    pub(super) fn complete_primaries(
        &mut self,
        router: &mut Router,
        layout: &Layout,
    ) -> Result<(), ClusterError> {
        let open = self.lanes.iter().filter(|(_, lane)| !lane.kept.is_empty());
        let open: Vec<SlabId> = open.map(|(id, _)| *id).collect();
        let requests: Vec<Request> =
            open.iter().filter_map(|id| self.last_known(layout, *id)).collect();
        let replies = router.run(&requests)?;
        for (id, reply) in open.into_iter().zip(replies) {
            let Some(lane) = self.lanes.get(&id) else { continue };
            let last = match reply {
                Ok(Value::Int(last)) => last as u64,
                Ok(_) => return Err(ClusterError::reply(layout.slab_key(id))),
                Err(error) => return Err(refusal(layout, id, error)),
            };
            let newest = lane.next - 1;
            if let (true, Some(request)) = (last < newest, lane.request(layout, id, newest)) {
                match router.run_one(request)? {
                    Err(error) if error.code() == "KBFEVICTED" => self.forget(id, &error),
                    reply => {
                        self.resent += u64::from(reply.is_ok());
                        self.settled(router, layout, id, reply)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Gives up the batches of a slab that has forgotten this client. All of them were acknowledged, so they
    /// are not sent under another id, which would apply them twice.
    fn forget(&mut self, id: SlabId, evicted: &ServerError) {
        self.client = new_client(number_in(evicted).unwrap_or(self.client));
        if let Some(lane) = self.lanes.remove(&id) {
            self.unknown += lane.unconfirmed();
            self.kept_bytes -= lane.kept.iter().map(|batch| batch.records.len()).sum::<usize>();
        }
    }

    fn last_known(&self, layout: &Layout, id: SlabId) -> Option<Request> {
        let client = self.lanes.get(&id)?.client;
        let mut command = redis::cmd("KBF.INFO");
        command.arg(layout.slab_key(id)).arg("CLIENT").arg(client);
        Some(Request::new(layout.slot(id.slab), &command))
    }

    /// Forgets batches that all replicas of their slab have, of those that answer.
    fn confirm(&mut self, router: &Router, layout: &Layout) {
        let topology = router.topology();
        let mut by_replica: BTreeMap<&Address, Vec<SlabId>> = BTreeMap::new();
        for (id, _) in self.lanes.iter().filter(|(_, lane)| lane.unconfirmed() > 0) {
            let Some(owner) = topology.owner(layout.slot(id.slab)) else { continue };
            for replica in &topology.servers[owner].replicas {
                by_replica.entry(replica).or_default().push(*id);
            }
        }
        let mut confirmed: BTreeMap<SlabId, u64> = BTreeMap::new();
        for (address, ids) in by_replica {
            let requests: Vec<Request> =
                ids.iter().filter_map(|id| self.last_known(layout, *id)).collect();
            let Some(lasts) = self.ask_replica(router.access(), address, &requests) else {
                continue;
            };
            for (id, last) in ids.into_iter().zip(lasts) {
                let least = confirmed.entry(id).or_insert(last);
                *least = last.min(*least);
            }
        }
        for (id, last) in confirmed {
            let Some(lane) = self.lanes.get_mut(&id) else { continue };
            if lane.first() <= last + 1 {
                lane.dropped = 0;
            }
            while lane.first() <= last {
                let Some(batch) = lane.kept.pop_front() else { break };
                self.kept_bytes -= batch.records.len();
            }
        }
    }

    /// The last sequences that a replica has, if it answers.
    fn ask_replica(
        &mut self,
        access: &Access,
        address: &Address,
        requests: &[Request],
    ) -> Option<Vec<u64>> {
        let mut connection = match self.replicas.remove(address) {
            Some(Replica::Open(connection)) => connection,
            Some(Replica::Silent(until)) if Instant::now() < until => {
                self.replicas.insert(address.clone(), Replica::Silent(until));
                return None;
            }
            _ => match access.open(address, REPLICA_TIMEOUT) {
                Ok(connection) => Box::new(connection),
                Err(_) => return self.silent(address),
            },
        };
        // A replica answers about its slots only if told to, each time a connection is new.
        let mut packed = redis::cmd("READONLY").get_packed_command();
        requests.iter().for_each(|request| packed.extend_from_slice(&request.packed));
        let mut lasts = vec![];
        let mut asked = connection.send_packed_command(&packed);
        for number in 0..=requests.len() {
            match asked.and_then(|()| connection.recv_response()) {
                Ok(Value::Int(last)) => lasts.push(last as u64),
                Ok(_) if number > 0 => lasts.push(0), // it does not have the slab yet
                Ok(_) => {}
                Err(_) => return self.silent(address),
            }
            asked = Ok(());
        }
        self.replicas.insert(address.clone(), Replica::Open(connection));
        Some(lasts)
    }

    fn silent<T>(&mut self, address: &Address) -> Option<T> {
        let until = Instant::now() + REPLICA_TIMEOUT;
        self.replicas.insert(address.clone(), Replica::Silent(until));
        None
    }
}

/// Whether the server of a slab has a replica.
fn has_replica(topology: &Topology, layout: &Layout, id: SlabId) -> bool {
    let owner = topology.owner(layout.slot(id.slab));
    owner.is_some_and(|owner| !topology.servers[owner].replicas.is_empty())
}

/// A client id: above `least`, and larger for each client that starts.
fn new_client(least: u64) -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    // Microseconds, and ten bits that differ between clients of the same one.
    let id = ((now.as_micros() as u64) << 10) | u64::from(std::process::id() % 1024);
    id.max(least + 1)
}

/// The number after the code of an error.
fn number_in(error: &ServerError) -> Option<u64> {
    error.details()?.split_whitespace().next()?.parse().ok()
}

/// An error about a slab.
pub(super) fn refusal(layout: &Layout, id: SlabId, error: ServerError) -> ClusterError {
    match error.details() {
        Some(details) if details.contains("unknown command") => ClusterError::NoModule,
        _ => ClusterError::Refused { what: layout.slab_key(id), error },
    }
}
