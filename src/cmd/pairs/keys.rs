//! Keys to look up or to delete: from the command line, or from standard input, one per line.

use std::ffi::OsString;
use std::io::{self, Stdin};

use anyhow::{Context as _, anyhow};
use clap::Args;

use super::lines::Lines;
use crate::cmd::Usage;
use acsm_filters::kv::check_key;

/// The most keys that are looked up together.
const BATCH_KEYS: usize = 4096;

/// The keys that a command is about.
#[derive(Debug, Args)]
pub struct KeyArgs {
    /// Keys; `-` reads them from standard input, one per line
    #[arg(required = true, value_name = "KEY")]
    keys: Vec<OsString>,
}

impl KeyArgs {
    /// The keys.
    pub fn keys(&self) -> anyhow::Result<Keys> {
        Keys::new(&self.keys)
    }
}

/// Keys in batches, in their order.
pub enum Keys {
    /// Of the command line: one batch.
    Given(Vec<Vec<u8>>),
    /// Of standard input.
    Lines {
        lines: Lines<Stdin>,
        /// An error after the batch that was returned last.
        failure: Option<anyhow::Error>,
    },
}

impl Keys {
    /// The keys that are given; `-` alone is standard input.
    fn new(given: &[OsString]) -> anyhow::Result<Keys> {
        if given == ["-"] {
            return Ok(Keys::Lines { lines: Lines::new(io::stdin()), failure: None });
        }
        let keys: Vec<Vec<u8>> =
            given.iter().map(|key| key.as_encoded_bytes().to_owned()).collect();
        for key in &keys {
            check_key(key).map_err(Usage::new)?;
            if key == b"-" {
                return Err(
                    Usage::new(anyhow!("`-`, for keys on standard input, stands alone")).into()
                );
            }
        }
        Ok(Keys::Given(keys))
    }

    /// The next keys; none at the end. A batch ends where the next key has to be waited for.
    pub fn next_batch(&mut self) -> anyhow::Result<Vec<Vec<u8>>> {
        let (lines, failure) = match self {
            Keys::Given(keys) => return Ok(std::mem::take(keys)),
            Keys::Lines { lines, failure } => (lines, failure),
        };
        if let Some(error) = failure.take() {
            return Err(error);
        }
        let mut batch = vec![];
        while batch.is_empty() || (batch.len() < BATCH_KEYS && !lines.is_dry()) {
            match next_key(lines) {
                Ok(Some(key)) => batch.push(key),
                Ok(None) => break,
                Err(error) if batch.is_empty() => return Err(error),
                Err(error) => {
                    *failure = Some(error);
                    break;
                }
            }
        }
        Ok(batch)
    }
}

fn next_key(lines: &mut Lines<Stdin>) -> anyhow::Result<Option<Vec<u8>>> {
    let mut key = vec![];
    if !lines.next(&mut key).context("standard input")? {
        return Ok(None);
    }
    check_key(&key).with_context(|| format!("standard input: line {}", lines.number()))?;
    Ok(Some(key))
}
