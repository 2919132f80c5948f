//! `acsm`: parse the arguments, run the command, print the error chain, exit.

use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    match acsm::cmd::run(std::env::args_os().collect()) {
        Ok(code) => code,
        Err(error) => {
            // not `eprintln!`, which panics if stderr cannot be written
            let _ = writeln!(std::io::stderr(), "acsm: {error:#}");
            ExitCode::from(if error.is::<acsm::cmd::Usage>() { 2 } else { 1 })
        }
    }
}
