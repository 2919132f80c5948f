//! `acsm cluster load`: pairs into a store, as fast as the servers take them.

use std::collections::HashSet;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use serde::Serialize;

use super::access_args::AccessArgs;
use super::{finish, refused};
use crate::cluster::loads;
use crate::cluster::store::{ClusterStore, Position};
use crate::cmd::pairs::format::{FormatArgs, Pair};
use crate::cmd::pairs::repeats::{PutAside, SecondReading};
use crate::cmd::pairs::source::{PairSource, Reading};
use crate::cmd::{output, stderr};
use crate::report::format::grouped;
use acsm_filters::kv::{Answer, check_key};
use acsm_filters::snapshot::SnapshotReader;

const EXAMPLES: &str = "\
Examples:
  acsm cluster load products.tsv
  acsm cluster load --format csv --header - < products.csv

The keys should not be in the store; `acsm cluster set` changes values. Each is looked up first.
Pairs that an empty store seems to have are false positives, or come twice in the file: the file
is read again to tell the two apart. If the store had pairs before, a pair that it answers
rightly is left out, so that a load that was interrupted can be repeated.";

/// Pairs that are looked up and written together.
const BATCH_PAIRS: usize = 32_768;

/// Insert pairs in TSV, CSV or JSON lines
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub struct LoadArgs {
    #[command(flatten)]
    access: AccessArgs,

    #[command(flatten)]
    format: FormatArgs,

    /// The pairs; `-` is standard input
    #[arg(default_value = "-")]
    input: PathBuf,

    /// Print one JSON document
    #[arg(long)]
    json: bool,

    /// No progress bar, no messages
    #[arg(short, long)]
    quiet: bool,
}

/// What became of the pairs.
#[derive(Debug, Default, Serialize)]
struct Loaded {
    inserted: u64,
    /// Pairs that came again with the same value, or that the store had before.
    left_out: u64,
    /// Keys that the store seemed to have with another value, and that were inserted.
    seemed_present: u64,
    /// Batches that were sent again after a failover.
    resent: u64,
}

/// A load under way.
struct Loader<'a> {
    store: &'a mut ClusterStore,
    /// The store had no pairs, and the input is read again: false positives are found out.
    is_exact: bool,
    /// The store had pairs.
    had_pairs: bool,
    batch: Vec<(Position, Vec<u8>, u64)>,
    keys: HashSet<Position>,
    aside: PutAside,
    loaded: Loaded,
}

/// Loads the pairs.
pub fn run(args: &LoadArgs) -> anyhow::Result<ExitCode> {
    let source = PairSource::new(&args.input, &args.format)?;
    if is_snapshot(&args.input) {
        bail!(
            "{} is a store of `acsm kv`, which has no keys and cannot be divided among slabs: \
             load the pairs that it was made from",
            args.input.display()
        );
    }
    let mut store = args.access.open()?;
    let had_pairs = loads::items(&mut store).map_err(refused)?.iter().any(|items| *items > 0);
    let mut loader = Loader {
        store: &mut store,
        is_exact: source.is_file() && !had_pairs,
        had_pairs,
        batch: vec![],
        keys: HashSet::new(),
        aside: PutAside::default(),
        loaded: Loaded::default(),
    };
    let done = loader.load(&source, args.quiet);
    let mut loaded = loader.loaded;
    // Also after an error: what was written before it stays.
    done.and(finish(&mut store))?;
    loaded.resent = store.resent();
    if !args.quiet {
        tell(&loaded);
    }
    match args.json {
        true => output::json_to_stdout(&loaded),
        false => Ok(ExitCode::SUCCESS),
    }
}

/// Whether a file begins as a snapshot does.
fn is_snapshot(path: &Path) -> bool {
    let opened = File::open(path).ok().filter(|_| path.is_file());
    opened.is_some_and(|file| SnapshotReader::new(BufReader::new(file)).is_ok())
}

