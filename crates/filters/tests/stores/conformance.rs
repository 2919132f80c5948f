//! Every store against a slow one written from its rules (`slow/`): the same operations give the
//! same answers and counts, whenever sweeps run and however time jumps; on lines that the store
//! owns and on borrowed bytes.

use acsm_filters::{
    Backend, Budget, Epoch, Expire, FlowId, Found, Insertion, KbfDecode, LayoutKind, Lookup,
    Random, RecycleAt, SbfRules, Stamp, State, Store, StoreError, StoreSpec,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::slow::cap;
use crate::slow::halves::SlowHalves;
use crate::slow::recycling::{Full, SlowRecycling};
use crate::slow::sbf::{SlowRules, SlowSbf};
use crate::slow::{Counts, Shape, Slow};
use crate::slow::{bhbf::SlowBhbf, dbf::SlowDbf, exact::SlowExact};
use crate::slow::{fcf::SlowFcf, kbf::SlowKbf};
use crate::support::{Flow, FlowKey, Memory, StoreUser, claiming, locate, with_store};

const FLOWS: usize = 14;

/// The answer that an operation is given.
#[derive(Debug, Clone, Copy)]
enum Claim {
    /// What the store answers.
    Answered,
    /// Any state, as after an error.
    Known(usize),
    DontKnow,
}

#[derive(Debug, Clone, Copy)]
enum Operation {
    /// What a worker does with a packet: insert if absent, else move to the state.
    Packet(usize),
    Touch(Claim),
    TouchAsAbsent,
    Insert(usize),
    Modify(Claim, usize),
    Delete(Claim),
    /// Delete a flow, insert a second, prefetch a third, then touch the one of the step.
    Interleaved {
        deleted: usize,
        inserted: usize,
        loaded: usize,
        state: usize,
    },
    Sweep(usize),
    Wait(u32),
}

#[derive(Debug, Clone, Copy)]
struct Step {
    flow: usize,
    operation: Operation,
    half: bool,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let claim = || {
        prop_oneof![
            4 => Just(Claim::Answered),
            1 => (0..State::LIMIT).prop_map(Claim::Known),
            1 => Just(Claim::DontKnow),
        ]
    };
    let wait = prop_oneof![8 => 1..6u32, 1 => Just(1 << 20), 1 => Just(u32::MAX / 3)];
    let operation = prop_oneof![
        8 => (0..State::LIMIT).prop_map(Operation::Packet),
        8 => claim().prop_map(Operation::Touch),
        1 => Just(Operation::TouchAsAbsent),
        2 => (0..State::LIMIT).prop_map(Operation::Insert),
        4 => (claim(), 0..State::LIMIT).prop_map(|(old, new)| Operation::Modify(old, new)),
        3 => claim().prop_map(Operation::Delete),
        3 => (0..FLOWS, 0..FLOWS, 0..FLOWS, 0..State::LIMIT).prop_map(
            |(deleted, inserted, loaded, state)| {
                Operation::Interleaved { deleted, inserted, loaded, state }
            }
        ),
        3 => (0..200usize).prop_map(Operation::Sweep),
        4 => wait.prop_map(Operation::Wait),
    ];
    let step = (0..FLOWS, operation, prop::bool::weighted(0.3));
    let step = step.prop_map(|(flow, operation, half)| Step { flow, operation, half });
    prop::collection::vec(step, 1..120)
}

fn flows(seed: u64) -> Vec<Flow> {
    let mut random = Random::new(seed);
    let mut flow = |key: u32| Flow {
        key,
        // Few fingerprints, so that some flows look alike.
        id: FlowId(u128::from(random.below(4)) << 122 | u128::from(random.next_u64())),
    };
    (0..FLOWS as u32).map(&mut flow).collect()
}

/// Both stores, the same flows, one clock.
struct Pair<'a, S> {
    spec: &'a StoreSpec,
    fast: S,
    slow: Box<dyn Slow>,
    /// How much of it may be in use.
    limit: Option<u64>,
    flows: Vec<Flow>,
    now: u32,
}

