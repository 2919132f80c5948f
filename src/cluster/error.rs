//! What can go wrong between a client and a cluster.

use std::time::Duration;

use redis::{RedisError, ServerError};
use thiserror::Error;

use super::topology::Address;
use acsm_filters::kv::KvError;

/// A command that could not be carried out.
#[derive(Debug, Error)]
pub enum ClusterError {
    /// A server that cannot be reached or does not accept the client.
    #[error("cannot talk to the server {address}")]
    Connection {
        /// Which.
        address: Address,
        /// Why.
        source: RedisError,
    },
    /// No server of the cluster accepted the commands for long.
    #[error("the cluster did not accept {commands} commands within {} s; the last reason: {why}", .after.as_secs())]
    Unavailable {
        /// How many are left.
        commands: usize,
        /// For how long it was tried.
        after: Duration,
        /// What the last attempt ended with.
        why: String,
    },
    /// A server that is not part of a cluster.
    #[error("{address} is not a server of a cluster: {why}")]
    NoCluster {
        /// Which.
        address: Address,
        /// What it says.
        why: String,
    },
    /// The module is not loaded.
    #[error("the servers do not know the KBF commands; the module is not loaded")]
    NoModule,
    /// There is no store with this prefix.
    #[error("there is no store with the prefix {prefix}")]
    NoStore {
        /// The prefix.
        prefix: String,
    },
    /// There is one already.
    #[error("there is a store with the prefix {prefix} already")]
    Exists {
        /// The prefix.
        prefix: String,
    },
    /// A server refused a command.
    #[error("{what}: {} {}", .error.code(), .error.details().unwrap_or_default())]
    Refused {
        /// What was to be done.
        what: String,
        /// The server's words.
        error: ServerError,
    },
    /// A reply, or a description of a store, that is not what it should be.
    #[error("{what}: an unexpected reply")]
    Reply {
        /// What was to be done.
        what: String,
    },
    /// Batches that a new primary does not have, and neither has the client.
    #[error(
        "{key} lacks the batches from {from} to {to}, which this client no longer has: another \
         replica had confirmed them, or they were more than a client keeps"
    )]
    Lost {
        /// The slab.
        key: String,
        /// The first batch that is missing.
        from: u64,
        /// The last.
        to: u64,
    },
    /// A slot that could not be moved.
    #[error("slot {slot} was not moved to {to}: {why}")]
    NotMoved {
        /// The slot.
        slot: u16,
        /// Where it should be.
        to: Address,
        /// What the servers say.
        why: String,
    },
    /// What the structure refuses.
    #[error(transparent)]
    Kv(#[from] KvError),
}

impl ClusterError {
    /// A reply that is not what it should be.
    pub(super) fn reply(what: impl Into<String>) -> ClusterError {
        ClusterError::Reply { what: what.into() }
    }
}
