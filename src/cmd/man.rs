//! `acsm man`: manual pages, generated from the help texts.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, CommandFactory as _};

use super::output;

const EXAMPLES: &str = "\
Examples:
  acsm man | man -l -                                   read it
  acsm man --out ~/.local/share/man/man1                install all: acsm(1), acsm-live(1) …";

/// Print the manual page, or write those of all commands to a directory
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ManArgs {
    /// Write acsm.1 and a page per command to this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Prints the page or writes all pages.
pub fn run(args: &ManArgs) -> anyhow::Result<ExitCode> {
    let command = super::Cli::command().disable_help_subcommand(true);
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(command, folder))
            .with_context(|| format!("--out {}", folder.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::to_stdout(|out| clap_mangen::Man::new(command).render(out))
}
