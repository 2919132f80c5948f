//! `acsm kv join` and `acsm kv compress`: stores made of stores, without their keys.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use clap::Args;

use super::info::Summary;
use super::store_file::{load_kbf, lock, refused, save};
use crate::cmd::{Usage, output, stderr};
use crate::report::format::{bytes, grouped, scientific};
use acsm_filters::kv::{KbfMap, KvStore};

const JOIN_EXAMPLES: &str = "\
Examples:
  acsm kv create -o march.kv --pairs 2M --values 5000 march.tsv
  acsm kv create -o april.kv --like march.kv april.tsv
  acsm kv join march.kv april.kv -o spring.kv

Both have the same parameters and hash key, as --like provides, and the values of one begin
with those of the other. No key may be in both: its answers would be wrong. The result has as
many cells as each of the two; with more pairs than their capacity it errs more often, and that
is said.";

const COMPRESS_EXAMPLES: &str = "\
Examples:
  acsm kv compress groups.kv -o small.kv

Half of the cells, all of the pairs: errors become those of a store with twice as many pairs.
What they are is said if they are more than the store was made for.";

/// Join two stores (kbf) that have no key in common
#[derive(Debug, Args)]
#[command(after_help = JOIN_EXAMPLES, args_override_self = true)]
pub struct JoinArgs {
    /// A store
    a: PathBuf,

    /// A store with the same parameters
    b: PathBuf,

    #[command(flatten)]
    result: ResultArgs,
}

/// Halve the memory of a store (kbf)
#[derive(Debug, Args)]
#[command(after_help = COMPRESS_EXAMPLES, args_override_self = true)]
pub struct CompressArgs {
    /// The store
    a: PathBuf,

    #[command(flatten)]
    result: ResultArgs,
}

/// What becomes of the new store.
#[derive(Debug, Args)]
struct ResultArgs {
    /// Where to write the new store; a file that is there is replaced if all goes well
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Print what `acsm kv info --json` does
    #[arg(long)]
    json: bool,

    /// No messages but warnings
    #[arg(short, long)]
    quiet: bool,
}

/// Writes the join of two stores.
pub fn run_join(args: &JoinArgs) -> anyhow::Result<ExitCode> {
    args.result.check()?;
    if is_same_file(&args.a, &args.b) {
        let wrong = "a store joined with itself would have each key twice: name two stores";
        return Err(Usage::new(anyhow!(wrong)).into());
    }
    let _lock = lock(&args.result.output, args.result.quiet)?;
    let mut store = load_kbf(&args.a, "join")?;
    let other = load_kbf(&args.b, "join")?;
    store
        .join(other)
        .map_err(refused)
        .with_context(|| format!("{} and {}", args.a.display(), args.b.display()))?;
    args.result.finish(&store)
}

/// Writes a store of half the cells.
pub fn run_compress(args: &CompressArgs) -> anyhow::Result<ExitCode> {
    args.result.check()?;
    let _lock = lock(&args.result.output, args.result.quiet)?;
    let mut store = load_kbf(&args.a, "compress")?;
    store.compress().map_err(refused).with_context(|| args.a.display().to_string())?;
    args.result.finish(&store)
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    real(a).is_some() && real(a) == real(b)
}

impl ResultArgs {
    fn check(&self) -> anyhow::Result<()> {
        match self.output == Path::new("-") {
            true => {
                let wanted = "a store is replaced as a whole: -o takes the name of a file";
                Err(Usage::new(anyhow!(wanted)).into())
            }
            false => Ok(()),
        }
    }

    /// Warns if there are too many pairs, writes the store and tells about it.
    fn finish(&self, store: &KvStore<KbfMap>) -> anyhow::Result<ExitCode> {
        let summary = Summary::new(store);
        let predicted = summary.predicted;
        let is_worse =
            predicted.false_positive_rate.max(predicted.undecided_rate) > summary.fp_rate;
        if summary.pairs > summary.capacity || is_worse {
            stderr::message(format_args!(
                "acsm: warning: {} pairs are {:.2} times the capacity of {}: predicted are {} of \
                 absent keys found and {} of keys undecided, where the store was made for {}",
                grouped(summary.pairs),
                summary.rho,
                grouped(summary.capacity),
                scientific(predicted.false_positive_rate),
                scientific(predicted.undecided_rate),
                scientific(summary.fp_rate),
            ));
        }
        save(&self.output, store)?;
        if !self.quiet {
            stderr::message(format_args!(
                "wrote {} pairs, {} ({:.1} bits per pair) to {}",
                grouped(summary.pairs),
                bytes(summary.bytes.saved() as u64),
                summary.bits_per_pair.total(),
                self.output.display(),
            ));
        }
        match self.json {
            true => output::json_to_stdout(&summary),
            false => Ok(ExitCode::SUCCESS),
        }
    }
}