impl<S: Store<Key: FlowKey>> Pair<'_, S> {
    fn found(&mut self, flow: &Flow) -> Found<S::Handle> {
        self.fast.lookup(&locate(&self.fast, flow), Epoch(self.now))
    }

    fn step(&mut self, step: Step) {
        let flow = self.flows[step.flow];
        let now = Epoch(self.now);
        let (stamp, at): (Stamp, i64) = match step.half {
            false => (now.stamp(), i64::from(self.now)),
            true => (now.half_stamp(), i64::from(self.now) - 1),
        };
        let states = self.spec.states;
        let state = |index: usize| State::new(index % states).unwrap();
        let found = self.found(&flow);
        let claimed = |claim: Claim| match claim {
            Claim::Answered => found,
            Claim::Known(index) => claiming(found, Lookup::Known(state(index))),
            Claim::DontKnow => claiming(found, Lookup::DontKnow),
        };
        match step.operation {
            Operation::Packet(index) if found.answer != Lookup::Absent => {
                self.modify(&flow, found, state(index), (stamp, at));
            }
            Operation::Packet(index) | Operation::Insert(index) => {
                self.insert(&flow, state(index), (stamp, at));
            }
            Operation::Touch(claim) => self.touch(&flow, claimed(claim), (stamp, at)),
            Operation::TouchAsAbsent => {
                self.touch(&flow, claiming(found, Lookup::Absent), (stamp, at));
            }
            Operation::Modify(old, new) => {
                self.modify(&flow, claimed(old), state(new), (stamp, at));
            }
            Operation::Delete(old) => self.delete(&flow, claimed(old)),
            Operation::Interleaved { deleted, inserted, loaded, state: index } => {
                let [gone, new, other] = [deleted, inserted, loaded].map(|n| self.flows[n]);
                let found = self.found(&gone);
                self.delete(&gone, claiming(found, Lookup::Known(state(index))));
                self.insert(&new, state(index), (stamp, at));
                self.fast.prefetch(&locate(&self.fast, &other));
                let found = self.found(&flow);
                self.touch(&flow, found, (now.stamp(), i64::from(self.now)));
            }
            Operation::Sweep(budget) => drop(self.fast.sweep(now, budget)),
            Operation::Wait(epochs) => {
                self.now = self.now.saturating_add(epochs);
                self.slow.advance(i64::from(self.now));
            }
        }
    }

    fn insert(&mut self, flow: &Flow, state: State, (stamp, at): (Stamp, i64)) {
        let insertion = self.fast.insert(&locate(&self.fast, flow), state, stamp);
        if insertion == Insertion::Full {
            self.slow.expect_full();
        }
        self.slow.insert(flow, state, at);
        if let Insertion::Stored { answer: Some(answer), .. } = insertion {
            assert_eq!(self.found(flow).answer, answer, "the answer that an insertion predicts");
        }
    }

    fn touch(&mut self, flow: &Flow, found: Found<S::Handle>, (stamp, at): (Stamp, i64)) {
        self.fast.touch(&locate(&self.fast, flow), &found, stamp);
        self.slow.touch(flow, found.answer, at);
    }

    fn modify(
        &mut self,
        flow: &Flow,
        found: Found<S::Handle>,
        new: State,
        (stamp, at): (Stamp, i64),
    ) {
        let answer = self.fast.modify(&locate(&self.fast, flow), &found, new, stamp);
        self.slow.modify(flow, found.answer, new, at);
        if let Some(answer) = answer {
            assert_eq!(self.found(flow).answer, answer, "the answer that a modification predicts");
        }
    }

    fn delete(&mut self, flow: &Flow, found: Found<S::Handle>) {
        self.fast.delete(&locate(&self.fast, flow), &found, Epoch(self.now));
        self.slow.delete(flow, found.answer);
    }

    fn compare(&mut self) -> Result<(), TestCaseError> {
        for n in 0..self.flows.len() {
            let flow = self.flows[n];
            let (fast, slow) = (self.found(&flow).answer, self.slow.lookup(&flow));
            prop_assert_eq!(fast, slow, "flow {} at epoch {}", n, self.now);
        }
        // What no sweep has cleared yet takes room.
        prop_assert!(self.has_room() != Some(false) || !self.fast.has_room());
        Ok(())
    }

    /// Whether the flows in the slow store are within the plan. For two halves that is an estimate,
    /// which `cap` tests.
    fn has_room(&self) -> Option<bool> {
        let halves = self.spec.expire == Expire::Timer && self.spec.backend.has_cells();
        let has_room = self.limit.is_none_or(|limit| self.slow.counts().occupied < limit);
        (!halves).then_some(has_room)
    }

    fn compare_counts(&mut self) -> Result<(), TestCaseError> {
        while self.fast.sweep(Epoch(self.now), 100) > 0 {}
        let stats = self.fast.stats();
        let fast = Counts {
            occupied: stats.occupied,
            aged: stats.cells_aged,
            evicted: stats.evicted,
            full: stats.full,
            inserts_of_present: stats.inserts_of_present,
            writes_to_absent: stats.writes_to_absent,
            saturations: stats.saturations,
            recycles: stats.recycles,
        };
        prop_assert_eq!(fast, self.slow.counts());
        prop_assert!(self.has_room().is_none_or(|has_room| self.fast.has_room() == has_room));
        Ok(())
    }
}

