//! `acsm kv create`: a store from pairs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{anyhow, bail};
use clap::{Args, ValueEnum};

use super::fill::{Counted, count, fill};
use super::info::Summary;
use super::store_file::{load, lock, refused, save};
use super::structure::Described;
use crate::cmd::pairs::format::FormatArgs;
use crate::cmd::pairs::source::{OpenPairs, PairSource, Reading};
use crate::cmd::{Usage, output, stderr};
use crate::report::format::{bytes, grouped};
use crate::seed::Seed;
use crate::units::{parse_count, parse_share};
use acsm_filters::HashKey;
use acsm_filters::kv::{CodeChoice, Decoding, KbfParameters, KvError, KvSpec, KvStore, LoadedKv};

const EXAMPLES: &str = "\
Examples:
  acsm kv create -o groups.kv products.tsv                as large as the file needs
  acsm kv create -o groups.kv --store fcf products.csv    a fifth of the memory; cannot be joined
  acsm kv create -o groups.kv --pairs 2M --values 5000 --fp-rate 1e-6 products.jsonl
  zcat products.tsv.gz | acsm kv create -o groups.kv --pairs 2M --values 5000
  acsm kv create -o april.kv --like march.kv april.tsv    one that can be joined with march.kv

A file is read twice: first to count pairs and different values. Of a stream nothing is known
before it ends, so both numbers have to be given. At most P of the keys that are not in the
store get another answer than \"absent\", and at most P of those in it another answer than
their value. Beyond --pairs the store grows; --values is a limit.";

