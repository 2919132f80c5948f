//! The same store in this process: what every slab should hold and every query answer.

use std::collections::HashMap;

use acsm::cluster::access::Access;
use acsm::cluster::layout::SlabId;
use acsm::cluster::router::{Request, Router};
use acsm::cluster::store::ClusterStore;
use acsm_filters::kv::{Answer, KbfMap};

use crate::cluster::servers::Cluster;

/// Pairs that `acsm cluster load` looks up together.
const LOAD_BATCH: usize = 32_768;

/// A store of filters in this process, with the layout and the parameters of one in a cluster.
pub struct Shadow {
    pub store: ClusterStore,
    filters: HashMap<SlabId, KbfMap>,
    values: Vec<String>,
}

pub fn open(cluster: &Cluster) -> ClusterStore {
    let access = Access::from_url(&cluster.url()).unwrap();
    ClusterStore::open(Router::connect(access).unwrap(), "acsm").unwrap()
}

impl Shadow {
    pub fn new(cluster: &Cluster) -> Shadow {
        Shadow { store: open(cluster), filters: HashMap::new(), values: vec![] }
    }

    fn code(&mut self, value: &str) -> u32 {
        let known = self.values.iter().position(|other| other == value);
        known.unwrap_or_else(|| {
            self.values.push(value.to_owned());
            self.values.len() - 1
        }) as u32
    }

    fn filter(&mut self, id: SlabId) -> &mut KbfMap {
        let parameters = self.store.description().parameters;
        self.filters.entry(id).or_insert_with(|| KbfMap::new(parameters).unwrap())
    }

    /// Inserts a pair into the first filter that is not full.
    pub fn insert(&mut self, key: &str, value: &str) {
        let code = self.code(value);
        let position = self.store.position(key.as_bytes());
        let capacity = self.store.description().parameters.capacity;
        let mut id = SlabId { slab: position.slab, generation: 0 };
        while self.filter(id).pairs() >= capacity {
            id.generation += 1;
        }
        self.filter(id).insert(position.digest, code);
    }

    /// Changes the value of a key in the filter that has it.
    pub fn update(&mut self, key: &str, filter: SlabId, old: &str, new: &str) {
        let (old, new) = (self.code(old), self.code(new));
        let digest = self.store.position(key.as_bytes()).digest;
        self.filter(filter).update(digest, old, new);
    }

    /// Removes a key from the filter that has it.
    pub fn delete(&mut self, key: &str, filter: SlabId, value: &str) {
        let code = self.code(value);
        let digest = self.store.position(key.as_bytes()).digest;
        self.filter(filter).delete(digest, code);
    }

    /// Inserts pairs as `acsm cluster load` does: those that seem to be there already come last, since
    /// the file is read again for them. That decides which of them find a filter full.
    pub fn load(&mut self, pairs: impl Iterator<Item = (String, String)>) {
        let pairs: Vec<(String, String)> = pairs.collect();
        let mut aside = vec![];
        for batch in pairs.chunks(LOAD_BATCH) {
            let is_absent = |(key, _): &&(String, String)| self.answer(key) == Answer::Absent;
            let (absent, present): (Vec<_>, Vec<_>) = batch.iter().partition(is_absent);
            absent.into_iter().for_each(|(key, value)| self.insert(key, value));
            aside.extend(present);
        }
        aside.into_iter().for_each(|(key, value)| self.insert(key, value));
    }

    pub fn answer(&self, key: &str) -> Answer<String> {
        let position = self.store.position(key.as_bytes());
        let assigned = self.values.len() as u32;
        let of_slab = (0..)
            .map(|generation| self.filters.get(&SlabId { slab: position.slab, generation }))
            .map_while(|filter| filter);
        let mut answers = of_slab.map(|filter| filter.query(position.digest, assigned));
        let first = answers.next().unwrap_or(Answer::Absent);
        let answer = answers.fold(first, |all, answer| match (all, answer) {
            (all, Answer::Absent) => all,
            (Answer::Absent, answer) => answer,
            (all, answer) => all.or(answer),
        });
        let value = |code: u32| self.values[code as usize].clone();
        match answer {
            Answer::Absent => Answer::Absent,
            Answer::Undecided => Answer::Undecided,
            Answer::Found(code) => Answer::Found(value(code)),
            Answer::OneOf(codes) => Answer::OneOf(codes.into_iter().map(value).collect()),
        }
    }

    /// Asserts that every slab of the cluster has the cells of this one, in all their bytes.
    #[track_caller]
    pub fn assert_equal_cells(&mut self) {
        self.store.refresh().unwrap();
        let ids: Vec<SlabId> = self.store.description().all_filters().collect();
        for id in ids {
            let layout = self.store.layout();
            let get =
                Request::new(layout.slot(id.slab), redis::cmd("GET").arg(layout.slab_key(id)));
            let reply = self.store.router.run_one(get).unwrap().unwrap();
            let bytes: Vec<u8> = redis::from_redis_value(reply).unwrap();
            let cells = self.filter(id).bytes();
            // The header before and the end after have a fixed length: see docs/kbf-commands.md.
            let found = &bytes[1734..][..cells.len()];
            let differ = found.iter().zip(cells).filter(|(a, b)| a != b).count();
            assert_eq!(differ, 0, "bytes of {id:?} that differ, of {}", cells.len());
        }
    }
}

/// Pairs of a test: `key N`, with one of 300 values.
pub fn pairs(range: std::ops::Range<u32>) -> impl Iterator<Item = (String, String)> {
    let value = |number: u32| u64::from(number) * 7919 % 300;
    range.map(move |number| (format!("key {number}"), format!("value {}", value(number))))
}

/// The same as lines of TSV.
pub fn tsv(range: std::ops::Range<u32>) -> String {
    pairs(range).map(|(key, value)| format!("{key}\t{value}\n")).collect()
}