struct Conform<'a> {
    spec: &'a StoreSpec,
    steps: &'a [Step],
    start: u32,
}

impl StoreUser for Conform<'_> {
    type Output = Result<(), TestCaseError>;

    fn run<S: Store<Key: FlowKey>>(
        self,
        make: impl Fn() -> Result<S, StoreError>,
    ) -> Result<(), TestCaseError> {
        let (fast, slow) = (make().unwrap(), slow(self.spec, self.start));
        let flows = flows(u64::from(self.start));
        let limit = cap::limit(self.spec);
        let mut pair = Pair { spec: self.spec, fast, slow, limit, flows, now: self.start };
        for &step in self.steps {
            pair.step(step);
            pair.compare()?;
        }
        pair.compare_counts()
    }
}

fn slow(spec: &StoreSpec, start: u32) -> Box<dyn Slow> {
    let sizing = spec.sizing().unwrap();
    if spec.expire == Expire::Timer && spec.backend.has_cells() {
        let of = spec.clone();
        let mut halves = SlowHalves::new(move || slow_array(&of), i64::from(start));
        halves.writes_unknown = spec.backend == Backend::Sbf;
        return Box::new(halves);
    }
    let Some(at) = sizing.recycle_at else { return slow_array(spec) };
    let full = match at {
        RecycleAt::Fill(fill) => {
            let cells = sizing.cells / (FlowId::SHARDS as u64 * sizing.phases);
            Full::Beyond(((fill * cells as f64) as u64).min(cells - 1))
        }
        RecycleAt::Flows(flows) => Full::Insertions(flows.div_ceil(FlowId::SHARDS as u64)),
    };
    let of = spec.clone();
    let make = move || slow_array(&of);
    Box::new(SlowRecycling::new(make, sizing.phases as usize, full, spec.retain))
}

fn slow_array(spec: &StoreSpec) -> Box<dyn Slow> {
    let sizing = spec.sizing().unwrap();
    let cells = sizing.cells as usize / (FlowId::SHARDS * sizing.phases as usize);
    let has_cells = spec.backend.has_cells();
    let timed = if has_cells { spec.expire == Expire::Stamps } else { spec.expire.is_timed() };
    if spec.backend == Backend::Exact {
        let capped = matches!(spec.budget, Budget::MemoryBytes(_));
        return Box::new(SlowExact::new(capped.then_some(cells), timed));
    }
    if spec.backend == Backend::Fcf {
        return Box::new(SlowFcf::new(cells, spec.states, sizing.cell_bits, timed));
    }
    let (layout, hashes, cells_per_line) = (spec.layout, sizing.hashes, sizing.cells_per_line);
    let shape = Shape { layout, hashes, cells, cells_per_line, timed };
    match spec.backend {
        Backend::Kbf => match spec.kbf_decode() {
            decode @ (KbfDecode::Joint | KbfDecode::Salt) => {
                Box::new(SlowKbf::joint(shape, spec.states, decode, sizing.cell_bits))
            }
            decode => Box::new(SlowKbf::new(shape, spec.states, decode)),
        },
        Backend::Bhbf => Box::new(SlowBhbf::new(shape, spec.states)),
        Backend::Sbf => {
            let count_max = (1 << (sizing.cell_bits - 5)) - 1;
            let rules = match (spec.sbf, spec.expire) {
                (SbfRules::PaperKbf, _) => SlowRules::PaperKbf,
                (_, Expire::Timer) => SlowRules::Lasting,
                _ => SlowRules::Stateful,
            };
            Box::new(SlowSbf::new(shape, count_max, rules))
        }
        _ => Box::new(SlowDbf::new(shape, spec.states, (1 << sizing.cell_bits) - 1)),
    }
}

