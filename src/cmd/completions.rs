//! `acsm completions`: completion scripts for shells.

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::output;

const EXAMPLES: &str = "\
Examples:
  acsm completions bash > ~/.local/share/bash-completion/completions/acsm
  acsm completions zsh > \"${fpath[1]}/_acsm\"
  acsm completions fish > ~/.config/fish/completions/acsm.fish";

/// Print a completion script for your shell
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Prints the script.
pub fn run(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::Cli::command(), "acsm", &mut script);
    output::to_stdout(|out| out.write_all(&script))
}