impl Loader<'_> {
    /// Loads all pairs, in two readings if some are put aside in the first.
    fn load(&mut self, source: &PairSource<'_>, is_quiet: bool) -> anyhow::Result<()> {
        let mut reading = source.reading(1, is_quiet);
        source.open(&reading)?.for_each(&mut reading, |pair| self.add(pair))?;
        self.flush()?;
        match self.aside.is_empty() {
            true => Ok(()),
            false => self.second_reading(source, &mut reading),
        }
    }

    fn add(&mut self, pair: &Pair) -> anyhow::Result<()> {
        check_key(&pair.key)?;
        let position = self.store.position(&pair.key);
        if self.keys.contains(&position) {
            if self.is_exact {
                self.aside.put(position.digest, pair.line);
                return Ok(());
            }
            self.flush()?;
        }
        self.push(position, pair)
    }

    fn push(&mut self, position: Position, pair: &Pair) -> anyhow::Result<()> {
        self.keys.insert(position);
        self.batch.push((position, pair.value.clone(), pair.line));
        match self.batch.len() >= BATCH_PAIRS {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Looks the pairs up and inserts those that are absent.
    fn flush(&mut self) -> anyhow::Result<()> {
        let batch = std::mem::take(&mut self.batch);
        self.keys.clear();
        self.store.refresh().map_err(refused)?;
        let positions: Vec<Position> = batch.iter().map(|(position, ..)| *position).collect();
        let found = self.store.query(&positions).map_err(refused)?;
        let values = batch.iter().map(|(_, value, _)| value.as_slice());
        let codes = self.store.codes(values).map_err(refused)?;
        let mut insertions = vec![];
        for (((position, _, line), found), code) in batch.iter().zip(found).zip(codes) {
            match found.answer {
                Answer::Absent => insertions.push((*position, code)),
                _ if self.is_exact => self.aside.put(position.digest, *line),
                answer if self.had_pairs && answer.allows(&code) => self.loaded.left_out += 1,
                _ => {
                    self.loaded.seemed_present += 1;
                    insertions.push((*position, code));
                }
            }
        }
        self.insert(&insertions)
    }

    fn insert(&mut self, pairs: &[(Position, u32)]) -> anyhow::Result<()> {
        self.store.insert(pairs).map_err(refused)?;
        self.loaded.inserted += pairs.len() as u64;
        Ok(())
    }

    /// Reads the file again for keys that were put aside.
    fn second_reading(
        &mut self,
        source: &PairSource<'_>,
        reading: &mut Reading,
    ) -> anyhow::Result<()> {
        let hash_key = self.store.description().parameters.hash_key;
        let mut aside = std::mem::take(&mut self.aside);
        let mut pairs: Vec<(Position, Vec<u8>)> = vec![];
        source.open(reading)?.for_each(reading, |pair| {
            match aside.second(hash_key, pair)? {
                SecondReading::Other | SecondReading::Inserted => {}
                SecondReading::FalsePositive => {
                    pairs.push((self.store.position(&pair.key), pair.value.clone()));
                }
                SecondReading::Repeated => self.loaded.left_out += 1,
            }
            Ok(())
        })?;
        let values = pairs.iter().map(|(_, value)| value.as_slice());
        let codes = self.store.codes(values).map_err(refused)?;
        let insertions: Vec<(Position, u32)> =
            pairs.iter().map(|(position, _)| *position).zip(codes).collect();
        self.insert(&insertions)
    }
}

fn tell(loaded: &Loaded) {
    let Loaded { inserted, left_out, seemed_present, resent } = loaded;
    if *left_out > 0 {
        stderr::message(format_args!(
            "acsm: left out pairs that came again or were in the store: {}",
            grouped(*left_out)
        ));
    }
    if *seemed_present > 0 {
        stderr::message(format_args!(
            "acsm: warning: {} keys seemed to be in the store when they came: false positives, or \
             keys that came twice or had another value, which have wrong answers now",
            grouped(*seemed_present)
        ));
    }
    if *resent > 0 {
        stderr::message(format_args!(
            "acsm: {} batches that a failover had lost were sent again",
            grouped(*resent)
        ));
    }
    stderr::message(format_args!("inserted {} pairs", grouped(*inserted)));
}
