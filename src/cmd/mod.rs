//! The command line: one file a verb, each with its arguments and a `run`.
//!
//! Options that several verbs share are groups of their own: what to read (`input`), what a flow
//! is and what is wrong with it (`rule_args`), where state is kept (`store_args`), all of a run
//! (`run_args`). Data goes to
//! standard output, talk to standard error. Exit codes: 0 done, 1 failed, 2 wrong usage
//! ([`Usage`], where clap cannot see it).

mod compare;
mod completions;
mod config;
mod generate;
mod input;
mod inspect;
mod interfaces;
mod live;
mod man;
mod output;
mod plan;
mod progress;
mod replay;
mod rule_args;
mod rules;
mod run_args;
mod signals;
mod spec_message;
mod stopwatch;
mod store_args;
mod talk;
mod usage;

pub use usage::Usage;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

const ABOUT: &str = "\
Watch TCP flow state in small, fixed memory.

acsm follows the state of every TCP flow, in captures or live, and says what is odd:
floods, scans, sessions that do not fit. It keeps that state in an exact table or in
filters that err now and then, and counts how often they do. It reads pcap and pcapng,
plain or compressed, damaged or cut short.";

const EXAMPLES: &str = "\
Examples, one a verb:
  acsm inspect traffic.pcap                    what is in a capture, exactly
  acsm replay --preset operator traffic.pcap   what is odd about it
  acsm plan --flows 2M --memory 16MiB          which store, and what it will get wrong
  acsm compare --out report traffic.pcap       what a filter in place of a table costs
  acsm live -i eth0                            the same of an interface, as it happens
  acsm interfaces                              which there are, and whether you may listen
  acsm generate -o day.pcap --attacks all      a trace to try it on, with ground truth
  acsm rules show tcp-connection               the rules behind alerts: a start for your own
  acsm completions bash                        for your shell
  acsm man                                     the manual pages

`acsm VERB --help` says more.";

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
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// The command line. Who watches a network is an operator, unless told otherwise.
fn command() -> clap::Command {
    Cli::command().mut_subcommand("live", |live| {
        live.mut_arg("preset", |preset| preset.default_value("operator"))
    })
}

/// Runs the command that `arguments` ask for. Where they make no sense, clap says so and exits.
pub fn run(arguments: Vec<OsString>) -> anyhow::Result<ExitCode> {
    let arguments = config::expand(arguments)?;
    let parsed = command().try_get_matches_from(&arguments);
    let cli = parsed.and_then(|matches| Cli::from_arg_matches(&matches)).unwrap_or_else(|error| {
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
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}
