//! The lookup cache of a shard: what the store answered for the flows seen last.
//!
//! Packets come in trains: most belong to a flow that had a packet shortly before, and no flow that
//! shares a cache line with it was written since. Then its place is known, and so is the answer. An
//! entry is used only while it is certain to be what the store would answer: writes are counted by
//! line, and an entry is valid as long as the counts of its lines and the epoch are those of its
//! lookup.

use acsm_filters::{Epoch, FlowId, Found, Lines, Lookup, Store};

/// Entries of the cache, direct-mapped: several times the number of trains that run through a shard
/// at a time.
const ENTRIES: usize = 64;

/// Answers for the flows seen last; about 7 kB per shard, whatever the size of the store.
pub struct LookupCache<P> {
    /// The store's epoch in which all answers were given.
    epoch: Epoch,
    entries: [CacheEntry; ENTRIES],
    places: [P; ENTRIES],
    /// How often each line was written, by the lowest byte of its number.
    writes: [u64; 256],
}

#[derive(Debug, Clone, Copy)]
struct CacheEntry {
    id: FlowId,
    /// How often its lines had been written when it was looked up.
    writes: u64,
    lines: Lines,
    answer: Lookup,
    /// Whether it was touched since: touching it again would change nothing.
    is_fresh: bool,
}

/// A count of writes that is never reached: the entry holds no answer.
const INVALID: u64 = u64::MAX;

/// What the cache holds of a flow.
#[derive(Debug, Clone, Copy)]
pub struct Cached {
    /// What the store would answer.
    pub answer: Lookup,
    /// Whether touching the flow would change nothing.
    pub is_fresh: bool,
}

impl<P: Copy> LookupCache<P> {
    /// A cache that holds no answer, and only the place of flow 0.
    pub fn new<S: Store<Key: Default, Place = P>>(store: &S) -> LookupCache<P> {
        let id = FlowId(0);
        let place = store.locate(id, S::Key::default());
        let (lines, answer) = (store.lines(&place), Lookup::Absent);
        let entry = CacheEntry { id, writes: INVALID, lines, answer, is_fresh: false };
        LookupCache {
            epoch: Epoch::default(),
            entries: [entry; ENTRIES],
            places: [place; ENTRIES],
            writes: [0; 256],
        }
    }

    #[inline(always)]
    fn writes(&self, Lines([one, other]): Lines) -> u64 {
        self.writes[usize::from(one)].wrapping_add(self.writes[usize::from(other)])
    }

    /// The index of this flow's entry. Where the cache has another flow there, that is replaced, and
    /// the memory of this flow's place starts to load.
    #[inline(always)]
    pub fn index_of<S: Store<Key: Default, Place = P>>(&mut self, id: FlowId, store: &S) -> usize {
        let index = id.position_bits() as usize % ENTRIES;
        if self.entries[index].id != id {
            self.fill(index, id, store);
        }
        index
    }

    /// Whether a flow has an entry.
    #[inline(always)]
    pub fn has(&self, id: FlowId) -> bool {
        self.entries[id.position_bits() as usize % ENTRIES].id == id
    }

    /// What the store would answer for the flow of this entry in this epoch, if that is known.
    #[inline(always)]
    pub fn get(&self, index: usize, epoch: Epoch) -> Option<Cached> {
        let entry = &self.entries[index % ENTRIES];
        let valid = entry.writes == self.writes(entry.lines) && self.epoch == epoch;
        valid.then_some(Cached { answer: entry.answer, is_fresh: entry.is_fresh })
    }

    /// The place of the flow of this entry.
    #[inline(always)]
    pub fn place(&self, index: usize) -> P {
        self.places[index % ENTRIES]
    }

    #[inline(never)]
    fn fill<S: Store<Key: Default, Place = P>>(&mut self, index: usize, id: FlowId, store: &S) {
        let place = store.locate(id, S::Key::default());
        let entry = &mut self.entries[index % ENTRIES];
        (entry.id, entry.writes, entry.lines) = (id, INVALID, store.lines(&place));
        store.prefetch(&place);
        self.places[index % ENTRIES] = place;
    }

    /// Keeps what a lookup found, if that stands.
    #[inline]
    pub fn keep<H>(&mut self, index: usize, found: &Found<H>, epoch: Epoch) {
        if self.epoch != epoch {
            self.entries.iter_mut().for_each(|entry| entry.writes = INVALID);
            self.epoch = epoch;
        }
        if found.settled {
            self.set(index, found.answer, false);
        }
    }

    /// Notes that the flow was touched when the answer was this one. `is_fresh`: as recently as can
    /// be.
    #[inline]
    pub fn touched(&mut self, index: usize, answer: Lookup, is_fresh: bool, epoch: Epoch) {
        let is_sure = self.get(index, epoch).is_some_and(|cached| cached.answer == answer);
        self.entries[index % ENTRIES].is_fresh = is_sure && is_fresh;
    }

    /// Notes a write to the flow's lines.
    #[inline]
    pub fn wrote(&mut self, index: usize) {
        self.wrote_lines(self.entries[index % ENTRIES].lines);
    }

    /// Notes a write to these lines.
    #[inline]
    pub fn wrote_lines(&mut self, lines: Lines) {
        for line in lines.0 {
            self.writes[usize::from(line)] += 1;
        }
    }

    /// Keeps what a lookup would answer after a write, where the store told it.
    #[inline]
    pub fn keep_written(
        &mut self,
        index: usize,
        answer: Option<Lookup>,
        is_fresh: bool,
        epoch: Epoch,
    ) {
        if let Some(answer) = answer
            && self.epoch == epoch
        {
            self.set(index, answer, is_fresh);
        }
    }

    /// The answer of an entry as of now.
    #[inline(always)]
    fn set(&mut self, index: usize, answer: Lookup, is_fresh: bool) {
        let writes = self.writes(self.entries[index % ENTRIES].lines);
        let entry = &mut self.entries[index % ENTRIES];
        (entry.writes, entry.answer, entry.is_fresh) = (writes, answer, is_fresh);
    }
}
