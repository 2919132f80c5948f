//! Every store against a slow one written straight from the rules (`slow_store/`): the same
//! operations give the same answers and counts, whatever is swept when and however time jumps.

use crate::slow_store::gate::SlowGate;
use crate::slow_store::recycling::{Full, SlowRecycling};
use crate::slow_store::{Shape, Slow, Tally};
use crate::slow_store::{bhbf::SlowBhbf, dbf::SlowDbf, exact::SlowExact};
use crate::slow_store::{fcf::SlowFcf, kbf::SlowKbf, sbf::SlowSbf};
use acsm::flow::{FlowId, FlowKey};
use acsm::random::Random;
use acsm::spec::{
    Backend, Budget, Expire, GateSpec, KbfDecode, LayoutKind, RecycleAt, SbfRules, StoreSpec,
};
use acsm::state::{Lookup, State};
use acsm::store::{Epoch, Flow, Stamp, Store, StoreError, StoreUser, with_store};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

const FLOWS: usize = 14;

/// What an operation is told the flow was found to be.
#[derive(Debug, Clone, Copy)]
enum Found {
    /// What the store answers.
    Asked,
    /// Anything, as after an error.
    Claimed(usize),
    DontKnow,
}

#[derive(Debug, Clone, Copy)]
enum Deed {
    /// What a worker does with a packet: insert if absent, else move to the state.
    Packet(usize),
    Touch(Found),
    /// The same, told that the flow was just looked up.
    TouchAgain(Found),
    TouchAll,
    Insert(usize),
    Modify(Found, usize),
    Delete(Found),
    /// Look a flow up, delete another, insert and load others, and only then touch the first.
    Interrupted {
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
    deed: Deed,
    half: bool,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let found = || {
        prop_oneof![
            4 => Just(Found::Asked),
            1 => (0..State::LIMIT).prop_map(Found::Claimed),
            1 => Just(Found::DontKnow),
        ]
    };
    let wait = prop_oneof![8 => 1..6u32, 1 => Just(1 << 20), 1 => Just(u32::MAX / 3)];
    let deed = prop_oneof![
        8 => (0..State::LIMIT).prop_map(Deed::Packet),
        4 => found().prop_map(Deed::Touch),
        4 => found().prop_map(Deed::TouchAgain),
        1 => Just(Deed::TouchAll),
        2 => (0..State::LIMIT).prop_map(Deed::Insert),
        4 => (found(), 0..State::LIMIT).prop_map(|(old, new)| Deed::Modify(old, new)),
        3 => found().prop_map(Deed::Delete),
        3 => (0..FLOWS, 0..FLOWS, 0..FLOWS, 0..State::LIMIT).prop_map(
            |(deleted, inserted, loaded, state)| {
                Deed::Interrupted { deleted, inserted, loaded, state }
            }
        ),
        3 => (0..200usize).prop_map(Deed::Sweep),
        4 => wait.prop_map(Deed::Wait),
    ];
    let step = (0..FLOWS, deed, prop::bool::weighted(0.3));
    let step = step.prop_map(|(flow, deed, half)| Step { flow, deed, half });
    prop::collection::vec(step, 1..120)
}

fn flows(seed: u64) -> Vec<Flow> {
    let mut random = Random::new(seed);
    let flow = |n: usize| Flow {
        key: FlowKey {
            src: [10, 0, 0, n as u8].into(),
            dst: [10, 0, 0, 1].into(),
            src_port: 0,
            dst_port: 0,
            vlan: [0; 2],
        },
        // Few fingerprints, so that flows are mistaken for each other.
        id: FlowId(u128::from(random.below(4)) << 122 | u128::from(random.next_u64())),
    };
    (0..FLOWS).map(flow).collect()
}

/// Both stores, the same flows, one clock.
struct Pair<'a, S> {
    spec: &'a StoreSpec,
    fast: S,
    slow: Box<dyn Slow>,
    flows: Vec<Flow>,
    now: u32,
}

