//! `acsm kv get`: the values of keys, in the order of the keys.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::NOT_FOUND;
use super::keys::Keys;
use super::store_file::load;
use crate::cmd::{output, stderr};
use crate::report::format::grouped;
use acsm_filters::kv::{Answer, KvStore, LoadedKv, Maplet};

const EXAMPLES: &str = "\
Examples:
  acsm kv get groups.kv B00005N7P0
  acsm kv get groups.kv --json B00005N7P0 B000BO0GC6
  cut -f 3 sales.tsv | acsm kv get groups.kv - | cut -f 2 | sort | uniq -c

A line per key: the key, a tab, its value; nothing after the tab if the key is not in the
store, or if several values are possible, which --json lists. Exit code 3 if there was such a
key. A key that was never put into the store may be found all the same, at the rate that
`acsm kv info` shows.";

/// Look up keys
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub struct GetArgs {
    /// The store
    file: PathBuf,

    /// Keys; `-` reads them from standard input, one per line
    #[arg(required = true, value_name = "KEY")]
    keys: Vec<OsString>,

    /// Print one JSON object per key
    #[arg(long)]
    json: bool,
}

/// One line of `--json`. Bytes that are no UTF-8 are shown as U+FFFD.
#[derive(Serialize)]
struct Line<'a> {
    key: Cow<'a, str>,
    answer: &'static str,
    value: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<Cow<'a, str>>,
}

/// Keys that were not found.
#[derive(Debug, Default)]
struct Missed {
    absent: u64,
    undecided: u64,
}

/// Prints the answers.
pub fn run(args: &GetArgs) -> anyhow::Result<ExitCode> {
    let keys = Keys::new(&args.keys)?;
    match load(&args.file)? {
        LoadedKv::Kbf(store) => answer_all(&store, keys, args.json),
        LoadedKv::Fcf(store) => answer_all(&store, keys, args.json),
    }
}

fn answer_all<M: Maplet>(
    store: &KvStore<M>,
    mut keys: Keys,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let (mut missed, mut failure) = (Missed::default(), None);
    output::bytes_to_stdout(|out| {
        loop {
            let batch = match keys.next_batch() {
                Ok(batch) if batch.is_empty() => return Ok(()),
                Ok(batch) => batch,
                Err(error) => {
                    failure = Some(error);
                    return Ok(());
                }
            };
            let mut written = Ok(());
            store.query_many(&batch, |at, answer| {
                missed.count(&answer);
                if written.is_ok() {
                    written = match json {
                        true => write_json(out, &batch[at], answer),
                        false => write_text(out, &batch[at], answer),
                    };
                }
            });
            // Whoever sends the keys may wait for the answers.
            written.and_then(|()| out.flush())?;
        }
    })?;
    if let Some(error) = failure {
        return Err(error);
    }
    if missed.undecided > 0 && !json {
        stderr::message(format_args!(
            "acsm: {} keys may have several values: --json lists them",
            grouped(missed.undecided)
        ));
    }
    Ok(match missed {
        Missed { absent: 0, undecided: 0 } => ExitCode::SUCCESS,
        _ => ExitCode::from(NOT_FOUND),
    })
}

impl Missed {
    fn count(&mut self, answer: &Answer<&[u8]>) {
        match answer {
            Answer::Found(_) => {}
            Answer::Absent => self.absent += 1,
            Answer::OneOf(_) | Answer::Undecided => self.undecided += 1,
        }
    }
}

fn write_text(out: &mut impl Write, key: &[u8], answer: Answer<&[u8]>) -> io::Result<()> {
    out.write_all(key)?;
    out.write_all(b"\t")?;
    out.write_all(answer.found().unwrap_or_default())?;
    out.write_all(b"\n")
}

fn write_json(out: &mut impl Write, key: &[u8], answer: Answer<&[u8]>) -> io::Result<()> {
    let name = match &answer {
        Answer::Absent => "absent",
        Answer::Found(_) => "found",
        Answer::OneOf(_) => "one_of",
        Answer::Undecided => "undecided",
    };
    let (value, values) = match answer {
        Answer::Found(value) => (Some(String::from_utf8_lossy(value)), vec![]),
        Answer::OneOf(values) => (None, values.into_iter().map(String::from_utf8_lossy).collect()),
        Answer::Absent | Answer::Undecided => (None, vec![]),
    };
    let line = Line { key: String::from_utf8_lossy(key), answer: name, value, values };
    serde_json::to_writer(&mut *out, &line)?;
    writeln!(out)
}
