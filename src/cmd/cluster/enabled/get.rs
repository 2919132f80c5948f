//! `acsm cluster get`: the values of keys, in the order of the keys.

use std::process::ExitCode;

use clap::Args;

use super::access_args::AccessArgs;
use super::refused;
use crate::cluster::store::{ClusterStore, Position};
use crate::cmd::pairs::answers::{self, AnswerKeys, EachAnswer};
use crate::cmd::pairs::keys::KeyArgs;
use acsm_filters::kv::Answer;

const EXAMPLES: &str = "\
Examples:
  acsm cluster get B00005N7P0
  acsm cluster get --json B00005N7P0 B000BO0GC6
  cut -f 3 sales.tsv | acsm cluster get - | cut -f 2 | sort | uniq -c

A line per key: the key, a tab, its value; nothing after the tab if the key is not in the
store, or if several values are possible, which --json lists. Exit code 3 if there was such a
key. Keys on standard input are looked up 4,096 at a time.";

/// Look up keys
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub struct GetArgs {
    #[command(flatten)]
    access: AccessArgs,

    #[command(flatten)]
    keys: KeyArgs,

    /// Print one JSON object per key
    #[arg(long)]
    json: bool,
}

/// Prints the answers.
pub fn run(args: &GetArgs) -> anyhow::Result<ExitCode> {
    let keys = args.keys.keys()?;
    answers::print(&mut args.access.open()?, keys, args.json)
}

impl AnswerKeys for ClusterStore {
    fn answer(&mut self, keys: &[Vec<u8>], each: EachAnswer<'_>) -> anyhow::Result<()> {
        self.refresh().map_err(refused)?;
        let positions: Vec<Position> = keys.iter().map(|key| self.position(key)).collect();
        let found = self.query(&positions).map_err(refused)?;
        let value = |code: u32| self.values().value(code).unwrap_or_default();
        for (at, found) in found.into_iter().enumerate() {
            let answer = match found.answer {
                Answer::Absent => Answer::Absent,
                Answer::Undecided => Answer::Undecided,
                Answer::Found(code) => Answer::Found(value(code)),
                Answer::OneOf(codes) => Answer::OneOf(codes.into_iter().map(value).collect()),
            };
            each(at, answer);
        }
        Ok(())
    }
}
