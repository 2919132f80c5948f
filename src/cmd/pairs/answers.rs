//! The answers about keys, in the order of the keys: what `get` prints.

use std::borrow::Cow;
use std::io::{self, Write};
use std::process::ExitCode;

use serde::Serialize;

use super::NOT_FOUND;
use super::keys::Keys;
use crate::cmd::{output, stderr};
use crate::report::format::grouped;
use acsm_filters::kv::Answer;

/// Takes the number of a key in its batch and the answer about it.
pub type EachAnswer<'e> = &'e mut dyn FnMut(usize, Answer<&[u8]>);

/// What answers about batches of keys, in their order.
pub trait AnswerKeys {
    /// Calls `each` for every key.
    fn answer(&mut self, keys: &[Vec<u8>], each: EachAnswer<'_>) -> anyhow::Result<()>;
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

/// Prints the answers about all keys.
pub fn print(store: &mut impl AnswerKeys, mut keys: Keys, json: bool) -> anyhow::Result<ExitCode> {
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
            let asked = store.answer(&batch, &mut |at, answer| {
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
            if let Err(error) = asked {
                failure = Some(error);
                return Ok(());
            }
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
