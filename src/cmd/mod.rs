//! The command line: one file or folder per command, each with its arguments and a `run`.
//!
//! | file | shared by several commands |
//! |---|---|
//! | `input_args`, `rule_args`, `store_args` | options: captures to read; flow key and rules; the store |
//! | `store_memory` | how many flows `--memory` is for |
//! | `presets` | defaults of options that belong together |
//! | `run_args` | all options of a run of the engine |
//! | `seed_args` | the seed, by default that of the input |
//! | `alert_destination` | where alerts go, by the options |
//! | `incident_command` | the program of `--on-incident` |
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
mod incident_command;
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
mod reproduce;
mod rule_args;
mod rules;
mod run_args;
mod seed_args;
mod signals;
mod spec_message;
mod stderr;
mod store_args;
mod store_memory;

use std::ffi::OsString;
use std::io::Write as _;
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
  acsm reproduce kbf-j/fig7                    a figure of the papers, measured again
  acsm completions bash                        a completion script for your shell
  acsm man                                     the manual pages

`acsm COMMAND --help` has details.";

/// Watch TCP flow state in small, fixed memory
#[derive(Debug, Parser)]
#[command(version, long_about = ABOUT, after_help = EXAMPLES, args_override_self = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
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
    Reproduce(reproduce::ReproduceArgs),
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
    let Some(command) = cli.command else { return first_screen() };
    match command {
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
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}

/// What `acsm` alone says: where to begin.
fn first_screen() -> anyhow::Result<ExitCode> {
    let version = env!("CARGO_PKG_VERSION");
    output::to_stdout(|out| {
        writeln!(
            out,
            "acsm {version}: watches TCP on a link or in a capture, in fixed memory. UDP and ICMP are only counted.\n  \
             acsm replay capture.pcap    incidents in a capture      acsm live -i eth0    watch an interface\n  \
             acsm inspect capture.pcap   what is in it               acsm interfaces      what there is to watch\n  \
             More: plan compare generate rules kv cluster completions man\n  \
             acsm help COMMAND           options, with examples"
        )
    })
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
