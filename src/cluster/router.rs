//! Commands sent to the servers that have their slots, pipelined, with redirections followed.
//!
//! Each server has one connection. All commands of a call are sent, then all replies are read, so that
//! servers work at the same time. A command that was redirected, or whose connection broke, is sent again to
//! the server that has its slot then; commands for one slot keep their order. A command may therefore be
//! carried out twice: writes have a sequence for that (see [`outbox`](super::outbox)).

use std::collections::{BTreeMap, HashMap};
use std::thread;
use std::time::{Duration, Instant};

use redis::{Cmd, Connection, RedisError, ServerError, ServerErrorKind, Value};

use super::access::{Access, is_refusal};
use super::error::ClusterError;
use super::topology::{Address, Topology};

/// How long a reply may take: more than a server that is busy moving slabs takes for one.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);
/// How long commands are tried: longer than a failover with the usual settings takes.
const PATIENCE: Duration = Duration::from_secs(40);
/// How often commands are redirected before there is a pause: servers may disagree for a moment.
const REDIRECTIONS: usize = 4;
/// The time between attempts.
const PAUSE: Duration = Duration::from_millis(100);

/// A command for the server that has a slot.
#[derive(Debug, Clone)]
pub struct Request {
    /// The slot of its key.
    pub slot: u16,
    /// As it is sent.
    pub packed: Vec<u8>,
}

impl Request {
    /// The command with the key in its first argument.
    pub fn new(slot: u16, command: &Cmd) -> Request {
        Request { slot, packed: command.get_packed_command() }
    }
}

/// What a server answered.
pub type Reply = Result<Value, ServerError>;

/// Connections to the servers of a cluster.
pub struct Router {
    access: Access,
    topology: Topology,
    connections: HashMap<Address, Connection>,
    interruptions: u64,
}

/// What becomes of a command after an attempt.
enum Attempt {
    Done(Reply),
    /// To be sent again at once, as the slot has another server.
    Redirected,
    /// To be sent to a server that is importing the slot.
    Ask(Address),
    /// To be sent again later.
    Failed(String),
}

impl Router {
    /// Finds the servers of a cluster.
    pub fn connect(access: Access) -> Result<Router, ClusterError> {
        let topology = Topology::default();
        let connections = HashMap::new();
        let mut router = Router { access, topology, connections, interruptions: 0 };
        router.refresh()?;
        Ok(router)
    }

    /// The servers, as last heard.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// How often commands were redirected or a connection failed: without that no slot has another primary.
    pub fn interruptions(&self) -> u64 {
        self.interruptions
    }

    /// What the servers are reached with.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Asks the servers who has which slot; the first that knows decides.
    pub fn refresh(&mut self) -> Result<(), ClusterError> {
        let known = self.topology.servers.iter();
        let replicas = known.clone().flat_map(|server| server.replicas.clone());
        let mut addresses: Vec<Address> = known.map(|server| server.address.clone()).collect();
        addresses.extend(replicas);
        addresses.extend(self.access.seeds.iter().cloned());
        let mut failure = None;
        for address in addresses {
            let mut nodes = redis::cmd("CLUSTER");
            match self.at::<String>(&address, nodes.arg("NODES")) {
                Ok(text) => {
                    if let Some(topology) = Topology::parse(&text, &address) {
                        self.topology = topology;
                        return Ok(());
                    }
                    let why = "none of its servers has slots".to_owned();
                    failure = Some(ClusterError::NoCluster { address, why });
                }
                Err(ClusterError::Connection { address, source }) if is_refusal(&source) => {
                    return Err(ClusterError::Connection { address, source });
                }
                Err(ClusterError::Refused { what, error }) if error.code() == "NOAUTH" => {
                    return Err(ClusterError::Refused { what, error });
                }
                Err(ClusterError::Refused { error, .. }) => {
                    let why = error.details().unwrap_or(error.code()).to_owned();
                    failure = Some(ClusterError::NoCluster { address, why });
                }
                Err(error) => failure = Some(error),
            }
        }
        Err(failure.unwrap_or_else(|| ClusterError::reply("no address of a server is given")))
    }

