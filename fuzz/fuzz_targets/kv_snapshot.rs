//! Any bytes as the file of a key-value store, and any change to the content of its sections with right
//! checksums: a store that works, or an error; never a panic, and no memory for what is only claimed.
#![no_main]

use std::sync::LazyLock;

use acsm_filters::kv::{KvLoadError, KvSpec, KvStore, LoadedKv, Maplet, SavedMaplet};
use acsm_filters::snapshot::{Section, SectionKind, SnapshotReader, SnapshotWriter};
use libfuzzer_sys::fuzz_target;

/// Parameters, values, and two filters.
const SECTIONS: [SectionKind; 4] =
    [SectionKind(*b"KVPA"), SectionKind(*b"KVVA"), SectionKind(*b"KVFI"), SectionKind(*b"KVFI")];

static KBF: LazyLock<[Section; 4]> = LazyLock::new(|| saved(KvStore::new(&spec())));
static FCF: LazyLock<[Section; 4]> = LazyLock::new(|| saved(KvStore::new_fcf(&spec())));

fn spec() -> KvSpec {
    KvSpec { rate: 0.1, ..KvSpec::new(8, 20) }
}

/// The sections of a store that has grown to a second filter.
fn saved<M: SavedMaplet, E: std::fmt::Debug>(store: Result<KvStore<M>, E>) -> [Section; 4] {
    let mut store = store.expect("a small store");
    let mut key = 0;
    while store.filters().len() < 2 {
        store.insert(&[key], &[key % 20]).expect("keys and values are few and short");
        key += 1;
    }
    let mut out = SnapshotWriter::new(vec![]).expect("memory takes everything");
    store.save(&mut out).expect("memory takes everything");
    let bytes = out.finish().expect("memory takes everything");
    let mut input = SnapshotReader::new(&bytes[..]).expect("the header is right");
    SECTIONS.map(|kind| input.section(kind).expect("the section is right"))
}

fuzz_target!(|data: &[u8]| {
    check(data);
    let Some(([structure, section], changes)) = data.split_first_chunk() else { return };
    let mut sections = if structure % 2 == 0 { KBF.clone() } else { FCF.clone() };
    let content = &mut sections[usize::from(section % 4)].content;
    alter(content, changes);
    let mut out = SnapshotWriter::new(vec![]).expect("memory takes everything");
    for Section { kind, content, .. } in &sections {
        out.section(*kind, content).expect("memory takes everything");
    }
    check(&out.finish().expect("memory takes everything"));
});

/// Changes of three bytes: where, as two bytes, and which bits. A place beyond the content cuts it there.
fn alter(content: &mut Vec<u8>, changes: &[u8]) {
    for &[low, high, bits] in changes.as_chunks().0 {
        let place = usize::from(u16::from_le_bytes([low, high]));
        match content.get_mut(place) {
            Some(byte) => *byte ^= bits,
            None => content.truncate(usize::from(bits)),
        }
    }
}

/// Loads a store and uses it.
fn check(bytes: &[u8]) {
    match load(bytes) {
        Ok(LoadedKv::Kbf(mut store)) => {
            use_store(&mut store);
            if store.compress().is_ok() {
                use_store(&mut store);
            }
            store.compact().expect("filters of one store");
        }
        Ok(LoadedKv::Fcf(mut store)) => use_store(&mut store),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn load(bytes: &[u8]) -> Result<LoadedKv, KvLoadError> {
    let mut input = SnapshotReader::new(bytes)?;
    let store = LoadedKv::load(&mut input)?;
    input.finish()?;
    Ok(store)
}

/// Any operation may be refused or do damage, as the content may be that of no store.
fn use_store<M: Maplet>(store: &mut KvStore<M>) {
    let keys: Vec<[u8; 1]> = (0..40).map(|key| [key]).collect();
    for key in &keys {
        store.query(key);
        let _ = store.set(key, b"value");
        let _ = store.delete(key);
    }
    store.query_many(&keys, |_, _| {});
    assert!(store.stats().bytes.total() < 1 << 24);
}
