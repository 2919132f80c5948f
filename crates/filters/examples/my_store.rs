//! A store of one's own: its rules as a slow model, the conformance suite, and a comparison with the
//! stores of the crate in the same memory.
//!
//!     cargo run --release -p acsm-filters --example my_store
//!
//! Buckets of four slots of 16 bits, each with a tag of 12 bits and a state of 4, the newest first. A
//! bucket that is full forgets its oldest flow. Nothing ages.

use std::collections::VecDeque;

use acsm_filters::testing::{Counts, ErrorCounts, Flow, SlowStore, conform, errors_of};
use acsm_filters::{
    Backend, Budget, Dbf, Epoch, Expire, Fcf, FlowId, Found, Insertion, Kbf, KbfRule, Lookup, Sbf,
    SbfRule, Stamp, State, Store, StoreError, StoreSpec, StoreStats, UNTIMED,
};

const SLOTS: usize = 4;
const STATES: usize = 6;

/// Where a flow is stored: its bucket and its tag, which is never 0.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    bucket: usize,
    tag: u16,
}

/// The store. An empty slot is 0.
pub struct TagTable {
    buckets: Vec<[u16; SLOTS]>,
    stats: StoreStats,
}

impl TagTable {
    /// An empty store of this many buckets.
    pub fn new(buckets: usize) -> TagTable {
        TagTable { buckets: vec![[0; SLOTS]; buckets], stats: StoreStats::default() }
    }

    /// The slot that holds a flow.
    fn slot(&mut self, place: &Place) -> Option<&mut u16> {
        self.buckets[place.bucket].iter_mut().find(|slot| **slot >> 4 == place.tag)
    }

    /// Takes a flow out; those behind it move up.
    fn take(&mut self, place: &Place) -> bool {
        let bucket = &mut self.buckets[place.bucket];
        let Some(at) = bucket.iter().position(|slot| slot >> 4 == place.tag) else { return false };
        bucket.copy_within(at + 1.., at);
        bucket[SLOTS - 1] = 0;
        true
    }
}

impl Store for TagTable {
    type Key = ();
    type Place = Place;
    type Handle = ();

    /// A slot holds one flow, so it can be written whatever is known of it.
    const WRITES_WITHOUT_OLD_STATE: bool = true;

    fn locate(&self, id: FlowId, (): ()) -> Place {
        let buckets = self.buckets.len() as u128;
        let bucket = (u128::from(id.position_bits()) * buckets) >> 64;
        Place { bucket: bucket as usize, tag: (id.fingerprint() % 4095) as u16 + 1 }
    }

    fn prefetch(&self, _place: &Place) {}

    fn lookup(&mut self, place: &Place, _now: Epoch) -> Found<()> {
        let state = self.slot(place).and_then(|slot| State::new(usize::from(*slot & 15)));
        let answer = state.map_or(Lookup::Absent, Lookup::Known);
        Found { answer, settled: true, handle: () }
    }

    fn touch(&mut self, _place: &Place, _found: &Found<()>, _stamp: Stamp) {}

    fn insert(&mut self, place: &Place, state: State, _stamp: Stamp) -> Insertion {
        self.stats.inserted += 1;
        self.stats.inserts_of_present += u64::from(self.take(place));
        let bucket = &mut self.buckets[place.bucket];
        let forgets = bucket[SLOTS - 1] != 0;
        bucket.rotate_right(1);
        bucket[0] = place.tag << 4 | state.index() as u16;
        self.stats.evicted += u64::from(forgets);
        if forgets { Insertion::Evicted } else { Insertion::STORED }
    }

    fn modify(
        &mut self,
        place: &Place,
        _found: &Found<()>,
        new: State,
        _stamp: Stamp,
    ) -> Option<Lookup> {
        match self.slot(place) {
            Some(slot) => *slot = *slot & !15 | new.index() as u16,
            None => self.stats.writes_to_absent += 1,
        }
        None
    }

    fn delete(&mut self, place: &Place, _found: &Found<()>, _now: Epoch) {
        match self.take(place) {
            true => self.stats.deleted += 1,
            false => self.stats.writes_to_absent += 1,
        }
    }

    fn sweep(&mut self, _now: Epoch, _budget_cells: usize) -> usize {
        0
    }

    fn stats(&self) -> StoreStats {
        let used = self.buckets.iter().flatten().filter(|slot| **slot != 0).count() as u64;
        let cells = (self.buckets.len() * SLOTS) as u64;
        StoreStats { cells, occupied: used, live: used as f64, ..self.stats }
    }
}

/// Its rules, from the first lines of this file and from nothing else.
struct SlowTagTable {
    buckets: Vec<VecDeque<(u32, State)>>,
    counts: Counts,
}

impl SlowTagTable {
    fn new(buckets: usize) -> SlowTagTable {
        SlowTagTable { buckets: vec![VecDeque::new(); buckets], counts: Counts::default() }
    }

    fn place(&self, flow: &Flow) -> (usize, u32) {
        let share = flow.id.position_bits() as f64 / 2f64.powi(64);
        ((share * self.buckets.len() as f64) as usize, flow.id.fingerprint() % 4095)
    }

