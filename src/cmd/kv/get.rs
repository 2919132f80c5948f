//! `acsm kv get`: the values of keys, in the order of the keys.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::store_file::load;
use crate::cmd::pairs::answers::{self, AnswerKeys, EachAnswer};
use crate::cmd::pairs::keys::KeyArgs;
use acsm_filters::kv::{KvStore, LoadedKv, Maplet};

const EXAMPLES: &str = "\
Examples:
  acsm kv get groups.kv B00005N7P0
  acsm kv get groups.kv --json B00005N7P0 B000BO0GC6
  cut -f 3 sales.tsv | acsm kv get groups.kv - | cut -f 2 | sort | uniq -c

A line per key: the key, a tab, its value; nothing after the tab if the key is not in the
store, or if several values are possible, which --json lists. Exit code 3 if there was such a
key. A key that was never put into the store may be found all the same, at the rate that
`acsm kv info` shows.";

/// Look up keys
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub struct GetArgs {
    /// The store
    file: PathBuf,

    #[command(flatten)]
    keys: KeyArgs,

    /// Print one JSON object per key
    #[arg(long)]
    json: bool,
}

/// Prints the answers.
pub fn run(args: &GetArgs) -> anyhow::Result<ExitCode> {
    let keys = args.keys.keys()?;
    match load(&args.file)? {
        LoadedKv::Kbf(mut store) => answers::print(&mut store, keys, args.json),
        LoadedKv::Fcf(mut store) => answers::print(&mut store, keys, args.json),
    }
}

impl<M: Maplet> AnswerKeys for KvStore<M> {
    fn answer(&mut self, keys: &[Vec<u8>], each: EachAnswer<'_>) -> anyhow::Result<()> {
        self.query_many(keys, each);
        Ok(())
    }
}
