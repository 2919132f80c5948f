//! `acsm`: parse the arguments, run the command, print the error chain, exit.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match acsm::cmd::run(acsm::cmd::Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("acsm: {error:#}");
            ExitCode::FAILURE
        }
    }
}
