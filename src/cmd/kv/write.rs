//! `acsm kv set` and `acsm kv delete`: changes to a store, all of them or none.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::anyhow;
use clap::Args;
use serde::Serialize;

use super::NOT_FOUND;
use super::keys::Keys;
use super::pairs::FormatArgs;
use super::source::PairSource;
use super::store_file::{load, lock, refused, save};
use super::structure::Described;
use crate::cmd::{Usage, output, stderr};
use crate::report::format::grouped;
use acsm_filters::kv::{Answer, KvStore, LoadedKv, Write, check_key};

const SET_EXAMPLES: &str = "\
Examples:
  acsm kv set groups.kv B00005N7P0 Magazines
  acsm kv set groups.kv - < changes.tsv

Each key is looked up first: one that is found is updated, another one inserted. The old value
is needed for that; a key that may have several values is left as it is, and the exit code is
3. The file is replaced once, after the last pair; after an error it is as it was. If another
process is changing the store, this one waits.";

const DELETE_EXAMPLES: &str = "\
Examples:
  acsm kv delete groups.kv B00005N7P0
  acsm kv delete groups.kv - < ended.txt

Delete only keys that were put into the store: a key that was not, and is found all the same,
is a false positive, and its deletion damages others. Exit code 3 if a key is not in the store,
or may have several values and is left as it is. The file is replaced once, after the last key;
after an error it is as it was. If another process is changing the store, this one waits.";

/// How many keys that were left as they are a message names.
const NAMED_MAX: u64 = 10;

/// Set the values of keys: update or insert
#[derive(Debug, Args)]
#[command(after_help = SET_EXAMPLES, args_override_self = true)]
pub struct SetArgs {
    /// The store
    file: PathBuf,

    /// A key; `-` reads pairs from standard input
    key: OsString,

    /// Its value
    value: Option<OsString>,

    #[command(flatten)]
    format: FormatArgs,

    /// Print one JSON document
    #[arg(long)]
    json: bool,

    /// No progress bar, no messages
    #[arg(short, long)]
    quiet: bool,
}

/// Delete keys
#[derive(Debug, Args)]
#[command(after_help = DELETE_EXAMPLES, args_override_self = true)]
pub struct DeleteArgs {
    /// The store
    file: PathBuf,

    /// Keys; `-` reads them from standard input, one per line
    #[arg(required = true, value_name = "KEY")]
    keys: Vec<OsString>,

    /// Print one JSON document
    #[arg(long)]
    json: bool,

    /// No messages
    #[arg(short, long)]
    quiet: bool,
}

/// What became of keys that were set.
#[derive(Debug, Default, Serialize)]
struct Set {
    inserted: u64,
    updated: u64,
    undecided: u64,
}

/// What became of keys that were deleted.
#[derive(Debug, Default, Serialize)]
struct Deleted {
    deleted: u64,
    absent: u64,
    undecided: u64,
}

/// Sets values.
pub fn run_set(args: &SetArgs) -> anyhow::Result<ExitCode> {
    args.check()?;
    let _lock = lock(&args.file, args.quiet)?;
    match load(&args.file)? {
        LoadedKv::Kbf(store) => set_all(store, args),
        LoadedKv::Fcf(store) => set_all(store, args),
    }
}

/// Deletes keys.
pub fn run_delete(args: &DeleteArgs) -> anyhow::Result<ExitCode> {
    let keys = Keys::new(&args.keys)?;
    let _lock = lock(&args.file, args.quiet)?;
    match load(&args.file)? {
        LoadedKv::Kbf(store) => delete_all(store, keys, args),
        LoadedKv::Fcf(store) => delete_all(store, keys, args),
    }
}

impl SetArgs {
    fn check(&self) -> anyhow::Result<()> {
        let wrong = match (&self.value, self.key == "-") {
            (None, false) => anyhow!("a value is missing: acsm kv set FILE KEY VALUE"),
            _ => match check_key(self.key.as_encoded_bytes()) {
                Ok(()) => return Ok(()),
                Err(error) => error.into(),
            },
        };
        Err(Usage::new(wrong).into())
    }
}

fn set_all<M: Described>(mut store: KvStore<M>, args: &SetArgs) -> anyhow::Result<ExitCode> {
    let mut set = Set::default();
    match &args.value {
        Some(value) => {
            let (key, value) = (args.key.as_encoded_bytes(), value.as_encoded_bytes());
            set_one(&mut store, key, value, &mut set, args.quiet)?;
        }
        None => {
            let source = PairSource::new(Path::new("-"), &args.format)?;
            let mut reading = source.reading(1, args.quiet);
            source.open(&reading)?.for_each(&mut reading, |pair| {
                set_one(&mut store, &pair.key, &pair.value, &mut set, args.quiet)
            })?;
        }
    }
    if set.inserted + set.updated > 0 {
        save(&args.file, &store)?;
    }
    let Set { inserted, updated, undecided } = set;
    if !args.quiet {
        let [inserted, updated] = [inserted, updated].map(grouped);
        let left = left_as_they_are(undecided);
        stderr::message(format_args!("inserted {inserted} keys, updated {updated}{left}"));
    }
    finish(&set, undecided > 0, args.json)
}

fn set_one<M: Described>(
    store: &mut KvStore<M>,
    key: &[u8],
    value: &[u8],
    set: &mut Set,
    is_quiet: bool,
) -> anyhow::Result<()> {
    check_key(key)?;
    let is_new = store.query(key) == Answer::Absent;
    match store.set(key, value).map_err(refused)? {
        Write::Done if is_new => set.inserted += 1,
        Write::Done => set.updated += 1,
        Write::Absent | Write::Undecided => {
            set.undecided += 1;
            name(key, "may have several values", set.undecided, is_quiet);
        }
    }
    Ok(())
}

fn delete_all<M: Described>(
    mut store: KvStore<M>,
    mut keys: Keys,
    args: &DeleteArgs,
) -> anyhow::Result<ExitCode> {
    let mut done = Deleted::default();
    loop {
        let batch = keys.next_batch()?;
        if batch.is_empty() {
            break;
        }
        for key in &batch {
            match store.delete(key)? {
                Write::Done => done.deleted += 1,
                Write::Absent => {
                    done.absent += 1;
                    name(key, "is not in the store", done.absent + done.undecided, args.quiet);
                }
                Write::Undecided => {
                    done.undecided += 1;
                    let number = done.absent + done.undecided;
                    name(key, "may have several values", number, args.quiet);
                }
            }
        }
    }
    if done.deleted > 0 {
        save(&args.file, &store)?;
    }
    let Deleted { deleted, absent, undecided } = done;
    if !args.quiet {
        let [deleted, absent] = [deleted, absent].map(grouped);
        let left = left_as_they_are(undecided);
        stderr::message(format_args!("deleted {deleted} keys; {absent} were absent{left}"));
    }
    finish(&done, absent + undecided > 0, args.json)
}

/// Says which key was left as it is, if it is one of the first.
fn name(key: &[u8], why: &str, number: u64, is_quiet: bool) {
    if !is_quiet && number <= NAMED_MAX {
        let key = String::from_utf8_lossy(key);
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
