//! `acsm kv`: approximate key-value stores in files.
//!
//! | file | subject |
//! |---|---|
//! | `create`, `fill` | `create`: the store by the options; all pairs into it |
//! | `get`, `write`, `combine`, `info` | `get`; `set` and `delete`; `join` and `compress`; `info` |
//! | `check` | errors measured, for `info --check` |
//! | `structure` | what is shown of a structure, and its errors as predicted |
//! | `store_file` | loading and saving |
//!
//! What it reads and prints is in [`pairs`](super::pairs).

mod check;
mod combine;
mod create;
mod fill;
mod get;
mod info;
pub(super) mod store_file;
pub(super) mod structure;
mod write;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::signals;

const EXAMPLES: &str = "\
Examples:
  acsm kv create -o groups.kv products.tsv     a key, a tab and a value per line
  acsm kv get groups.kv B00005N7P0
  acsm kv set groups.kv B00005N7P0 Magazines
  acsm kv info groups.kv --check products.tsv  what it takes, and how often it errs

A store keeps no keys: it takes 137 bits per pair (kbf) or 26 (fcf), at 3,000 different values
and an error rate of 0.001, however long keys are.
Right: millions of identifiers with a few thousand categories, where a rare mistake about an
identifier that is not in the store costs little.
Wrong: values that are mostly different, since each is stored in full; or mistakes that matter,
such as balances and permissions. docs/kv.md has more.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a key was not found.";

/// Approximate key-value stores (maplets): create, look up, change, join, compress
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct KvArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Create(Box<create::CreateArgs>),
    Get(get::GetArgs),
    Set(write::SetArgs),
    Delete(write::DeleteArgs),
    Join(combine::JoinArgs),
    Compress(combine::CompressArgs),
    Info(info::InfoArgs),
}

/// Runs `acsm kv …`.
pub fn run(args: &KvArgs) -> anyhow::Result<ExitCode> {
    signals::survive_file_size_limit()?;
    match &args.command {
        Command::Create(args) => create::run(args),
        Command::Get(args) => get::run(args),
        Command::Set(args) => write::run_set(args),
        Command::Delete(args) => write::run_delete(args),
        Command::Join(args) => combine::run_join(args),
        Command::Compress(args) => combine::run_compress(args),
        Command::Info(args) => info::run(args),
    }
}
