//! Stores that were saved and loaded: no difference, whatever happens before and after. And content
//! that no store saved: an error, or a store that works.

use acsm_filters::pending::{Evidence, PendingFlow, PendingTable};
use acsm_filters::snapshot::{Persist, SectionKind, SnapshotReader, SnapshotWriter};
use acsm_filters::{
    Backend, Budget, Epoch, Expire, Found, Insertion, KbfDecode, LayoutKind, Lookup, Random,
    RecycleAt, SbfRules, State, Store, StoreError, StoreSpec, StoreStats,
};

use crate::support::{
    Flow, FlowKey, Memory, StoreUser, claiming, flows, locate, saved, saved_and_loaded, with_store,
};

const FLOWS: usize = 60;
const STEPS: usize = 1500;

/// Everything that an operation returned, and what the store said afterwards.
#[derive(Debug, PartialEq)]
struct Outcome {
    answer: Lookup,
    is_settled: bool,
    done: Done,
    has_room: bool,
    epoch: Epoch,
}

#[derive(Debug, PartialEq)]
enum Done {
    Swept(usize),
    Deleted,
    Touched,
    Inserted(Insertion),
    Modified(Option<Lookup>),
}

/// One operation on a store, drawn with `random`.
fn step<S: Store<Key: FlowKey>>(
    store: &mut S,
    spec: &StoreSpec,
    flows: &[Flow],
    now: Epoch,
    random: &mut Random,
) -> Outcome {
    let flow = &flows[random.below(flows.len() as u64) as usize];
    let state = State::new(random.below(spec.states as u64) as usize).unwrap();
    let stamp = if random.chance(0.3) { now.half_stamp() } else { now.stamp() };
    let place = locate(store, flow);
    let found = store.lookup(&place, now);
    let done = match (random.below(10), found.answer) {
        (0, _) => Done::Swept(store.sweep(now, random.below(200) as usize)),
        (1 | 2, _) => {
            // In its own state, or in any, as after an error.
            let other = claiming(found, Lookup::Known(state));
            store.delete(&place, if random.chance(0.5) { &found } else { &other }, now);
            Done::Deleted
        }
        (3 | 4, _) => {
            store.touch(&place, &found, stamp);
            Done::Touched
        }
        (5, _) | (_, Lookup::Absent) => Done::Inserted(store.insert(&place, state, stamp)),
        _ => Done::Modified(store.modify(&place, &found, state, stamp)),
    };
    let Found { answer, settled: is_settled, .. } = found;
    Outcome { answer, is_settled, done, has_room: store.has_room(), epoch: store.epoch(now) }
}

/// Figures that are the same after loading: all but the memory of a table that had grown.
fn lasting(stats: StoreStats, spec: &StoreSpec) -> StoreStats {
    let grows = spec.backend == Backend::Exact && matches!(spec.budget, Budget::FpRate(_));
    StoreStats { cells: if grows { 0 } else { stats.cells }, ..stats }
}

/// The same operations on two stores, one of which is saved and loaded now and then.
struct Twins<'a> {
    spec: &'a StoreSpec,
    seed: u64,
}

impl StoreUser for Twins<'_> {
    type Output = StoreStats;

    fn run<S: Store<Key: FlowKey> + Persist>(
        self,
        make: impl Fn() -> Result<S, StoreError>,
    ) -> StoreStats {
        let Twins { spec, seed } = self;
        let flows: Vec<Flow> = flows(seed).take(FLOWS).collect();
        let mut random = Random::new(seed);
        let (mut plain, mut saved_often) = (make().unwrap(), make().unwrap());
        let mut now = Epoch([0, 5, 1 << 31][seed as usize % 3]);
        for n in 0..STEPS {
            if random.chance(0.04) {
                now.0 += [1, 1, 1, 2, 3, 5000][random.below(6) as usize];
            }
            if random.chance(0.1) {
                saved_often = saved_and_loaded(SectionKind::STORE, &saved_often, make().unwrap());
            }
            let mut same = random.clone();
            let expected = step(&mut plain, spec, &flows, now, &mut random);
            let done = step(&mut saved_often, spec, &flows, now, &mut same);
            assert_eq!(done, expected, "operation {n}, {spec:?}");
            let [expected, stats] =
                [plain.stats(), saved_often.stats()].map(|stats| lasting(stats, spec));
            assert_eq!(stats, expected, "operation {n}, {spec:?}");
        }
        assert!(saved(SectionKind::STORE, &plain) == saved(SectionKind::STORE, &saved_often));
        plain.stats()
    }
}