impl<S: Store> Pair<'_, S> {
    fn step(&mut self, step: Step) {
        let flow = self.flows[step.flow];
        let place = self.fast.locate(&flow);
        let now = Epoch(self.now);
        let (stamp, at): (Stamp, i64) = match step.half {
            false => (now.stamp(), i64::from(self.now)),
            true => (now.half_stamp(), i64::from(self.now) - 1),
        };
        let state = |index: usize| State::new(index % self.spec.states).unwrap();
        let answer = self.fast.lookup(&place, now);
        let found = |found: Found| match found {
            Found::Asked => answer,
            Found::Claimed(index) => Lookup::Known(state(index)),
            Found::DontKnow => Lookup::DontKnow,
        };
        match step.deed {
            Deed::Packet(index) if answer != Lookup::Absent => {
                self.fast.modify(&place, answer, state(index), stamp);
                self.slow.modify(&flow, answer, state(index), at);
            }
            Deed::Packet(index) | Deed::Insert(index) => {
                self.fast.insert(&place, state(index), stamp);
                self.slow.insert(&flow, state(index), at);
            }
            Deed::Touch(claim) => {
                self.fast.touch(&place, found(claim), stamp);
                self.slow.touch(&flow, found(claim), at);
            }
            Deed::TouchAgain(claim) => {
                self.fast.touch_again(&place, found(claim), stamp);
                self.slow.touch(&flow, found(claim), at);
            }
            Deed::TouchAll => {
                self.fast.touch(&place, Lookup::Absent, stamp);
                self.slow.touch(&flow, Lookup::Absent, at);
            }
            Deed::Modify(old, new) => {
                self.fast.modify(&place, found(old), state(new), stamp);
                self.slow.modify(&flow, found(old), state(new), at);
            }
            Deed::Delete(old) => {
                self.fast.delete(&place, found(old), now);
                self.slow.delete(&flow, found(old));
            }
            Deed::Interrupted { deleted, inserted, loaded, state: index } => {
                let [gone, new, other] = [deleted, inserted, loaded].map(|n| self.flows[n]);
                let old = Lookup::Known(state(index));
                self.fast.delete(&self.fast.locate(&gone), old, now);
                self.slow.delete(&gone, old);
                self.fast.insert(&self.fast.locate(&new), state(index), stamp);
                self.slow.insert(&new, state(index), at);
                self.fast.prefetch(&self.fast.locate(&other));
                self.fast.touch(&place, answer, now.stamp());
                self.slow.touch(&flow, answer, i64::from(self.now));
            }
            Deed::Sweep(budget) => drop(self.fast.sweep(now, budget)),
            Deed::Wait(epochs) => {
                self.now = self.now.saturating_add(epochs);
                self.slow.advance(i64::from(self.now));
            }
        }
    }

    fn compare(&mut self) -> Result<(), TestCaseError> {
        for (n, flow) in self.flows.iter().enumerate() {
            let place = self.fast.locate(flow);
            let (fast, slow) = (self.fast.lookup(&place, Epoch(self.now)), self.slow.lookup(flow));
            prop_assert_eq!(fast, slow, "flow {} at epoch {}", n, self.now);
        }
        Ok(())
    }

    fn compare_counts(&mut self) -> Result<(), TestCaseError> {
        while self.fast.sweep(Epoch(self.now), 100) > 0 {}
        let stats = self.fast.stats();
        let fast = Tally {
            occupied: stats.occupied,
            aged: stats.cells_aged,
            evicted: stats.evicted,
            full: stats.full,
            inserts_of_present: stats.inserts_of_present,
            writes_to_absent: stats.writes_to_absent,
            saturations: stats.saturations,
            recycles: stats.recycles,
            gate_held: stats.gate.held,
            gate_passed: stats.gate.passed,
            gate_dont_know: stats.gate.dont_know,
            gate_recycles: stats.gate.recycles,
        };
        prop_assert_eq!(fast, self.slow.tally());
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

    fn run<S: Store + 'static>(
        self,
        make: impl Fn() -> Result<S, StoreError>,
    ) -> Result<(), TestCaseError> {
        let (fast, slow) = (make().unwrap(), slow_gated(self.spec, self.start));
        let flows = flows(u64::from(self.start));
        let mut pair = Pair { spec: self.spec, fast, slow, flows, now: self.start };
        for &step in self.steps {
            pair.step(step);
            pair.compare()?;
        }
        pair.compare_counts()
    }
}

fn slow_gated(spec: &StoreSpec, start: u32) -> Box<dyn Slow> {
    let Some(gate) = spec.gate else { return slow(spec) };
    let sizing = gate.sizing(spec).unwrap();
    let cells = sizing.cells as usize / (FlowId::SHARDS * sizing.phases as usize);
    let (layout, hashes, cells_per_line) = (gate.layout, sizing.hashes, sizing.cells_per_line);
    let shape = Shape { layout, hashes, cells, cells_per_line, timed: false };
    let Some(RecycleAt::Fill(fill)) = sizing.recycle_at else { panic!("gates recycle by fill") };
    let sigma = ((fill * cells as f64) as usize).min(cells - 1);
    let alone = StoreSpec { gate: None, ..spec.clone() };
    let halves = sizing.phases as usize;
    let mut slow = SlowGate::new(slow(&alone), shape, halves, sigma, i64::from(start));
    slow.writes_unknown = spec.backend == Backend::Sbf;
    Box::new(slow)
}

