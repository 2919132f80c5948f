//! The option `--seed` of the commands that read captures.

use clap::Args;

use super::run_args::RUN;
use crate::capture::FileSource;
use crate::seed::Seed;

/// The seed of a run.
#[derive(Debug, Args)]
pub struct SeedArgs {
    /// Seed of all randomness, which decides which flows have errors: 32 hexadecimal digits as a
    /// run shows them, or a number [default: derived from the first 64 KiB of the decoded input]
    #[arg(long, help_heading = RUN, value_name = "SEED")]
    seed: Option<Seed>,
}

impl SeedArgs {
    /// The seed that was asked for, otherwise that of the input, of which nothing has been read yet.
    pub fn choose(&self, source: &mut FileSource) -> Seed {
        self.seed.unwrap_or_else(|| Seed::of_input(&source.first_bytes(Seed::INPUT_BYTES)))
    }
}
