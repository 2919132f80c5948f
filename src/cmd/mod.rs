//! The command line: one file a verb, each with its arguments and a `run`.

mod completions;
mod config;
mod generate;
mod input;
mod inspect;
mod output;
mod progress;
mod replay;
mod rule_args;
mod rules;
mod stopwatch;
mod store_args;
mod usage;

pub use usage::Usage;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

const ABOUT: &str = "\
Watch TCP flow state in small, fixed memory.

acsm turns TCP packets into flows and says what is going on in them. It reads pcap and
pcapng captures, plain or compressed, damaged or cut short.";

const EXAMPLES: &str = "\
Start here:
  acsm inspect traffic.pcap          what is in a capture
  acsm inspect --help                more about a command";

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
    Inspect(inspect::InspectArgs),
    Generate(generate::Args),
    Rules(rules::RulesArgs),
    Completions(completions::CompletionsArgs),
}

/// Runs the command that `arguments` ask for. Where they make no sense, clap says so and exits.
pub fn run(arguments: Vec<OsString>) -> anyhow::Result<ExitCode> {
    match Cli::parse_from(config::expand(arguments)?).command {
        Command::Replay(args) => replay::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Generate(args) => generate::run(args),
        Command::Rules(args) => rules::run(args),
        Command::Completions(args) => completions::run(&args),
    }
}
