//! `acsm cluster set` and `acsm cluster delete`: changes to a store, batch by batch.

use std::collections::HashSet;
use std::process::ExitCode;

use clap::Args;

use super::access_args::AccessArgs;
use super::{finish, refused};
use crate::cluster::store::{ClusterStore, Position};
use crate::cmd::pairs::changes::{Deleted, Left, PairArgs, Set};
use crate::cmd::pairs::keys::{KeyArgs, Keys};
use acsm_filters::kv::{Answer, Write, check_key};

const SET_EXAMPLES: &str = "\
Examples:
  acsm cluster set B00005N7P0 Magazines
  acsm cluster set - < changes.tsv

Each key is looked up first: one that is found is updated, another one inserted. The old value
is needed for that; a key that may have several values is left as it is, and the exit code is
3. After an error the pairs before it may have been written. One writer per key at a time.";

const DELETE_EXAMPLES: &str = "\
Examples:
  acsm cluster delete B00005N7P0
  acsm cluster delete - < ended.txt

Delete only keys that were put into the store: a key that was not, and is found all the same,
is a false positive, and its deletion damages others. Exit code 3 if a key is not in the store,
or may have several values and is left as it is. One writer per key at a time.";

/// Pairs that are written together.
const BATCH_PAIRS: usize = 16_384;

/// Set the values of keys: update or insert
#[derive(Debug, Args)]
#[command(after_help = SET_EXAMPLES, args_override_self = true)]
pub struct SetArgs {
    #[command(flatten)]
    access: AccessArgs,

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
    #[command(flatten)]
    access: AccessArgs,

    #[command(flatten)]
    keys: KeyArgs,

    /// Print one JSON document
    #[arg(long)]
    json: bool,

    /// No messages
    #[arg(short, long)]
    quiet: bool,
}

/// Pairs that are to be set, no key twice.
#[derive(Default)]
struct Batch {
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
    positions: Vec<Position>,
    keys: HashSet<Position>,
}

/// Sets values.
pub fn run_set(args: &SetArgs) -> anyhow::Result<ExitCode> {
    args.pair.check("acsm cluster set KEY VALUE")?;
    let mut store = args.access.open()?;
    let mut set = Set::default();
    let done = set_given(args, &mut store, &mut set);
    // Also after an error: what was written before it stays.
    done.and(finish(&mut store))?;
    set.finish(args.json, args.quiet)
}

/// Sets the pair of the command line, or those of standard input.
fn set_given(args: &SetArgs, store: &mut ClusterStore, set: &mut Set) -> anyhow::Result<()> {
    let mut batch = Batch::default();
    args.pair.for_each(args.quiet, |key, value| {
        check_key(key)?;
        let is_again = batch.keys.contains(&store.position(key));
        if is_again || batch.pairs.len() >= BATCH_PAIRS {
            set_all(store, &mut batch, set, args.quiet)?;
        }
        batch.add(store, key, value);
        Ok(())
    })?;
    set_all(store, &mut batch, set, args.quiet)
}

impl Batch {
    fn add(&mut self, store: &ClusterStore, key: &[u8], value: &[u8]) {
        let position = store.position(key);
        self.pairs.push((key.to_owned(), value.to_owned()));
        self.positions.push(position);
        self.keys.insert(position);
    }
}

/// Sets the pairs of a batch and empties it.
fn set_all(
    store: &mut ClusterStore,
    batch: &mut Batch,
    set: &mut Set,
    is_quiet: bool,
) -> anyhow::Result<()> {
    let Batch { pairs, positions, .. } = std::mem::take(batch);
    store.refresh().map_err(refused)?;
    let found = store.query(&positions).map_err(refused)?;
    let codes = store.codes(pairs.iter().map(|(_, value)| value.as_slice())).map_err(refused)?;
    let (mut insertions, mut updates, mut updated_keys) = (vec![], vec![], vec![]);
    for (((key, _), position), (found, code)) in
        pairs.iter().zip(positions).zip(found.into_iter().zip(codes))
    {
        match (found.answer, found.filter) {
            (Answer::Absent, _) => insertions.push((position, code)),
            (Answer::Found(_), Some(filter)) => {
                updates.push((position, filter, code));
                updated_keys.push(key);
            }
            _ => set.leave(key, is_quiet),
        }
    }
    store.insert(&insertions).map_err(refused)?;
    set.inserted += insertions.len() as u64;
    let changes = store.update(&updates).map_err(refused)?;
    for (key, change) in updated_keys.into_iter().zip(changes) {
        match change {
            Write::Done => set.updated += 1,
            // Another client changed what it shares cells with in between.
            Write::Absent | Write::Undecided => set.leave(key, is_quiet),
        }
    }
    Ok(())
}

/// Deletes keys.
pub fn run_delete(args: &DeleteArgs) -> anyhow::Result<ExitCode> {
    let mut keys = args.keys.keys()?;
    let mut store = args.access.open()?;
    let mut deleted = Deleted::default();
    let done = delete_given(&mut keys, &mut store, &mut deleted, args.quiet);
    done.and(finish(&mut store))?;
    deleted.finish(args.json, args.quiet)
}

/// Deletes keys batch by batch.
fn delete_given(
    keys: &mut Keys,
    store: &mut ClusterStore,
    deleted: &mut Deleted,
    is_quiet: bool,
) -> anyhow::Result<()> {
    loop {
        let batch = keys.next_batch()?;
        if batch.is_empty() {
            return Ok(());
        }
        // A key that comes twice is absent the second time.
        let mut rest = batch.as_slice();
        while !rest.is_empty() {
            let mut seen = HashSet::new();
            let many = rest.iter().take_while(|key| seen.insert(*key)).count();
            delete_all(store, &rest[..many], deleted, is_quiet)?;
            rest = &rest[many..];
        }
    }
}

/// Deletes keys that are all different.
fn delete_all(
    store: &mut ClusterStore,
    keys: &[Vec<u8>],
    done: &mut Deleted,
    is_quiet: bool,
) -> anyhow::Result<()> {
    store.refresh().map_err(refused)?;
    let positions: Vec<Position> = keys.iter().map(|key| store.position(key)).collect();
    let found = store.query(&positions).map_err(refused)?;
    let (mut deletions, mut deleted_keys) = (vec![], vec![]);
    for ((key, position), found) in keys.iter().zip(positions).zip(found) {
        match (found.answer, found.filter) {
            (Answer::Absent, _) => done.leave(key, Left::Absent, is_quiet),
            (Answer::Found(_), Some(filter)) => {
                deletions.push((position, filter));
                deleted_keys.push(key);
            }
            _ => done.leave(key, Left::Undecided, is_quiet),
        }
    }
    let changes = store.delete(&deletions).map_err(refused)?;
    for (key, change) in deleted_keys.into_iter().zip(changes) {
        match change {
            Write::Done => done.deleted += 1,
            Write::Absent => done.leave(key, Left::Absent, is_quiet),
            Write::Undecided => done.leave(key, Left::Undecided, is_quiet),
        }
    }
    Ok(())
}
