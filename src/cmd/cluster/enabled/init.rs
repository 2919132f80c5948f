//! `acsm cluster init`: an empty store.

use std::hash::{BuildHasher as _, RandomState};
use std::process::ExitCode;

use clap::Args;

use super::access_args::AccessArgs;
use super::refused;
use super::status::Status;
use crate::cluster::description::{Description, Wanted};
use crate::cluster::error::ClusterError;
use crate::cluster::layout::SLOTS;
use crate::cluster::store::ClusterStore;
use crate::cmd::{Usage, output, stderr};
use crate::report::format::{bytes, grouped};
use crate::seed::Seed;
use crate::units::{parse_count, parse_share};
use acsm_filters::kv::KvError;

/// Slabs per server by default: enough for loads to be evened out by exchanges.
const SLABS_PER_SERVER: u32 = 8;

const EXAMPLES: &str = "\
Examples:
  acsm cluster init --cluster redis://127.0.0.1:7100 --pairs 10M --values 3000
  acsm cluster init --pairs 10M --values 3000 --fp-rate 1e-6 --prefix groups
  acsm cluster init --pairs 10M --values 3000 --slabs 120

The pairs are divided among slabs of at most 4 MiB, by a hash of their keys, and the slabs among
the servers. How many slabs there are is fixed from then on: take as many as ten times the
servers that you will ever have. Beyond --pairs slabs grow; --values is a limit.";

/// Create an empty store
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub struct InitArgs {
    #[command(flatten)]
    access: AccessArgs,

    /// Pairs to have room for (10M)
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pairs: u64,

    /// Different values to have room for
    #[arg(long, value_name = "V", value_parser = parse_count)]
    values: u64,

    /// Error rate that is accepted (0.001, 1e-6, 0.1%)
    #[arg(long, value_name = "P", value_parser = parse_share, default_value = "0.001")]
    fp_rate: f64,

    /// Slabs [default: 8 per server, or as many as 4 MiB each take]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=SLOTS as i64))]
    slabs: Option<u32>,

    /// Seed of the hash key: a number, or 32 hexadecimal digits [default: a random one]
    #[arg(long, value_name = "SEED")]
    seed: Option<Seed>,

    /// Print what `acsm cluster status --json` does
    #[arg(long)]
    json: bool,

    /// No messages
    #[arg(short, long)]
    quiet: bool,
}

/// Makes the store.
pub fn run(args: &InitArgs) -> anyhow::Result<ExitCode> {
    let router = args.access.connect()?;
    let random = || {
        let word = |n: u64| u128::from(RandomState::new().hash_one(n));
        Seed::Bits(word(0) << 64 | word(1))
    };
    let wanted = Wanted {
        pairs: args.pairs,
        values: usize::try_from(args.values).unwrap_or(usize::MAX),
        rate: args.fp_rate,
        hash_key: args.seed.unwrap_or_else(random).hash_key(),
        slabs: args.slabs,
        slabs_least: SLABS_PER_SERVER * router.topology().servers.len() as u32,
    };
    let description = Description::new(&wanted).map_err(|error| match error {
        KvError::TooLarge { bytes: needed, limit } if args.slabs.is_some() => {
            Usage::new(anyhow::anyhow!(
                "slabs would have {} each, and the most is {}: take more --slabs",
                bytes(needed as u64),
                bytes(limit)
            ))
        }
        error => Usage::new(ClusterError::from(error)),
    })?;
    let mut store =
        ClusterStore::create(router, args.access.prefix(), &description).map_err(refused)?;
    let status = Status::read(&mut store)?;
    if !args.quiet {
        stderr::message(format_args!(
            "made {} slabs of {} on {} servers, for {} pairs",
            grouped(status.slabs.into()),
            bytes(status.bytes / u64::from(status.slabs.max(1))),
            status.servers.len(),
            grouped(status.capacity),
        ));
    }
    match args.json {
        true => output::json_to_stdout(&status),
        false => Ok(ExitCode::SUCCESS),
    }
}
