//! The options of `acsm compare`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::stores::StoreChoice;
use crate::cmd::input::InputArgs;
use crate::cmd::rule_args::RuleArgs;
use crate::cmd::store_args::ShapeArgs;
use crate::engine::compare::Feedback;
use crate::units::{parse_bytes, parse_count, parse_share};

const EXAMPLES: &str = "\
Examples:
  acsm compare traffic.pcap                             kbf and sbf at the papers' five rates
  acsm compare --out report traffic.pcap                report.json, report.csv, report.html
  acsm compare --backends sbf,sbf:paper-kbf,kbf,kbf:literal traffic.pcap
  acsm compare --equal memory --backends kbf,dbf,exact traffic.pcap
  acsm compare --loop closed,open --repeat 5 --json traffic.pcap | jq '.runs[].errors'

All runs are driven by one pass over the captures, after a first one that counts the flows alive
at once, for which the stores are then sized: a store made for more shows no errors. --flows N
saves that pass. Same input, same options, same --seed: same output, but for `seconds`.
Exit codes: 0 done, 1 failed, 2 wrong usage.";

/// Headings of the help.
const COMPARISON: &str = "Comparison";
const OUTPUT: &str = "Output";
const RUN: &str = "Run";

/// Compare stores on a capture: which, how much memory, how wrong?
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub struct CompareArgs {
    #[command(flatten)]
    pub input: InputArgs,

    /// Stores, and variants of them: kbf, kbf:literal, kbf:three-way, sbf, sbf:paper-kbf, dbf,
    /// dbf:no-counters, bhbf, fcf, exact (as much memory as the first that is not exact)
    #[arg(long, help_heading = COMPARISON, value_name = "LIST", value_delimiter = ',', default_value = "kbf,sbf", value_parser = StoreChoice::parse)]
    pub backends: Vec<&'static StoreChoice>,

    /// Size for each of these chances that an unknown flow seems known
    #[arg(long, help_heading = COMPARISON, value_name = "LIST", value_delimiter = ',', default_value = "0.1,0.01,0.001,0.0001,0.00001", value_parser = parse_rate)]
    pub fp_rates: Vec<f64>,

    /// What stores of one rate have in common
    #[arg(long, help_heading = COMPARISON, value_name = "LIST", value_delimiter = ',', value_enum, default_value = "cells")]
    pub equal: Vec<Equal>,

    /// Whose answers stores go on from
    #[arg(long = "loop", help_heading = COMPARISON, value_name = "LIST", value_delimiter = ',', value_enum, default_value = "closed")]
    pub feedback: Vec<Loop>,

    /// Do everything with so many seeds, from --seed on
    #[arg(long, help_heading = COMPARISON, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u8).range(1..=100))]
    pub repeat: u8,

    /// Peak number of flows alive at once (1M, 908_522), or auto to count them first
    #[arg(long, help_heading = COMPARISON, value_name = "N", default_value = "auto", value_parser = parse_flows)]
    pub flows: Flows,

    #[command(flatten)]
    pub rules: RuleArgs,

    #[command(flatten)]
    pub shape: ShapeArgs,

    /// Write report.json, report.csv and report.html into this directory
    #[arg(long, help_heading = OUTPUT, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Print the report as one JSON document
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,

    /// No progress bar, no warnings
    #[arg(short, long, help_heading = OUTPUT)]
    pub quiet: bool,

    /// Threads that the runs are spread over, 1 to 16 [default: number of cores]
    #[arg(long, help_heading = RUN, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=16))]
    pub workers: Option<u8>,

    /// Refuse what takes more memory than this [default: what the system says is available]
    #[arg(long, help_heading = RUN, value_name = "SIZE", value_parser = parse_bytes)]
    pub memory_limit: Option<u64>,

    /// Keys the hashes; another seed errs on other flows
    #[arg(long, help_heading = RUN, value_name = "N", default_value = "1")]
    pub seed: u64,

    /// Options from a TOML file, as `idle-timeout = "30s"`; the command line wins
    #[arg(long, help_heading = RUN, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// What stores of one rate have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Equal {
    /// Each has the cells and hashes of its rate: the papers' way
    Cells,
    /// Each has the memory that the first takes for its rate, and makes the best of it
    Memory,
}

/// Whose answers stores go on from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Loop {
    /// Their own, so that errors can lead to others: what a user gets
    Closed,
    /// The truth: what theory predicts
    Open,
}

/// How many flows the stores are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flows {
    /// As many as are alive at once in the captures.
    Auto,
    /// So many.
    Count(u64),
}

impl Equal {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Equal::Cells => "cells",
            Equal::Memory => "memory",
        }
    }
}

impl From<Loop> for Feedback {
    fn from(name: Loop) -> Feedback {
        match name {
            Loop::Closed => Feedback::Closed,
            Loop::Open => Feedback::Open,
        }
    }
}

fn parse_flows(text: &str) -> Result<Flows, String> {
    match parse_count(text) {
        _ if text == "auto" => Ok(Flows::Auto),
        Ok(0) => Err("a store needs room for at least one flow".to_owned()),
        Ok(count) => Ok(Flows::Count(count)),
        Err(error) => Err(format!("{error}, or auto")),
    }
}

fn parse_rate(text: &str) -> Result<f64, String> {
    match parse_share(text) {
        Ok(rate) if rate > 0.0 && rate < 1.0 => Ok(rate),
        Ok(_) => Err(format!("`{text}` is no rate; write one between 0 and 1, like 0.01")),
        Err(error) => Err(error.to_string()),
    }
}

impl CompareArgs {
    /// The seeds, one for each repetition.
    pub fn seeds(&self) -> Vec<u64> {
        (0..u64::from(self.repeat)).map(|n| self.seed.wrapping_add(n)).collect()
    }
}
