//! The command line: one file a verb, each with its arguments and a `run`.

#[allow(dead_code)] // until a verb reads captures
pub(crate) mod progress;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Watch TCP flow state in small, fixed memory.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {}

/// Runs the command that `cli` names.
pub fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    match cli.command {}
}