    /// The reply of one server, whatever its slots.
    pub fn at<T: redis::FromRedisValue>(
        &mut self,
        address: &Address,
        command: &Cmd,
    ) -> Result<T, ClusterError> {
        let done = self.exchange(address, &command.get_packed_command());
        let value = done.map_err(|source| self.broken(address, source))?;
        let what = || {
            let words = command.args_iter().take(2).filter_map(|arg| match arg {
                redis::Arg::Simple(word) => Some(String::from_utf8_lossy(word).into_owned()),
                _ => None,
            });
            format!("{} at {address}", words.collect::<Vec<_>>().join(" "))
        };
        match value {
            Value::ServerError(error) => Err(ClusterError::Refused { what: what(), error }),
            value => redis::from_redis_value(value).map_err(|_| ClusterError::reply(what())),
        }
    }

    /// The reply to one command.
    pub fn run_one(&mut self, request: Request) -> Result<Reply, ClusterError> {
        let mut replies = self.run(&[request])?;
        replies.pop().ok_or_else(|| ClusterError::reply("a command"))
    }

    /// The replies to commands, in their order.
    pub fn run(&mut self, requests: &[Request]) -> Result<Vec<Reply>, ClusterError> {
        let begin = Instant::now();
        let mut replies: Vec<Option<Reply>> = requests.iter().map(|_| None).collect();
        let mut left: Vec<usize> = (0..requests.len()).collect();
        for round in 0.. {
            let mut why = None;
            for (at, attempt) in self.attempt(requests, &left) {
                match attempt {
                    Attempt::Done(reply) => replies[at] = Some(reply),
                    Attempt::Redirected | Attempt::Ask(_) => {}
                    Attempt::Failed(reason) => why = Some(reason),
                }
            }
            left.retain(|at| replies[*at].is_none());
            if left.is_empty() {
                return Ok(replies.into_iter().flatten().collect());
            }
            self.interruptions += 1;
            if begin.elapsed() > PATIENCE {
                let why = why.unwrap_or_else(|| "redirected again and again".to_owned());
                let (commands, after) = (left.len(), PATIENCE);
                return Err(ClusterError::Unavailable { commands, after, why });
            }
            if why.is_some() || round >= REDIRECTIONS {
                thread::sleep(PAUSE);
                match self.refresh() {
                    Err(ClusterError::Connection { address, source }) if is_refusal(&source) => {
                        return Err(ClusterError::Connection { address, source });
                    }
                    _ => {} // tried again until patience ends
                }
            }
        }
        Ok(replies.into_iter().flatten().collect())
    }

    /// Sends the commands with these numbers once.
    fn attempt(&mut self, requests: &[Request], left: &[usize]) -> Vec<(usize, Attempt)> {
        let mut by_server: BTreeMap<Address, Vec<usize>> = BTreeMap::new();
        let mut attempts = vec![];
        for &at in left {
            let slot = requests[at].slot;
            match self.topology.owner(slot) {
                Some(owner) => {
                    let address = &self.topology.servers[owner].address;
                    by_server.entry(address.clone()).or_default().push(at);
                }
                None => attempts.push((at, Attempt::Failed(format!("no server has slot {slot}")))),
            }
        }
        let mut sent = vec![];
        for (address, numbers) in by_server {
            let packed: Vec<u8> =
                numbers.iter().flat_map(|at| &requests[*at].packed).copied().collect();
            match self.send(&address, &packed) {
                Ok(()) => sent.push((address, numbers)),
                Err(error) => {
                    let why = self.broken(&address, error).to_string();
                    let failed = |at| (at, Attempt::Failed(why.clone()));
                    attempts.extend(numbers.into_iter().map(failed));
                }
            }
        }
        for (address, numbers) in sent {
            let received = self.receive(&address, numbers.len());
            for (at, value) in numbers.into_iter().zip(received) {
                let attempt = match value {
                    Ok(value) => self.judged(&requests[at], value),
                    Err(why) => Attempt::Failed(why),
                };
                attempts.push((at, attempt));
            }
        }
        // Now that every connection has been read to its end.
        for (at, attempt) in &mut attempts {
            if let Attempt::Ask(address) = attempt {
                *attempt = self.ask(&address.clone(), &requests[*at]);
            }
        }
        attempts
    }

