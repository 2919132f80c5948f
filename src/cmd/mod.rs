//! The command line: one file or folder per command, each with its arguments and a `run`.
//!
//! | file | shared by several commands |
//! |---|---|
//! | `input_args`, `rule_args`, `store_args` | options: captures to read; flow key and rules; the store |
//! | `presets` | defaults of options that belong together |
//! | `run_args` | all options of a run of the engine |
//! | `seed_args` | the seed, by default that of the input |
//! | `alert_destination` | where alerts go, by the options |
//! | `config` | options from a file |
//! | `pairs` | keys and pairs as they are read, looked up and changed: `kv` and `cluster` |
//! | `output`, `stderr`, `progress` | standard output for data, standard error for messages and progress |
//! | `signals` | stopping and reloading by signals |
//!
//! Exit codes: 0 done, 1 failed, 2 wrong usage (errors of clap, and [`Usage`]); of `kv` and `cluster`, 3 if
//! a key was not found.

mod alert_destination;
mod cluster;
mod compare;
mod completions;
mod config;
mod generate;
mod input_args;
mod inspect;
mod interfaces;
mod kv;
mod live;
mod man;
mod output;
mod pairs;
mod plan;
mod presets;
mod progress;
mod replay;
mod replay_observer;
mod rule_args;
mod rules;
mod run_args;
mod seed_args;
mod signals;
mod spec_message;
mod stderr;
mod store_args;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

const ABOUT: &str = "\
Watch TCP flow state in small, fixed memory.

acsm follows the state of every TCP flow, in captures or live, and raises alerts for
anomalies: floods, scans, packets without a session. It keeps that state in an exact table
or in filters that have a small error rate, and measures that rate. It reads pcap and
pcapng, plain or compressed, also damaged or truncated.";

const EXAMPLES: &str = "\
Examples, one per command:
  acsm inspect traffic.pcap                    what is in a capture, exactly
  acsm replay traffic.pcap                     alerts for anomalies in it
  acsm plan --flows 2M --memory 16MiB          which store, and its error rates
  acsm compare --out report traffic.pcap       errors of filters against an exact table
  acsm live -i eth0                            alerts on a network interface
  acsm interfaces                              interfaces, and whether capture is permitted
  acsm generate -o day.pcap --attacks all      a synthetic trace, with ground truth
  acsm rules show tcp-connection               the rules of the alerts: a template for your own
  acsm kv create -o groups.kv products.tsv     an approximate key-value store in a file
  acsm cluster status                          the same in a Redis or Valkey Cluster
  acsm completions bash                        a completion script for your shell
  acsm man                                     the manual pages

`acsm COMMAND --help` has details.";

/// Watch TCP flow state in small, fixed memory
#[derive(Debug, Parser)]
#[command(version, long_about = ABOUT, after_help = EXAMPLES, arg_required_else_help = true, args_override_self = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Replay(Box<replay::ReplayArgs>),
    Live(Box<live::LiveArgs>),
    Inspect(inspect::InspectArgs),
    Plan(plan::PlanArgs),
    Compare(Box<compare::CompareArgs>),
    Interfaces(interfaces::InterfacesArgs),
    Generate(generate::Args),
    Rules(rules::RulesArgs),
    Kv(kv::KvArgs),
    Cluster(cluster::ClusterArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// Runs the command of `arguments`. On wrong usage clap prints an error and exits.
pub fn run(arguments: Vec<OsString>) -> anyhow::Result<ExitCode> {
    let arguments = config::expand(arguments)?;
    let cli = Cli::try_parse_from(&arguments).unwrap_or_else(|error| {
        config::point_at_file(&arguments, &error);
        error.exit()
    });
    match cli.command {
        Command::Replay(args) => replay::run(&args),
        Command::Live(args) => live::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Interfaces(args) => interfaces::run(&args),
        Command::Generate(args) => generate::run(args),
        Command::Rules(args) => rules::run(args),
        Command::Kv(args) => kv::run(&args),
        Command::Cluster(args) => cluster::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}

/// Wrong usage that clap cannot detect: the program exits with 2, as for errors of clap.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Usage(anyhow::Error);

impl Usage {
    /// Marks `error` as wrong usage.
    pub fn new(error: impl Into<anyhow::Error>) -> Usage {
        Usage(error.into())
    }
}
