//! The commands of `acsm cluster`.
//!
//! | file | subject |
//! |---|---|
//! | `access_args` | the cluster, the store in it, password and TLS |
//! | `init`, `load` | an empty store; pairs into it |
//! | `get`, `write` | `get`; `set` and `delete` |
//! | `status`, `balance` | what servers hold; slabs exchanged between them |

mod access_args;
mod balance;
mod get;
mod init;
mod load;
mod status;
mod write;

use std::process::ExitCode;

use anyhow::anyhow;
use clap::{Args, Subcommand};

use crate::cluster::error::ClusterError;
use acsm_filters::kv::KvError;

const EXAMPLES: &str = "\
Examples:
  export ACSM_CLUSTER=redis://127.0.0.1:7100            one server of the cluster
  acsm cluster init --pairs 10M --values 3000           an empty store
  acsm cluster load products.tsv                        a key, a tab and a value per line
  acsm cluster get B00005N7P0
  acsm cluster set B00005N7P0 Magazines
  acsm cluster status                                   what each server holds
  acsm cluster balance --dry-run                        which slabs would be exchanged

The servers need the module of crates/redis; `scripts/cluster-up` starts a cluster on this
machine that has it. As with `acsm kv`, keys are not stored, and answers have a small error rate.
docs/cluster.md has the guarantees and the limits.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a key was not found.";

/// Key-value filters in a Redis or Valkey Cluster
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ClusterArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::InitArgs),
    Load(load::LoadArgs),
    Get(get::GetArgs),
    Set(write::SetArgs),
    Delete(write::DeleteArgs),
    Status(status::StatusArgs),
    Balance(balance::BalanceArgs),
}

/// Runs `acsm cluster …`.
pub fn run(args: &ClusterArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Init(args) => init::run(args),
        Command::Load(args) => load::run(args),
        Command::Get(args) => get::run(args),
        Command::Set(args) => write::run_set(args),
        Command::Delete(args) => write::run_delete(args),
        Command::Status(args) => status::run(args),
        Command::Balance(args) => balance::run(args),
    }
}

/// What the cluster refuses, with what to do about it.
fn refused(error: ClusterError) -> anyhow::Error {
    let advice = match &error {
        ClusterError::NoModule => {
            "; build it with `cargo build --release -p acsm-redis` and start the servers with \
             --loadmodule"
        }
        ClusterError::NoStore { .. } => "; `acsm cluster init` makes one, --prefix names another",
        ClusterError::Exists { .. } => "; choose another --prefix",
        ClusterError::NoCluster { .. } => "; start it with cluster-enabled yes, and give it slots",
        ClusterError::Refused { error, .. } if error.code() == "NOAUTH" => {
            " Give --password-file, or set ACSM_CLUSTER_PASSWORD"
        }
        ClusterError::Kv(KvError::ValuesInUse { .. }) => {
            "; make another store with a larger --values"
        }
        ClusterError::NotMoved { .. } => "; `redis-cli --cluster fix` mends what is half done",
        _ => "",
    };
    match advice {
        "" => error.into(),
        advice => anyhow!("{:#}{advice}", anyhow::Error::from(error)),
    }
}

/// Waits for replicas, and tells if some are behind.
fn finish(store: &mut crate::cluster::store::ClusterStore) -> anyhow::Result<()> {
    let unconfirmed = store.finish().map_err(refused)?;
    if unconfirmed > 0 {
        crate::cmd::stderr::message(format_args!(
            "acsm: warning: no replica has confirmed {unconfirmed} batches; they would be lost if \
             their primary failed now"
        ));
    }
    Ok(())
}
