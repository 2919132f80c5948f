//! `acsm kv set` and `acsm kv delete`: changes to a store, all of them or none.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::store_file::{load, lock, refused, save};
use super::structure::Described;
use crate::cmd::pairs::changes::{Deleted, Left, PairArgs, Set};
use crate::cmd::pairs::keys::{KeyArgs, Keys};
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

/// Set the values of keys: update or insert
#[derive(Debug, Args)]
#[command(after_help = SET_EXAMPLES, args_override_self = true)]
pub struct SetArgs {
    /// The store
    file: PathBuf,

    #[command(flatten)]
    pair: PairArgs,

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

    #[command(flatten)]
    keys: KeyArgs,

    /// Print one JSON document
    #[arg(long)]
    json: bool,

    /// No messages
    #[arg(short, long)]
    quiet: bool,
}

/// Sets values.
pub fn run_set(args: &SetArgs) -> anyhow::Result<ExitCode> {
    args.pair.check("acsm kv set FILE KEY VALUE")?;
    let _lock = lock(&args.file, args.quiet)?;
    match load(&args.file)? {
        LoadedKv::Kbf(store) => set_all(store, args),
        LoadedKv::Fcf(store) => set_all(store, args),
    }
}

/// Deletes keys.
pub fn run_delete(args: &DeleteArgs) -> anyhow::Result<ExitCode> {
    let keys = args.keys.keys()?;
    let _lock = lock(&args.file, args.quiet)?;
    match load(&args.file)? {
        LoadedKv::Kbf(store) => delete_all(store, keys, args),
        LoadedKv::Fcf(store) => delete_all(store, keys, args),
    }
}

fn set_all<M: Described>(mut store: KvStore<M>, args: &SetArgs) -> anyhow::Result<ExitCode> {
    let mut set = Set::default();
    args.pair
        .for_each(args.quiet, |key, value| set_one(&mut store, key, value, &mut set, args.quiet))?;
    if set.inserted + set.updated > 0 {
        save(&args.file, &store)?;
    }
    set.finish(args.json, args.quiet)
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
        Write::Absent | Write::Undecided => set.leave(key, is_quiet),
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
                Write::Absent => done.leave(key, Left::Absent, args.quiet),
                Write::Undecided => done.leave(key, Left::Undecided, args.quiet),
            }
        }
    }
    if done.deleted > 0 {
        save(&args.file, &store)?;
    }
    done.finish(args.json, args.quiet)
}