fn slow(spec: &StoreSpec) -> Box<dyn Slow> {
    let sizing = spec.sizing().unwrap();
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
    let timed = spec.expire == Expire::Timer;
    if spec.backend == Backend::Exact {
        let capped = matches!(spec.budget, Budget::MemoryBytes(_));
        return Box::new(SlowExact::new(capped.then_some(cells), timed));
    }
    if spec.backend == Backend::Fcf {
        return Box::new(SlowFcf::new(cells / 4, spec.states, sizing.cell_bits, timed));
    }
    let (layout, hashes, cells_per_line) = (spec.layout, sizing.hashes, sizing.cells_per_line);
    let shape = Shape { layout, hashes, cells, cells_per_line, timed };
    match spec.backend {
        Backend::Kbf => Box::new(SlowKbf::new(shape, spec.states, spec.decode)),
        Backend::Bhbf => Box::new(SlowBhbf::new(shape, spec.states)),
        Backend::Sbf => {
            let count_max = (1 << (sizing.cell_bits - 5)) - 1;
            Box::new(SlowSbf::new(shape, count_max, spec.sbf == SbfRules::PaperKbf))
        }
        _ => Box::new(SlowDbf::new(shape, spec.states, if spec.dbf_counters { 3 } else { 1 })),
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
            with_store(spec, Conform { spec, steps: &steps, start }).unwrap()
        })
        .unwrap_or_else(|failure| panic!("{spec:?}\n{failure}"));
}

fn filter_conforms(spec: StoreSpec) {
    for expire in [Expire::Timer, Expire::None] {
        sizes(&StoreSpec { expire, ..spec.clone() }).iter().for_each(conforms);
    }
}

#[test]
fn blocked_layouts_follow_their_rules() {
    for layout in [1, 2, 3].map(LayoutKind::Blocked) {
        for backend in [Backend::Kbf, Backend::Sbf, Backend::Bhbf, Backend::Dbf] {
            // The smaller sizes: in larger ones flows hardly meet.
            let sizes = sizes(&StoreSpec { layout, ..StoreSpec::new(backend, 6) });
            sizes.iter().take(2).for_each(conforms);
        }
        let wide = StoreSpec { layout, cell_bits: Some(16), ..StoreSpec::new(Backend::Kbf, 11) };
        // So many cells that one word of hash bits does not do.
        conforms(&StoreSpec { hashes: Some(21), flows: 100, expire: Expire::None, ..wide });
    }
}

#[test]
fn kbf_follows_its_rules() {
    for decode in [KbfDecode::AllPairs, KbfDecode::Literal, KbfDecode::ThreeWay] {
        filter_conforms(StoreSpec { decode, ..StoreSpec::new(Backend::Kbf, 6) });
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
    sizes(&bare).iter().for_each(conforms);
}

/// From three buckets, which the flows overfill, to more than they need.
#[test]
fn fcf_follows_its_rules() {
    for expire in [Expire::Timer, Expire::None] {
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
    // From "each insertion is one too many" to "hardly ever full".
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

/// Gates from "each flow is one too many" to "never full", before stores of every kind.
#[test]
fn gates_follow_their_rules() {
    let stores = [
        (Backend::Kbf, Expire::Timer),
        (Backend::Sbf, Expire::None),
        (Backend::Dbf, Expire::TwoPhase),
        (Backend::Bhbf, Expire::Recycle),
        (Backend::Fcf, Expire::Timer),
        (Backend::Exact, Expire::Timer),
    ];
    let gates = [
        ("bloom", 1),
        ("bloom", 60),
        ("bloom,recycle", 60),
        ("bloom-1", 300),
        ("bloom-2,recycle", 60),
        ("bloom-3", 60),
    ];
    // Each gate before two of the stores, and each store behind two of the gates.
    for (n, (name, flows)) in gates.into_iter().enumerate() {
        for (backend, expire) in [stores[n], stores[(n + 1) % stores.len()]] {
            let gate = GateSpec { flows: Some(flows), ..name.parse().unwrap() };
            let states = if flows == 300 { 16 } else { 6 };
            let spec = StoreSpec { gate: Some(gate), expire, ..StoreSpec::new(backend, states) };
            conforms(&StoreSpec { flows: 300, budget: Budget::FpRate(0.3), ..spec });
        }
    }
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