/// Saved and loaded at any time, on owned and on borrowed memory.
fn is_same(spec: &StoreSpec) -> StoreStats {
    let mut total = StoreStats::default();
    for seed in 0..4 {
        total += with_store(spec, Memory::Owned, Twins { spec, seed });
    }
    with_store(spec, Memory::Borrowed, Twins { spec, seed: 5 });
    total
}

/// Small enough for cells to be shared, and for `fcf` and capped tables to be full.
fn spec(backend: Backend, expire: Expire) -> StoreSpec {
    let budget = Budget::FpRate(0.2);
    StoreSpec { flows: 400, budget, expire, ..StoreSpec::new(backend, 6) }
}

const CELL_STORES: [Backend; 4] = [Backend::Dbf, Backend::Sbf, Backend::Kbf, Backend::Bhbf];

#[test]
fn filters_that_age_are_the_same_after_loading() {
    for backend in CELL_STORES {
        for expire in [Expire::Timer, Expire::Stamps, Expire::None] {
            let stats = is_same(&spec(backend, expire));
            assert!(stats.inserted.min(stats.deleted).min(stats.cells_shared) > 0);
            assert!(expire == Expire::None || stats.cells_aged > 0);
            assert!(expire != Expire::Timer || stats.moved > 0);
        }
        for layout in [1, 2, 3].map(LayoutKind::Blocked) {
            is_same(&StoreSpec { layout, ..spec(backend, Expire::Timer) });
        }
    }
}

#[test]
fn filters_with_other_rules_and_cells_are_the_same_after_loading() {
    let of = |backend| spec(backend, Expire::Timer);
    for cell_bits in [16, 32].map(Some) {
        is_same(&StoreSpec { cell_bits, ..of(Backend::Sbf) });
        is_same(&StoreSpec { cell_bits, ..of(Backend::Kbf) });
    }
    let decodes = [KbfDecode::AllPairs, KbfDecode::Literal, KbfDecode::ThreeWay, KbfDecode::Joint];
    for decode in decodes.map(Some) {
        is_same(&StoreSpec { decode, ..of(Backend::Kbf) });
    }
    is_same(&StoreSpec { sbf: SbfRules::PaperKbf, ..of(Backend::Sbf) });
    is_same(&StoreSpec { sbf: SbfRules::NoCounters, ..of(Backend::Sbf) });
    is_same(&StoreSpec { dbf_counters: false, ..of(Backend::Dbf) });
}

#[test]
fn filters_that_recycle_are_the_same_after_loading() {
    for backend in CELL_STORES {
        for (expire, retain) in
            [(Expire::Recycle, true), (Expire::Recycle, false), (Expire::TwoPhase, true)]
        {
            for recycle_at in [None, Some(RecycleAt::Flows(160))] {
                let stats = is_same(&StoreSpec { retain, recycle_at, ..spec(backend, expire) });
                assert!(stats.recycles > 0, "{stats:?}");
                assert!(expire != Expire::TwoPhase || stats.moved > 0, "{stats:?}");
            }
        }
    }
}

#[test]
fn fcf_is_the_same_after_loading() {
    for expire in [Expire::Timer, Expire::Stamps, Expire::None] {
        let full = is_same(&spec(Backend::Fcf, expire)).full;
        assert!(expire != Expire::None || full > 0, "searches without success");
        is_same(&StoreSpec { flows: 3000, ..spec(Backend::Fcf, expire) });
    }
}

#[test]
fn exact_is_the_same_after_loading() {
    for expire in [Expire::Timer, Expire::None] {
        is_same(&StoreSpec { flows: 1, ..spec(Backend::Exact, expire) });
        for flows in [3, 20] {
            let budget = Budget::MemoryBytes(flows * 16 * 72);
            let stats = is_same(&StoreSpec { budget, ..spec(Backend::Exact, expire) });
            assert!(stats.evicted > 0);
        }
    }
}

