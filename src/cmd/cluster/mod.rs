//! `acsm cluster`: key-value filters in a Redis or Valkey Cluster, with the feature `cluster`.

#[cfg(not(feature = "cluster"))]
mod disabled;
#[cfg(feature = "cluster")]
mod enabled;

use std::process::ExitCode;

#[cfg(not(feature = "cluster"))]
use disabled as commands;
#[cfg(feature = "cluster")]
use enabled as commands;

pub use commands::ClusterArgs;

/// Runs `acsm cluster …`, or says how to build it.
pub fn run(args: &ClusterArgs) -> anyhow::Result<ExitCode> {
    commands::run(args)
}