    /// This number of replies of a server. If the connection breaks, the others are errors.
    fn receive(&mut self, address: &Address, count: usize) -> Vec<Result<Value, String>> {
        let mut values = vec![];
        let mut failure: Option<String> = None;
        for _ in 0..count {
            let received = match (&failure, self.connections.get_mut(address)) {
                (None, Some(connection)) => connection.recv_response(),
                _ => {
                    values.push(Err(failure.clone().unwrap_or_default()));
                    continue;
                }
            };
            values.push(received.map_err(|error| {
                let why = format!("{}: {error}", self.broken(address, error.clone()));
                failure = Some(why.clone());
                why
            }));
        }
        values
    }

    /// What a reply means: redirections are followed or noted.
    fn judged(&mut self, request: &Request, value: Value) -> Attempt {
        let error = match value {
            Value::ServerError(error) => error,
            value => return Attempt::Done(Ok(value)),
        };
        let why = || format!("{} {}", error.code(), error.details().unwrap_or_default());
        match error.kind() {
            Some(ServerErrorKind::Moved) => match target(&error) {
                Some(address) if self.topology.set_owner(request.slot, &address) => {
                    Attempt::Redirected
                }
                _ => Attempt::Failed(why()),
            },
            Some(ServerErrorKind::Ask) => match target(&error) {
                Some(address) => Attempt::Ask(address),
                None => Attempt::Failed(why()),
            },
            Some(
                ServerErrorKind::TryAgain
                | ServerErrorKind::ClusterDown
                | ServerErrorKind::BusyLoading
                | ServerErrorKind::MasterDown
                | ServerErrorKind::ReadOnly,
            ) => Attempt::Failed(why()),
            _ if error.code() == "NOREPLICAS" => Attempt::Failed(why()), // min-replicas-to-write
            _ => Attempt::Done(Err(error)),
        }
    }

    /// Sends one command to a server that is importing its slot.
    fn ask(&mut self, address: &Address, request: &Request) -> Attempt {
        let mut packed = redis::cmd("ASKING").get_packed_command();
        packed.extend_from_slice(&request.packed);
        if let Err(error) = self.send(address, &packed) {
            return Attempt::Failed(self.broken(address, error).to_string());
        }
        match self.receive(address, 2).pop() {
            Some(Ok(Value::ServerError(error))) if error.kind() == Some(ServerErrorKind::Moved) => {
                Attempt::Failed("a slot that is moving".to_owned())
            }
            Some(Ok(Value::ServerError(error)))
                if error.kind() == Some(ServerErrorKind::TryAgain) =>
            {
                Attempt::Failed("a slot that is moving".to_owned())
            }
            Some(Ok(Value::ServerError(error))) => Attempt::Done(Err(error)),
            Some(Ok(value)) => Attempt::Done(Ok(value)),
            Some(Err(why)) => Attempt::Failed(why),
            None => Attempt::Failed("no reply".to_owned()),
        }
    }

    fn exchange(&mut self, address: &Address, packed: &[u8]) -> Result<Value, RedisError> {
        self.send(address, packed)?;
        match self.connections.get_mut(address) {
            Some(connection) => connection.recv_response(),
            None => Ok(Value::Nil), // it was opened just now
        }
    }

    fn send(&mut self, address: &Address, packed: &[u8]) -> Result<(), RedisError> {
        if let Some(connection) = self.connections.get_mut(address) {
            return connection.send_packed_command(packed);
        }
        let mut connection = self.access.open(address, REPLY_TIMEOUT)?;
        connection.send_packed_command(packed)?;
        self.connections.insert(address.clone(), connection);
        Ok(())
    }

    /// Closes a connection that failed: replies that may still come are of no use.
    fn broken(&mut self, address: &Address, source: RedisError) -> ClusterError {
        self.connections.remove(address);
        self.interruptions += 1;
        ClusterError::Connection { address: address.clone(), source }
    }
}

/// The address in `MOVED slot host:port` and `ASK slot host:port`.
fn target(error: &ServerError) -> Option<Address> {
    Address::parse(error.details()?.split_whitespace().nth(1)?)
}