/// Any bytes as the content of a section: with the right checksum, as an attacker would write them.
struct AnyContent<'a> {
    spec: &'a StoreSpec,
}

impl StoreUser for AnyContent<'_> {
    type Output = [usize; 2];

    /// How many were refused, and how many loaded.
    fn run<S: Store<Key: FlowKey> + Persist>(
        self,
        make: impl Fn() -> Result<S, StoreError>,
    ) -> [usize; 2] {
        let spec = self.spec;
        let flows: Vec<Flow> = flows(1).take(FLOWS).collect();
        let (mut random, now) = (Random::new(2), Epoch(7));
        let mut store = make().unwrap();
        for _ in 0..300 {
            step(&mut store, spec, &flows, now, &mut random);
        }
        let mut outcomes = [0; 2];
        for altered in altered_snapshots(&store) {
            let mut input = SnapshotReader::new(&altered[..]).unwrap();
            let loaded = input.load(SectionKind::STORE, make().unwrap());
            outcomes[usize::from(loaded.is_ok())] += 1;
            let Ok(mut store) = loaded else { continue };
            for n in 0..100 {
                step(&mut store, spec, &flows, Epoch(now.0 + n / 8), &mut random);
            }
            store.stats();
        }
        outcomes
    }
}

/// What was saved, with each byte of the content changed in three ways, and right checksums.
fn altered_snapshots(value: &impl Persist) -> impl Iterator<Item = Vec<u8>> {
    let bytes = saved(SectionKind::STORE, value);
    let section = SnapshotReader::new(&bytes[..]).unwrap().section(SectionKind::STORE).unwrap();
    let changes = (0..section.content.len()).flat_map(|at| [1, 8, 0xff].map(|bits| (at, bits)));
    changes.map(move |(at, bits)| {
        let mut content = section.content.clone();
        content[at] ^= bits;
        let mut out = SnapshotWriter::new(vec![]).unwrap();
        out.section(SectionKind::STORE, &content).unwrap();
        out.finish().unwrap()
    })
}

#[test]
fn altered_content_is_refused_or_is_a_store() {
    for backend in Backend::ALL {
        for expire in [Expire::Timer, Expire::Stamps, Expire::TwoPhase, Expire::None] {
            let spec = spec(backend, expire);
            if spec.sizing().is_ok() {
                let [refused, loaded] =
                    with_store(&spec, Memory::Owned, AnyContent { spec: &spec });
                assert!(refused > 0 && loaded > 0, "{refused} {loaded} {spec:?}");
            }
        }
    }
}

#[test]
fn altered_content_is_refused_or_is_a_pending_table() {
    let empty = || PendingTable::new(1).unwrap();
    let flows: Vec<Flow> = flows(1).take(FLOWS).collect();
    let mut random = Random::new(3);
    let mut drive = |table: &mut PendingTable, start: u32| {
        for n in 0..100 {
            let flow = flows[random.below(12) as usize];
            let lookup = table.lookup(flow.id, Epoch(start + n / 8));
            match random.below(5) {
                0 => table.admit(&lookup, Evidence::NONE),
                1 => table.delete(&lookup),
                _ => {
                    let (state, evidence) = (State::FIRST, Evidence::NONE);
                    table.put(&lookup, PendingFlow { state, evidence });
                }
            }
        }
        assert!(table.stats().used <= 12);
    };
    let mut table = empty();
    drive(&mut table, 0);
    // From the epoch after the last one on: a line that was made to look younger comes alive then.
    let next = 100 / 8 + 1;
    let mut outcomes = [0; 2];
    for altered in altered_snapshots(&table) {
        let mut input = SnapshotReader::new(&altered[..]).unwrap();
        let loaded = input.load(SectionKind::STORE, empty());
        outcomes[usize::from(loaded.is_ok())] += 1;
        loaded.into_iter().for_each(|mut table| drive(&mut table, next));
    }
    assert!(outcomes[0] > 0 && outcomes[1] > 0, "{outcomes:?}");
}
