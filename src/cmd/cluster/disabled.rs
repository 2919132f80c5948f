//! `acsm cluster` in a program that was built without it: says how to build one with it.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;

/// Key-value filters in a Redis or Valkey Cluster (not in this build)
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct ClusterArgs {
    /// Whatever is given
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    words: Vec<OsString>,
}

/// Says how to build it.
pub fn run(_args: &ClusterArgs) -> anyhow::Result<ExitCode> {
    bail!(
        "this acsm was built without `cluster`: \
         build it with `cargo build --release --features cluster`"
    )
}
