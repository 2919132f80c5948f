//! `acsm kv info`: what is in a store, what it takes, and how often it errs.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::check::{Measured, measure};
use super::store_file::load;
use super::structure::{Described, Predicted, predicted};
use crate::cmd::output;
use crate::cmd::pairs::format::FormatArgs;
use crate::cmd::pairs::source::PairSource;
use crate::report::format::{HEADING, bytes, grouped, scientific};
use acsm_filters::kv::{KvBytes, KvStore, LoadedKv};

const EXAMPLES: &str = "\
Examples:
  acsm kv info groups.kv
  acsm kv info groups.kv --json | jq .predicted
  acsm kv info groups.kv --check products.tsv      errors measured, with what it was made from

Predicted are the errors with the pairs and the values that are in the store now.";

/// Show what a store holds and takes, and its errors: predicted, and measured with --check
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub struct InfoArgs {
    /// The store
    file: PathBuf,

    /// Ask for every key of these pairs, and for as many keys that are not among them
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,

    #[command(flatten)]
    format: FormatArgs,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,

    /// No progress bar
    #[arg(short, long)]
    quiet: bool,
}

/// The document of `acsm kv info --json`.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// `kbf` or `fcf`.
    pub store: &'static str,
    pub pairs: u64,
    pub capacity: u64,
    pub rho: f64,
    pub values: usize,
    pub values_max: usize,
    pub fp_rate: f64,
    pub filters: usize,
    /// Of each filter.
    pub cells: u64,
    pub hashes: u32,
    pub cell_bits: u32,
    pub codes: Option<&'static str>,
    pub decode: Option<&'static str>,
    pub saturations: u64,
    pub bytes: Parts<usize>,
    pub bits_per_pair: Parts<f64>,
    pub predicted: Predicted,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
}

/// What a store takes: filters, the secondary filter from values to indexes, the table of values.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Parts<T> {
    pub main: T,
    pub secondary: T,
    pub mapping: T,
}

impl Parts<usize> {
    fn new(bytes: &KvBytes) -> Parts<usize> {
        Parts { main: bytes.main, secondary: bytes.secondary, mapping: bytes.mapping }
    }

    /// Bytes that are saved, but for headers.
    pub fn saved(&self) -> usize {
        self.main + self.secondary + self.mapping
    }

    fn bits_per(&self, pairs: u64) -> Parts<f64> {
        let per_pair = |bytes: usize| 8.0 * bytes as f64 / pairs.max(1) as f64;
        Parts {
            main: per_pair(self.main),
            secondary: per_pair(self.secondary),
            mapping: per_pair(self.mapping),
        }
    }
}

impl Parts<f64> {
    /// All of it.
    pub fn total(&self) -> f64 {
        self.main + self.secondary + self.mapping
    }
}

impl Summary {
    /// What is known about a store without asking it anything.
    pub fn new<M: Described>(store: &KvStore<M>) -> Summary {
        let stats = store.stats();
        // A store is never without a filter.
        let structure = store.filters()[0].structure();
        let bytes = Parts::new(&stats.bytes);
        Summary {
            store: structure.name,
            pairs: stats.pairs,
            capacity: stats.capacity,
            rho: stats.rho(),
            values: stats.values,
            values_max: stats.values_max,
            fp_rate: structure.rate,
            filters: stats.filters,
            cells: structure.cells,
            hashes: structure.hashes,
            cell_bits: structure.cell_bits,
            codes: structure.codes,
            decode: structure.decode,
            saturations: stats.saturations,
            bytes,
            bits_per_pair: bytes.bits_per(stats.pairs),
            predicted: predicted(store),
            measured: None,
        }
    }
}

/// Loads the store, asks it if told to, and prints.
pub fn run(args: &InfoArgs) -> anyhow::Result<ExitCode> {
    let summary = match load(&args.file)? {
        LoadedKv::Kbf(store) => args.summary(&store)?,
        LoadedKv::Fcf(store) => args.summary(&store)?,
    };
    match args.json {
        true => output::json_to_stdout(&summary),
        false => output::to_stdout(|out| write(out, &summary)),
    }
}

impl InfoArgs {
    fn summary<M: Described>(&self, store: &KvStore<M>) -> anyhow::Result<Summary> {
        let mut summary = Summary::new(store);
        if let Some(path) = &self.check {
            let source = PairSource::new(path, &self.format)?;
            summary.measured = Some(measure(store, &source, self.quiet)?);
        }
        Ok(summary)
    }
}

fn write(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    let Summary { filters, cells, hashes, cell_bits, .. } = summary;
    let filters = if *filters == 1 { "one filter".into() } else { format!("{filters} filters") };
    let cells = grouped(*cells);
    writeln!(out, "{HEADING}Store{HEADING:#}")?;
    match (summary.codes, summary.decode) {
        (Some(codes), Some(decode)) => writeln!(
            out,
            "  kbf          {filters} of {cells} cells of {cell_bits} bits, {hashes} per key; \
             codes {codes}, decoding {decode}"
        )?,
        _ => writeln!(out, "  fcf          {filters} of {cells} slots of {cell_bits} bits")?,
    }
    writeln!(
        out,
        "  pairs        {} of {} at an error rate of {} (rho {:.3})",
        grouped(summary.pairs),
        grouped(summary.capacity),
        scientific(summary.fp_rate),
        summary.rho
    )?;
    let (values, values_max) = (grouped(summary.values as u64), grouped(summary.values_max as u64));
    writeln!(out, "  values       {values} of at most {values_max}")?;
    write!(out, "  memory       {}", bytes(summary.bytes.saved() as u64))?;
    let bits = &summary.bits_per_pair;
    match summary.pairs {
        0 => writeln!(out)?,
        _ => writeln!(
            out,
            ", {:.1} bits per pair: main {:.1}, secondary {:.1}, values {:.1}",
            bits.total(),
            bits.main,
            bits.secondary,
            bits.mapping
        )?,
    }
    if summary.saturations > 0 {
        writeln!(out, "  saturated    {} counters", grouped(summary.saturations))?;
    }
    errors(out, summary)
}

fn errors(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    let Predicted { false_positive_rate, undecided_rate } = summary.predicted;
    let heading = if summary.measured.is_some() { "   measured" } else { "" };
    writeln!(out, "\n{HEADING}Errors           predicted{heading}{HEADING:#}")?;
    let measured = |rate: fn(&Measured) -> String| match &summary.measured {
        Some(measured) => format!("  {}", rate(measured)),
        None => String::new(),
    };
    let false_positive =
        measured(|m| of(m.false_positive_rate, m.false_positives, m.absent_asked, "absent keys"));
    let undecided = measured(|m| of(m.undecided_rate, m.undecided, m.asked, "keys"));
    writeln!(out, "  false positive {:>9}{false_positive}", scientific(false_positive_rate))?;
    writeln!(out, "  undecided      {:>9}{undecided}", scientific(undecided_rate))?;
    if let Some(measured) = &summary.measured {
        let [wrong, absent] = [measured.wrong, measured.absent].map(grouped);
        writeln!(out, "  wrong                    {wrong:>9}")?;
        writeln!(out, "  not found                {absent:>9}")?;
    }
    Ok(())
}

fn of(rate: f64, part: u64, whole: u64, what: &str) -> String {
    format!("{:>9} ({} of {} {what})", scientific(rate), grouped(part), grouped(whole))
}
