//! Files with a store: loading and saving, and what to do about what the library refuses.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};

use crate::atomic_file::{self, WriteLock};
use crate::cmd::stderr;
use acsm_filters::codes::CodeFamily;
use acsm_filters::kv::{KbfMap, KvError, KvLoadError, KvStore, LoadedKv, SavedMaplet};
use acsm_filters::snapshot::{SnapshotReader, SnapshotWriter};

/// The store in a file.
pub fn load(path: &Path) -> anyhow::Result<LoadedKv> {
    let name = path.display();
    let file = File::open(path).with_context(|| {
        format!("cannot open the store {name}; `acsm kv create -o {name}` makes one")
    })?;
    read(BufReader::new(file)).with_context(|| format!("{name} cannot be used as a store"))
}

fn read(file: BufReader<File>) -> Result<LoadedKv, KvLoadError> {
    let mut input = SnapshotReader::new(file)?;
    let store = LoadedKv::load(&mut input)?;
    input.finish()?;
    Ok(store)
}

/// The same, if it is over a key-value Bloom filter, as this command needs.
pub fn load_kbf(path: &Path, command: &str) -> anyhow::Result<KvStore<KbfMap>> {
    match load(path)? {
        LoadedKv::Kbf(store) => Ok(store),
        LoadedKv::Fcf(_) => bail!(
            "{} is an fcf, and `{command}` takes key-value Bloom filters only; \
             create it with --store kbf",
            path.display()
        ),
    }
}

/// Waits until no other `acsm kv` is changing the store in this file, which may not be there yet. To be
/// held from before the store is read until it is written, so that no change is lost.
pub fn lock(path: &Path, is_quiet: bool) -> anyhow::Result<Option<WriteLock>> {
    let name = path.display();
    let on_wait = || {
        if !is_quiet {
            stderr::message(format_args!("acsm: another process is changing {name}: waiting"));
        }
    };
    WriteLock::acquire(path, on_wait).with_context(|| format!("cannot lock the store {name}"))
}

/// Writes a store. If that fails, a file that was there stays as it was.
pub fn save<M: SavedMaplet>(path: &Path, store: &KvStore<M>) -> anyhow::Result<()> {
    let written = atomic_file::replace(path, |file| {
        let mut out = SnapshotWriter::new(file)?;
        store.save(&mut out)?;
        out.finish().map(drop)
    });
    written.with_context(|| format!("the store was not saved to {}", path.display()))
}

/// What the library refuses, with what to do about it.
pub fn refused(error: KvError) -> anyhow::Error {
    let advice = match error {
        KvError::ValuesInUse { .. } => "; create it anew with a larger --values",
        KvError::TooManyValues { family: CodeFamily::Greedy, .. } => {
            "; use --codes algebraic, or --store fcf"
        }
        KvError::Different(_) => "; create one of them with --like and the other",
        KvError::NotHalvable { .. } => "; it has been compressed often enough",
        _ => "",
    };
    anyhow!("{error}{advice}")
}
