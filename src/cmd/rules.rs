//! `acsm rules`: check a rules file, list those that come with acsm, show one.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::{Args, FromArgMatches as _, Subcommand};

use super::replay::{self, ReplayArgs};
use super::{Usage, output, stderr};
use crate::flow::FlowKeyKind;
use crate::machine::{RuleKind, Rules, SHIPPED};

const EXAMPLES: &str = "\
Examples:
  acsm rules list
  acsm rules show tcp-connection > mine.toml
  acsm rules check mine.toml
  acsm rules test mine.toml yesterday.pcap       what it would have raised
  acsm replay --rules mine.toml traffic.pcap

A rules file defines the states of a flow, the transitions, and what raises an alert;
docs/rules.md explains the format and lists every rule.";

/// Check a rules file; list and show those that come with acsm
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct RulesArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Read a rules file with all its includes; print a summary, or the error
    Check {
        /// A path, or the name of a file that comes with acsm
        file: String,
    },
    /// Replay a capture with a rules file, and show every alert and a summary
    Test {
        /// A path, or the name of a file that comes with acsm
        file: String,
        /// Captures, and options of `acsm replay`
        #[arg(required = true, num_args = 1.., trailing_var_arg = true, allow_hyphen_values = true)]
        captures: Vec<OsString>,
    },
    /// List the rules files that come with acsm
    List,
    /// Print a rules file that comes with acsm, as a template for your own
    Show {
        /// Its name, as `acsm rules list` gives it
        name: String,
    },
}

/// Runs `acsm rules …`.
pub fn run(args: RulesArgs) -> anyhow::Result<ExitCode> {
    let text = match args.command {
        Command::Check { file } => {
            let rules = Rules::load(&file).context("the rules cannot be used")?;
            for warning in &rules.warnings {
                stderr::message(format_args!("acsm: warning: {warning}"));
            }
            summary(&rules)
        }
        Command::Test { file, captures } => return test(&file, captures),
        Command::List => SHIPPED.iter().map(|(name, text)| list_line(name, text)).collect(),
        Command::Show { name } => match SHIPPED.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => (*text).to_owned(),
            None => bail!("no rules file `{name}` comes with acsm; `acsm rules list` names them"),
        },
    };
    output::to_stdout(|out| out.write_all(text.as_bytes()))
}

/// Replays captures with these rules, by the first flow key that they are written for.
fn test(file: &str, captures: Vec<OsString>) -> anyhow::Result<ExitCode> {
    let rules = Rules::load(file).context("the rules cannot be used")?;
    let by_connection = rules.require_flow_key(FlowKeyKind::Connection).is_ok();
    let flow_key = if by_connection { "connection" } else { "pair" };
    let options = ["acsm rules test", "--all", "--rules", file, "--flow-key", flow_key];
    let arguments = options.iter().map(OsString::from).chain(captures);
    let command = ReplayArgs::augment_args(clap::Command::new("acsm rules test"));
    let matches = command.try_get_matches_from(arguments).map_err(Usage::new)?;
    replay::run(&ReplayArgs::from_arg_matches(&matches).map_err(Usage::new)?)
}

/// `tcp-flags: 6 states, 8 transitions, 16 rules (…)`
fn summary(rules: &Rules) -> String {
    let kinds = RuleKind::ALL.into_iter().filter_map(|kind| {
        let count = rules.list.of_kind(kind).len();
        (count > 0).then(|| format!("{count} {}", kind.name()))
    });
    format!(
        "{}: {} states, {} transitions, {} rules ({})\n",
        rules.file,
        rules.machine.states().len(),
        rules.transitions,
        rules.list.len(),
        kinds.collect::<Vec<_>>().join(", "),
    )
}

/// The name of a file and its description, which is its first comment.
fn list_line(name: &str, text: &str) -> String {
    let comment = text.lines().next().unwrap_or_default().trim_start_matches(['#', ' ']);
    let about =
        comment.strip_prefix(name).map_or(comment, |rest| rest.trim_start_matches([':', ' ']));
    format!("{name:<18}{about}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_file_is_listed_with_its_description() {
        for (name, text) in SHIPPED {
            let line = list_line(name, text);
            assert!(line.starts_with(name) && line.trim_end().ends_with('.'), "{line}");
        }
    }

    #[test]
    fn a_summary_counts_states_transitions_and_rules() {
        let rules = Rules::load("tcp-flags").unwrap();
        assert_eq!(
            summary(&rules),
            "<tcp-flags>: 6 states, 8 transitions, 25 rules \
             (2 mark, 7 flag, 1 no_session, 15 threshold)\n"
        );
    }
}