    fn position(&self, flow: &Flow) -> Option<(usize, usize)> {
        let (bucket, tag) = self.place(flow);
        let at = self.buckets[bucket].iter().position(|(other, _)| *other == tag)?;
        Some((bucket, at))
    }
}

impl SlowStore for SlowTagTable {
    fn advance(&mut self, _now: i64) {}

    fn lookup(&self, flow: &Flow) -> Lookup {
        self.position(flow)
            .map_or(Lookup::Absent, |(bucket, at)| Lookup::Known(self.buckets[bucket][at].1))
    }

    fn touch(&mut self, _flow: &Flow, _found: Lookup, _at: i64) {}

    fn insert(&mut self, flow: &Flow, state: State, _at: i64) {
        if let Some((bucket, at)) = self.position(flow) {
            self.counts.inserts_of_present += 1;
            self.buckets[bucket].remove(at);
        }
        let (bucket, tag) = self.place(flow);
        self.buckets[bucket].push_front((tag, state));
        if self.buckets[bucket].len() > SLOTS {
            self.counts.evicted += 1;
            self.buckets[bucket].pop_back();
        }
    }

    fn modify(&mut self, flow: &Flow, _old: Lookup, new: State, _at: i64) {
        match self.position(flow) {
            Some((bucket, at)) => self.buckets[bucket][at].1 = new,
            None => self.counts.writes_to_absent += 1,
        }
    }

    fn delete(&mut self, flow: &Flow, _old: Lookup) {
        match self.position(flow) {
            Some((bucket, at)) => drop(self.buckets[bucket].remove(at)),
            None => self.counts.writes_to_absent += 1,
        }
    }

    fn counts(&self) -> Counts {
        let occupied = self.buckets.iter().map(VecDeque::len).sum::<usize>() as u64;
        Counts { occupied, ..self.counts }
    }
}

/// Flows that are stored in a comparison.
const FLOWS: usize = 20_000;
const BITS_PER_FLOW: usize = 40;

/// The errors of each store in the same memory.
fn compare() -> Result<Vec<(&'static str, ErrorCounts)>, StoreError> {
    let spec = |backend| StoreSpec {
        expire: Expire::None,
        flows: (FLOWS * FlowId::SHARDS) as u64,
        budget: Budget::MemoryBytes((FLOWS * FlowId::SHARDS * BITS_PER_FLOW / 8) as u64),
        ..StoreSpec::new(backend, STATES)
    };
    let (dbf, sbf, kbf, fcf) =
        (spec(Backend::Dbf), spec(Backend::Sbf), spec(Backend::Kbf), spec(Backend::Fcf));
    let mut mine = TagTable::new(FLOWS * BITS_PER_FLOW / (16 * SLOTS));
    let mut dbf = Dbf::<2, UNTIMED>::new(STATES, &dbf.sizing()?)?;
    let mut fcf = Fcf::<false>::new(STATES, &fcf.sizing()?)?;
    let mut rows = vec![("mine", errors(&mut mine)), ("dbf", errors(&mut dbf))];
    let rule = SbfRule::for_spec(&sbf);
    rows.push(("sbf", errors(&mut Sbf::<8, UNTIMED>::new(rule, &sbf.sizing()?)?)));
    let rule = KbfRule::for_spec(&kbf, 8);
    rows.push(("kbf", errors(&mut Kbf::<8, UNTIMED>::new(rule, &kbf.sizing()?)?)));
    rows.push(("fcf", errors(&mut fcf)));
    Ok(rows)
}

fn errors<S: Store<Key = ()>>(store: &mut S) -> ErrorCounts {
    errors_of(store, FLOWS, STATES, 10 * FLOWS)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    conform(|| Ok(TagTable::new(2)), |_start| SlowTagTable::new(2), STATES, 500)?;
    println!("TagTable follows its rules in 500 random runs.\n");
    println!("{FLOWS} flows, {BITS_PER_FLOW} bits for each:");
    println!(
        "{:>6}  {:>9}  {:>11}  {:>10}  {:>12}",
        "", "not found", "wrong state", "don't know", "absent found"
    );
    for (name, errors) in compare()? {
        let found = errors.absent_found + errors.absent_dont_know;
        let share = |count: u64, of: u64| format!("{:.1e}", count as f64 / of as f64);
        println!(
            "{name:>6}  {:>9}  {:>11}  {:>10}  {:>12}",
            share(errors.not_found, errors.stored),
            share(errors.wrong_state, errors.stored),
            share(errors.dont_know, errors.stored),
            share(found, errors.absent),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_its_rules() {
        for buckets in [1, 2, 5] {
            let new = || Ok(TagTable::new(buckets));
            conform(new, |_start| SlowTagTable::new(buckets), STATES, 300)
                .unwrap_or_else(|divergence| panic!("{divergence}"));
        }
    }

    #[test]
    fn every_store_of_the_comparison_holds_most_flows() {
        for (name, errors) in compare().expect("stores of this size") {
            assert!(errors.wrong_of_stored() < FLOWS as u64 / 2, "{name}: {errors:?}");
        }
    }
}
