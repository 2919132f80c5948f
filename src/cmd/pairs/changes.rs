//! What is to be set, and what became of keys that were set or deleted: counts, messages, exit codes.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use anyhow::anyhow;
use clap::Args;
use serde::Serialize;

use super::NOT_FOUND;
use super::format::FormatArgs;
use super::source::PairSource;
use crate::cmd::{Usage, output, stderr};
use crate::report::format::grouped;
use acsm_filters::kv::check_key;

/// How many keys that were left as they are a message names.
const NAMED_MAX: u64 = 10;

/// Why a key was left as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// It is not in the store.
    Absent,
    /// It may have several values.
    Undecided,
}

/// What became of keys that were set.
#[derive(Debug, Default, Serialize)]
pub struct Set {
    pub inserted: u64,
    pub updated: u64,
    undecided: u64,
}

/// What became of keys that were deleted.
#[derive(Debug, Default, Serialize)]
pub struct Deleted {
    pub deleted: u64,
    absent: u64,
    undecided: u64,
}

/// What to set: a pair, or the pairs of standard input.
#[derive(Debug, Args)]
pub struct PairArgs {
    /// A key; `-` reads pairs from standard input
    key: OsString,

    /// Its value
    value: Option<OsString>,

    #[command(flatten)]
    format: FormatArgs,
}

impl PairArgs {
    /// Checks the key, and that it has a value unless it is `-`.
    pub fn check(&self, usage: &str) -> anyhow::Result<()> {
        let wrong = match (&self.value, self.key == "-") {
            (None, false) => anyhow!("a value is missing: {usage}"),
            _ => match check_key(self.key.as_encoded_bytes()) {
                Ok(()) => return Ok(()),
                Err(error) => error.into(),
            },
        };
        Err(Usage::new(wrong).into())
    }

    /// Calls `set` for each key and its value. Standard input has a progress bar unless `is_quiet`.
    pub fn for_each(
        &self,
        is_quiet: bool,
        mut set: impl FnMut(&[u8], &[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        if let Some(value) = &self.value {
            return set(self.key.as_encoded_bytes(), value.as_encoded_bytes());
        }
        let source = PairSource::new(Path::new("-"), &self.format)?;
        let mut reading = source.reading(1, is_quiet);
        source.open(&reading)?.for_each(&mut reading, |pair| set(&pair.key, &pair.value))?;
        Ok(())
    }
}

impl Set {
    /// Counts a key that was left as it is, since it may have several values.
    pub fn leave(&mut self, key: &[u8], is_quiet: bool) {
        self.undecided += 1;
        name(key, Left::Undecided, self.undecided, is_quiet);
    }

    /// Tells, and returns the exit code.
    pub fn finish(&self, json: bool, is_quiet: bool) -> anyhow::Result<ExitCode> {
        if !is_quiet {
            let [inserted, updated] = [self.inserted, self.updated].map(grouped);
            let left = left_as_they_are(self.undecided);
            stderr::message(format_args!("inserted {inserted} keys, updated {updated}{left}"));
        }
        finish(self, self.undecided > 0, json)
    }
}

impl Deleted {
    /// Counts a key that was left as it is.
    pub fn leave(&mut self, key: &[u8], why: Left, is_quiet: bool) {
        *match why {
            Left::Absent => &mut self.absent,
            Left::Undecided => &mut self.undecided,
        } += 1;
        name(key, why, self.absent + self.undecided, is_quiet);
    }

    /// Tells, and returns the exit code.
    pub fn finish(&self, json: bool, is_quiet: bool) -> anyhow::Result<ExitCode> {
        let Deleted { deleted, absent, undecided } = *self;
        if !is_quiet {
            let [deleted, absent] = [deleted, absent].map(grouped);
            let left = left_as_they_are(undecided);
            stderr::message(format_args!("deleted {deleted} keys; {absent} were absent{left}"));
        }
        finish(self, absent + undecided > 0, json)
    }
}

/// Says which key was left as it is, if it is one of the first.
fn name(key: &[u8], why: Left, number: u64, is_quiet: bool) {
    if !is_quiet && number <= NAMED_MAX {
        let key = String::from_utf8_lossy(key);
        let why = match why {
            Left::Absent => "is not in the store",
            Left::Undecided => "may have several values",
        };
        stderr::message(format_args!("acsm: {key}: {why}; left as it is"));
    }
}

fn left_as_they_are(undecided: u64) -> String {
    match undecided {
        0 => String::new(),
        _ => format!("; left {} as they are, whose value is undecided", grouped(undecided)),
    }
}

fn finish(done: &impl Serialize, is_incomplete: bool, json: bool) -> anyhow::Result<ExitCode> {
    if json {
        output::json_to_stdout(done)?;
    }
    Ok(if is_incomplete { ExitCode::from(NOT_FOUND) } else { ExitCode::SUCCESS })
}