/// Create a store from pairs in TSV, CSV or JSON lines
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub struct CreateArgs {
    /// Where to write the store; a file that is there is replaced if all goes well
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Pairs to have room for (2M, 908_522) [default: as many as the file has]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pairs: Option<u64>,

    /// Different values to have room for [default: as many as the file has]
    #[arg(long, value_name = "V", value_parser = parse_count)]
    values: Option<u64>,

    /// Error rate that is accepted (0.001, 1e-6, 0.1%) [default: 0.001]
    #[arg(long, value_name = "P", value_parser = parse_share)]
    fp_rate: Option<f64>,

    /// Cells, in place of --fp-rate (kbf)
    #[arg(long, value_name = "M", value_parser = parse_count, requires = "hashes", conflicts_with = "fp_rate")]
    cells: Option<u64>,

    /// Cells per key, with --cells (kbf)
    #[arg(long, value_name = "K", requires = "cells")]
    hashes: Option<usize>,

    /// Structure: kbf can be joined and compressed, fcf takes a fifth of the memory [default: kbf]
    #[arg(long, value_enum)]
    store: Option<StoreName>,

    /// The codes of values (kbf) [default: algebraic]
    #[arg(long, value_enum)]
    codes: Option<CodesName>,

    /// How values are decoded: all cells together, or as in the papers (kbf) [default: joint]
    #[arg(long, value_enum)]
    decode: Option<DecodeName>,

    /// Take parameters, hash key and values of this store, so that the two can be joined
    #[arg(long, value_name = "FILE", conflicts_with_all =
        ["pairs", "values", "fp_rate", "cells", "hashes", "store", "codes", "decode", "seed"])]
    like: Option<PathBuf>,

    /// Seed of the hash key: a number, or 32 hexadecimal digits [default: derived from the first
    /// 64 KiB of the input]
    #[arg(long, value_name = "SEED")]
    seed: Option<Seed>,

    #[command(flatten)]
    format: FormatArgs,

    /// The pairs; `-` is standard input
    #[arg(default_value = "-")]
    input: PathBuf,

    /// Print what `acsm kv info --json` does
    #[arg(long)]
    json: bool,

    /// No progress bar, no messages
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum StoreName {
    Kbf,
    Fcf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CodesName {
    Greedy,
    Algebraic,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DecodeName {
    Joint,
    #[value(name = "2")]
    Option2,
    #[value(name = "1")]
    Option1,
    Literal,
}

/// Reads the pairs and writes the store.
pub fn run(args: &CreateArgs) -> anyhow::Result<ExitCode> {
    args.check()?;
    let source = PairSource::new(&args.input, &args.format)?;
    let like = args.like.as_deref().map(load).transpose()?;
    let needs_count = like.is_none() && args.needs_count();
    if needs_count && !source.is_file() {
        let wanted = "a stream is read once: give --pairs and --values, or pairs in a file";
        return Err(Usage::new(anyhow!(wanted)).into());
    }
    let mut reading = source.reading(1 + u64::from(needs_count), args.quiet);
    let counted = match needs_count {
        true => Some(count(&source, &mut reading)?),
        false => None,
    };
    if counted.is_some_and(|counted| counted.pairs == 0) {
        bail!("{} has no pairs; for an empty store give --pairs and --values", source.name());
    }
    let pairs = source.open(&reading)?;
    let store = match like {
        Some(LoadedKv::Kbf(store)) => LoadedKv::Kbf(store.like().map_err(refused)?),
        Some(LoadedKv::Fcf(store)) => LoadedKv::Fcf(store.like().map_err(refused)?),
        None => args.empty(counted, args.seed.unwrap_or(pairs.seed).hash_key())?,
    };
    match store {
        LoadedKv::Kbf(store) => args.finish(store, &source, pairs, reading),
        LoadedKv::Fcf(store) => args.finish(store, &source, pairs, reading),
    }
}

impl CreateArgs {
    /// Options that clap cannot know to exclude each other.
    fn check(&self) -> anyhow::Result<()> {
        let of_kbf = [
            (self.cells.is_some(), "--cells"),
            (self.codes.is_some(), "--codes"),
            (self.decode.is_some(), "--decode"),
        ];
        let is_fcf = self.store == Some(StoreName::Fcf);
        if let Some((_, option)) = of_kbf.iter().find(|(is_given, _)| *is_given && is_fcf) {
            return Err(Usage::new(anyhow!("{option} is for --store kbf")).into());
        }
        if self.output == Path::new("-") {
            let wanted = "a store is replaced as a whole: -o takes the name of a file";
            return Err(Usage::new(anyhow!(wanted)).into());
        }
        Ok(())
    }

    fn needs_count(&self) -> bool {
        self.values.is_none() || (self.pairs.is_none() && self.cells.is_none())
    }

    /// An empty store by the options and what was counted.
    fn empty(&self, counted: Option<Counted>, hash_key: HashKey) -> anyhow::Result<LoadedKv> {
        let counted = counted.unwrap_or(Counted { pairs: 1, values: 1 });
        let given = self.values.map(|values| usize::try_from(values).unwrap_or(usize::MAX));
        let defaults =
            KvSpec::new(self.pairs.unwrap_or(counted.pairs), given.unwrap_or(counted.values));
        let spec = KvSpec {
            rate: self.fp_rate.unwrap_or(defaults.rate),
            codes: match self.codes {
                Some(CodesName::Greedy) => CodeChoice::Greedy,
                Some(CodesName::Algebraic) | None => CodeChoice::Algebraic,
            },
            decoding: match self.decode {
                Some(DecodeName::Joint) | None => Decoding::Joint,
                Some(DecodeName::Option2) => Decoding::Option2,
                Some(DecodeName::Option1) => Decoding::Option1,
                Some(DecodeName::Literal) => Decoding::Literal,
            },
            hash_key,
            ..defaults
        };
        let made = match (self.store, self.cells.zip(self.hashes)) {
            (Some(StoreName::Fcf), _) => KvStore::new_fcf(&spec).map(LoadedKv::Fcf),
            (_, None) => KvStore::new(&spec).map(LoadedKv::Kbf),
            (_, Some((cells, hashes))) => KbfParameters::with_cells(&spec, cells, hashes)
                .and_then(KvStore::with_parameters)
                .map(LoadedKv::Kbf),
        };
        made.map_err(|error| self.not_made(error))
    }

    /// Why there is no such store: wrong usage if options asked for it.
    fn not_made(&self, error: KvError) -> anyhow::Error {
        let is_usage = match error {
            KvError::TooManyValues { .. } | KvError::TooManySlotValues { .. } => {
                self.values.is_some()
            }
            KvError::Store(_) => false, // memory
            _ => true,
        };
        match is_usage {
            true => Usage::new(refused(error)).into(),
            false => refused(error),
        }
    }

    /// Fills the store, writes it and tells about it.
    fn finish<M: Described>(
        &self,
        mut store: KvStore<M>,
        source: &PairSource<'_>,
        pairs: OpenPairs,
        mut reading: Reading,
    ) -> anyhow::Result<ExitCode> {
        let filled = fill(&mut store, source, pairs, &mut reading)?;
        drop(reading);
        let _lock = lock(&self.output, self.quiet)?;
        save(&self.output, &store)?;
        let summary = Summary::new(&store);
        if !self.quiet {
            if filled.repeated > 0 {
                let repeated = grouped(filled.repeated);
                stderr::message(format_args!("acsm: left out pairs that came again: {repeated}"));
            }
            if filled.seemed_present > 0 {
                stderr::message(format_args!(
                    "acsm: warning: {} keys seemed to be in the store when they came: false \
                     positives, at most {:.0} of which are expected, or keys that came twice, which \
                     have wrong answers now; in a file, not a stream, the two are told apart",
                    grouped(filled.seemed_present),
                    (summary.predicted.false_positive_rate * summary.pairs as f64).ceil(),
                ));
            }
            stderr::message(format_args!(
                "wrote {} pairs, {} values, {} ({:.1} bits per pair) to {}",
                grouped(summary.pairs),
                grouped(summary.values as u64),
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