/// Filters so small that every cell is shared by many flows, by a few, by hardly any.
fn sizes(spec: &StoreSpec) -> [StoreSpec; 3] {
    [(3, 30), (4, 300), (7, 3000)].map(|(hashes, flows)| StoreSpec {
        hashes: Some(hashes),
        flows,
        budget: Budget::FpRate(0.3),
        ..spec.clone()
    })
}

fn conforms(spec: &StoreSpec) {
    let config = Config { cases: 40, failure_persistence: None, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let cases = (steps(), prop_oneof![Just(0u32), 1..10u32, Just(1 << 31)]);
    TestRunner::new_with_rng(config, rng)
        .run(&cases, |(steps, start)| {
            let conform = || Conform { spec, steps: &steps, start };
            with_store(spec, Memory::Owned, conform())?;
            with_store(spec, Memory::Borrowed, conform())
        })
        .unwrap_or_else(|failure| panic!("{spec:?}\n{failure}"));
}

fn filter_conforms(spec: StoreSpec) {
    for expire in [Expire::Timer, Expire::Stamps, Expire::None] {
        sizes(&StoreSpec { expire, ..spec.clone() }).iter().for_each(conforms);
    }
}

#[test]
fn blocked_layouts_follow_their_rules() {
    for layout in [1, 2, 3].map(LayoutKind::Blocked) {
        for backend in [Backend::Kbf, Backend::Sbf, Backend::Bhbf, Backend::Dbf] {
            for expire in [Expire::Timer, Expire::Stamps] {
                // The smaller sizes: in larger ones flows rarely share cells.
                let sizes = sizes(&StoreSpec { layout, expire, ..StoreSpec::new(backend, 6) });
                sizes.iter().take(2).for_each(conforms);
            }
        }
        let wide = StoreSpec { layout, cell_bits: Some(16), ..StoreSpec::new(Backend::Kbf, 11) };
        // So many cells that one word of hash bits does not do.
        conforms(&StoreSpec { hashes: Some(21), flows: 100, expire: Expire::None, ..wide });
    }
}

#[test]
fn kbf_follows_its_rules() {
    let of_papers = [KbfDecode::AllPairs, KbfDecode::Literal, KbfDecode::ThreeWay];
    for decode in of_papers.into_iter().chain([KbfDecode::Joint, KbfDecode::Salt]) {
        filter_conforms(StoreSpec { decode: Some(decode), ..StoreSpec::new(Backend::Kbf, 6) });
    }
}

#[test]
fn kbf_decodes_by_default_with_salt_in_two_halves_and_else_as_the_papers() {
    for expire in [Expire::Timer, Expire::Stamps, Expire::None, Expire::Recycle, Expire::TwoPhase] {
        let spec = StoreSpec { expire, ..StoreSpec::new(Backend::Kbf, 6) };
        let expected = if expire == Expire::Timer { KbfDecode::Salt } else { KbfDecode::AllPairs };
        assert_eq!(spec.kbf_decode(), expected, "{expire:?}");
        let joint = StoreSpec { decode: Some(KbfDecode::Joint), ..spec };
        assert_eq!(joint.kbf_decode(), KbfDecode::Joint, "{expire:?}");
    }
}

/// Codes that tell three flows, in blocked layouts too, and in stores that recycle.
#[test]
fn kbf_follows_its_rules_in_joint_decoding() {
    for decode in [KbfDecode::Joint, KbfDecode::Salt].map(Some) {
        filter_conforms(StoreSpec { decode, ..StoreSpec::new(Backend::Kbf, 9) });
        for expire in [Expire::Stamps, Expire::Recycle, Expire::TwoPhase] {
            let layout = LayoutKind::Blocked(2);
            let of = StoreSpec { decode, layout, expire, ..StoreSpec::new(Backend::Kbf, 6) };
            sizes(&of).iter().take(2).for_each(conforms);
        }
    }
}

#[test]
fn kbf_follows_its_rules_in_wider_cells() {
    filter_conforms(StoreSpec::new(Backend::Kbf, 16));
    filter_conforms(StoreSpec { cell_bits: Some(32), ..StoreSpec::new(Backend::Kbf, 11) });
}

#[test]
fn sbf_follows_its_rules() {
    for cell_bits in [None, Some(16), Some(32)] {
        filter_conforms(StoreSpec { cell_bits, ..StoreSpec::new(Backend::Sbf, 6) });
    }
}

#[test]
fn sbf_as_the_kbf_papers_have_it_follows_its_rules() {
    filter_conforms(StoreSpec { sbf: SbfRules::PaperKbf, ..StoreSpec::new(Backend::Sbf, 6) });
}

#[test]
fn bhbf_follows_its_rules() {
    filter_conforms(StoreSpec::new(Backend::Bhbf, 6));
    // More cells than one word has salts for.
    let long = StoreSpec { hashes: Some(20), flows: 100, ..StoreSpec::new(Backend::Bhbf, 16) };
    conforms(&long);
}

#[test]
fn dbf_follows_its_rules() {
    filter_conforms(StoreSpec::new(Backend::Dbf, 6));
    let bare = StoreSpec { dbf_counters: false, ..StoreSpec::new(Backend::Dbf, 6) };
    for expire in [Expire::Timer, Expire::Stamps] {
        sizes(&StoreSpec { expire, ..bare.clone() }).iter().for_each(conforms);
    }
}

/// From a line or two, which the flows overfill, to more than they need.
#[test]
fn fcf_follows_its_rules() {
    for expire in [Expire::Timer, Expire::Stamps, Expire::None] {
        for (states, fp_rate, flows) in
            [(6, 2e-9, 30), (16, 2e-9, 300), (11, 0.001, 30), (6, 0.3, 3000), (1, 0.02, 300)]
        {
            let budget = Budget::FpRate(fp_rate);
            conforms(&StoreSpec { expire, flows, budget, ..StoreSpec::new(Backend::Fcf, states) });
        }
    }
}

#[test]
fn recycling_stores_follow_their_rules() {
    // From "every insertion fails" to "rarely full".
    let thresholds = [None, Some(RecycleAt::Fill(0.02)), Some(RecycleAt::Flows(80))];
    for (expire, retain) in
        [(Expire::Recycle, true), (Expire::Recycle, false), (Expire::TwoPhase, true)]
    {
        for recycle_at in thresholds {
            for backend in [Backend::Kbf, Backend::Sbf, Backend::Bhbf, Backend::Dbf] {
                let layout = if retain { LayoutKind::Spread } else { LayoutKind::Blocked(2) };
                let spec =
                    StoreSpec { expire, retain, recycle_at, layout, ..StoreSpec::new(backend, 6) };
                sizes(&spec).iter().skip(1).take(1).for_each(conforms);
            }
        }
    }
    let bare = StoreSpec {
        dbf_counters: false,
        expire: Expire::TwoPhase,
        ..StoreSpec::new(Backend::Dbf, 6)
    };
    sizes(&bare).iter().take(1).for_each(conforms);
}

#[test]
fn exact_follows_its_rules() {
    let exact = |expire, budget| StoreSpec {
        expire,
        budget,
        flows: 1,
        ..StoreSpec::new(Backend::Exact, 6)
    };
    for expire in [Expire::Timer, Expire::None] {
        conforms(&exact(expire, Budget::FpRate(0.01)));
        for flows in [2, 5, 9] {
            conforms(&exact(expire, Budget::MemoryBytes(flows * 16 * 72)));
        }
    }
}
