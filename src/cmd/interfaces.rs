//! `acsm interfaces`: the network interfaces, and whether capture is permitted.

use std::io::{self, Write};
use std::net::IpAddr;
use std::process::ExitCode;

use clap::Args;

use super::output;
use crate::capture::live::{Interface, interfaces};
use crate::report::format::{FAINT, HEADING};

const EXAMPLES: &str = "\
Examples:
  acsm interfaces
  acsm interfaces --json | jq -r '.interfaces[] | select(.capture_allowed).name'";

/// List network interfaces, and whether capture is permitted
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct InterfacesArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Prints the list.
pub fn run(args: &InterfacesArgs) -> anyhow::Result<ExitCode> {
    let interfaces = interfaces()?;
    if args.json {
        return output::json_to_stdout(&serde_json::json!({ "interfaces": interfaces }));
    }
    output::to_stdout(|out| {
        let width = interfaces.iter().map(|interface| interface.name.len()).max().unwrap_or(0);
        let width = width.max("interface".len());
        writeln!(out, "{HEADING}{:<width$}  state    capture  addresses{HEADING:#}", "interface")?;
        interfaces.iter().try_for_each(|interface| line(out, interface, width))
    })
}

fn line(out: &mut impl Write, interface: &Interface, width: usize) -> io::Result<()> {
    let Interface { name, state, .. } = interface;
    let allowed = if interface.capture_allowed { "yes" } else { "no" };
    let addresses: Vec<String> = interface.addresses.iter().map(IpAddr::to_string).collect();
    write!(out, "{name:<width$}  {state:<7}  {allowed:<7}  {}", addresses.join(" "))?;
    let why_not = interface.reason.as_ref().filter(|_| !interface.capture_allowed);
    match why_not.or(interface.description.as_ref()) {
        Some(remark) => {
            let blank = if addresses.is_empty() { "" } else { " " };
            writeln!(out, "{blank}{FAINT}{remark}{FAINT:#}")
        }
        None => writeln!(out),
    }
}
