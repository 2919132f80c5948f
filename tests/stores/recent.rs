//! [`Recent`] beside the store that it keeps in mind: the same operations give the same answers
//! and counts, to the last one.

use std::ops::AddAssign;

use acsm::flow::{FlowId, FlowKey};
use acsm::random::Random;
use acsm::spec::{Backend, Budget, Expire, KbfDecode, LayoutKind, SbfRules, Sizing, StoreSpec};
use acsm::state::{Lookup, State};
use acsm::store::{
    Bhbf, BhbfRule, Dbf, Epoch, Fcf, Flow, Insertion, Kbf, KbfRule, Recent, Sbf, SbfRule, Stamp,
    Store, Striped,
};

const STATES: usize = 6;
/// A case begins anew now and then: without a timer, filters fill up.
const ROUNDS: u64 = 5;
const STEPS: usize = 4000;
/// More flows than are cached.
const FLOWS: usize = 200;
/// The flows of the trains that run at a time.
const TRAINS: u64 = 24;

/// Lines of a shard: flows share them all; share some; and there are more lines than stripes.
const FEW_LINES: u64 = 5;
const SOME_LINES: u64 = 100;
const MANY_LINES: u64 = 300;

/// What the look-ups met: a test in which nothing happens shows nothing.
#[derive(Debug, Clone, Copy, Default)]
struct Met {
    absent: usize,
    known: usize,
    dont_know: usize,
    /// Of flows that were looked up before in the same epoch.
    again: usize,
    /// Of these: the answer is another, and it was another flow that was written.
    disturbed: usize,
    /// Of flows that were there in an epoch before, and no longer are.
    aged: usize,
}

impl AddAssign for Met {
    fn add_assign(&mut self, other: Met) {
        self.absent += other.absent;
        self.known += other.known;
        self.dont_know += other.dont_know;
        self.again += other.again;
        self.disturbed += other.disturbed;
        self.aged += other.aged;
    }
}

/// The last answer for a flow.
#[derive(Debug, Clone, Copy)]
struct Last {
    found: Lookup,
    when: Epoch,
    /// Whether the flow itself was written since.
    is_written: bool,
}

/// Both stores, the same flows, one clock.
struct Pair<'a, S: Striped> {
    recent: Recent<S>,
    alone: S,
    flows: &'a [Flow],
    last: Vec<Last>,
    random: Random,
    now: Epoch,
    /// Where the trains are.
    front: u64,
    met: Met,
}

impl<'a, S: Striped> Pair<'a, S> {
    fn new(make: impl Fn() -> S, flows: &'a [Flow], seed: u64) -> Self {
        let mut random = Random::new(seed);
        // Early ones too, where the epoch before is none.
        let now = Epoch([0, 1, 1000][random.below(3) as usize]);
        let last = Last { found: Lookup::Absent, when: now, is_written: true };
        Pair {
            recent: Recent::new(make()),
            alone: make(),
            flows,
            last: vec![last; flows.len()],
            random,
            now,
            front: 0,
            met: Met::default(),
        }
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.random.below(n) == 0
    }

    /// Mostly a flow of the trains.
    fn any_flow(&mut self) -> usize {
        let flows = self.flows.len() as u64;
        let at = match self.one_in(8) {
            true => self.random.below(flows),
            false => self.front / 40 + self.random.below(TRAINS),
        };
        (at % flows) as usize
    }

    fn any_state(&mut self) -> State {
        State::new(self.random.below(STATES as u64) as usize).unwrap()
    }

    fn any_stamp(&mut self) -> Stamp {
        if self.one_in(4) { self.now.half_stamp() } else { self.now.stamp() }
    }

    /// What an operation is told: mostly what was found.
    fn claim(&mut self, found: Lookup) -> Lookup {
        match self.random.below(20) {
            0 => Lookup::Known(self.any_state()),
            1 => Lookup::DontKnow,
            2 => Lookup::Absent,
            _ => found,
        }
    }

    /// Both stores' answer.
    fn look_up(&mut self, n: usize) -> Lookup {
        let flow = &self.flows[n];
        let answer = self.alone.lookup(&self.alone.locate(flow), self.now);
        let kept = self.recent.lookup(&self.recent.locate(flow), self.now);
        assert_eq!(kept, answer, "flow {n} at {:?}, front {}", self.now, self.front);
        let last = self.last[n];
        let (same_epoch, differs) = (last.when == self.now, last.found != answer);
        self.met += Met {
            absent: usize::from(answer == Lookup::Absent),
            known: usize::from(matches!(answer, Lookup::Known(_))),
            dont_know: usize::from(answer == Lookup::DontKnow),
            again: usize::from(same_epoch),
            disturbed: usize::from(same_epoch && differs && !last.is_written),
            aged: usize::from(!same_epoch && differs && answer == Lookup::Absent),
        };
        self.last[n] = Last { found: answer, when: self.now, is_written: false };
        answer
    }

    fn look_all_up(&mut self) {
        for n in 0..self.flows.len() {
            self.look_up(n);
        }
    }

    fn prefetch(&mut self) {
        for _ in 0..self.random.below(4) {
            let flow = self.flows[self.any_flow()];
            self.alone.prefetch(&self.alone.locate(&flow));
            self.recent.prefetch(&self.recent.locate(&flow));
        }
    }

    fn touch(&mut self, n: usize, found: Lookup) {
        let (flow, stamp) = (self.flows[n], self.any_stamp());
        self.alone.touch(&self.alone.locate(&flow), found, stamp);
        self.recent.touch(&self.recent.locate(&flow), found, stamp);
    }

    /// Only right after a look-up.
    fn touch_again(&mut self, n: usize, found: Lookup) {
        let (flow, stamp) = (self.flows[n], self.any_stamp());
        self.alone.touch_again(&self.alone.locate(&flow), found, stamp);
        self.recent.touch_again(&self.recent.locate(&flow), found, stamp);
    }

    fn insert(&mut self, n: usize) {
        let (flow, state, stamp) = (self.flows[n], self.any_state(), self.any_stamp());
        let alone = self.alone.insert(&self.alone.locate(&flow), state, stamp);
        let recent = self.recent.insert(&self.recent.locate(&flow), state, stamp);
        assert_eq!(recent, alone, "flow {n} at {:?}", self.now);
        self.last[n].is_written = true;
    }

    fn modify(&mut self, n: usize, old: Lookup) {
        let (flow, new, stamp) = (self.flows[n], self.any_state(), self.any_stamp());
        self.alone.modify(&self.alone.locate(&flow), old, new, stamp);
        self.recent.modify(&self.recent.locate(&flow), old, new, stamp);
        self.last[n].is_written = true;
    }

    fn delete(&mut self, n: usize, old: Lookup) {
        let flow = self.flows[n];
        self.alone.delete(&self.alone.locate(&flow), old, self.now);
        self.recent.delete(&self.recent.locate(&flow), old, self.now);
        self.last[n].is_written = true;
    }

    /// Puts the flow in if it is not there, else changes it or takes it out.
    fn write(&mut self, n: usize, found: Lookup) {
        match (found, self.random.below(8)) {
            (Lookup::Absent, 0..7) | (_, 0) => self.insert(n),
            (_, 1..5) => self.modify(n, found),
            _ => self.delete(n, found),
        }
    }

    /// A flow is looked up, or is thought to be what it was, and something is done with it.
    fn step(&mut self) {
        self.front += 1;
        let n = self.any_flow();
        let asked = !self.one_in(5);
        let found = if asked { self.look_up(n) } else { self.last[n].found };
        if self.one_in(4) {
            self.prefetch();
        }
        let claim = self.claim(found);
        match self.random.below(20) {
            0..8 if asked => self.touch_again(n, claim),
            0..3 => {
                let other = self.any_flow();
                let others = self.last[other].found;
                self.write(other, others);
                self.touch(n, claim);
            }
            3..11 => self.touch(n, claim),
            11..18 => self.write(n, claim),
            18 if found != Lookup::Absent => self.delete(n, found),
            _ => {}
        }
    }

    fn sweep(&mut self, budget_cells: usize) -> usize {
        let alone = self.alone.sweep(self.now, budget_cells);
        assert_eq!(self.recent.sweep(self.now, budget_cells), alone);
        alone
    }

    /// Time passes. What comes first then is a look at everything, writes alone, touches alone, or
    /// what always comes.
    fn next_epoch(&mut self) {
        let epochs = if self.one_in(4) { 1 + self.random.below(5) } else { 1 };
        self.now = Epoch(self.now.0 + epochs as u32);
        let first = self.random.below(4);
        if first == 0 {
            self.look_all_up();
        }
        for _ in 0..self.random.below(30) {
            let n = self.any_flow();
            match first {
                1 => self.write(n, self.last[n].found),
                2 => self.touch(n, self.last[n].found),
                _ => {}
            }
        }
    }

    fn run(mut self) -> Met {
        for _ in 0..STEPS {
            self.step();
            if self.one_in(10) {
                let budget_cells = self.random.below(60) as usize;
                self.sweep(budget_cells);
            }
            if self.one_in(150) {
                self.next_epoch();
            }
            if self.one_in(300) {
                self.look_all_up();
            }
        }
        self.look_all_up();
        while self.sweep(1000) > 0 {}
        assert_eq!(self.recent.stats(), self.alone.stats());
        self.met
    }
}

/// Compares the two, and makes sure that there was something to compare.
fn agrees<S: Striped>(spec: &StoreSpec, flows: &[Flow], make: impl Fn() -> S) {
    let mut met = Met::default();
    for round in 0..ROUNDS {
        met += Pair::new(&make, flows, round).run();
    }
    let looked = met.absent + met.known + met.dont_know;
    let enough = [met.absent, met.known, met.dont_know].iter().all(|&n| n > looked / 12)
        && met.again > looked / 3
        && met.disturbed > looked / 500
        && (spec.expire == Expire::None || met.aged > looked / 50);
    assert!(enough, "{met:?} {spec:?}");
}

fn any_id(random: &mut Random) -> FlowId {
    FlowId(u128::from(random.next_u64()) << 64 | u128::from(random.next_u64()))
}

fn flow(id: FlowId) -> Flow {
    Flow { key: FlowKey::UNSPECIFIED, id }
}

/// Flows for a filter of cells, in the order in which trains meet them: one all of whose cells are
/// others' too, then those others. At random such are found everywhere in a small filter, and
/// hardly ever in a large one.
fn crowd<S: Store>(sizing: &Sizing, make: impl Fn() -> S) -> Vec<Flow> {
    let mut random = Random::new(9);
    let base: Vec<Flow> = (0..300).map(|_| flow(any_id(&mut random))).collect();
    let mut full = make();
    for flow in &base {
        shared_cells(&mut full, flow, true);
    }
    let mut flows = vec![];
    while flows.len() < FLOWS {
        let one = flow(any_id(&mut random));
        if shared_cells(&mut full, &one, false) < sizing.hashes {
            continue;
        }
        let mut by_itself = make();
        shared_cells(&mut by_itself, &one, true);
        let others = base.iter().filter(|other| shared_cells(&mut by_itself, other, false) > 0);
        flows.push(one);
        flows.extend(others.take(TRAINS as usize / 4));
    }
    // The same cells, yet another flow, as far as anybody can tell.
    let twins = [0, 50, 100].map(|n: usize| flow(FlowId(flows[n].id.0 ^ 1 << 100)));
    flows.extend(twins);
    flows
}

/// How many cells of the flow are in use.
fn shared_cells<S: Store>(store: &mut S, flow: &Flow, stays: bool) -> usize {
    let (place, now) = (store.locate(flow), Epoch(0));
    let insertion = store.insert(&place, State::FIRST, now.stamp());
    if !stays {
        store.delete(&place, Lookup::Known(State::FIRST), now);
    }
    let Insertion::Stored { shared_cells } = insertion else { panic!("filters take all") };
    shared_cells
}

/// Flows for buckets: of five that follow each other, four have one fingerprint and the same two
/// buckets, not all in the same order. To the store they are the same flow, and soon there are too
/// many.
fn bucket_crowd<S: Store>(make: impl Fn() -> S) -> Vec<Flow> {
    let mut random = Random::new(9);
    let mut flows = vec![];
    while flows.len() < FLOWS {
        let [one, other] = [1, 2].map(|_| flow(any_id(&mut random)));
        let mut by_itself = make();
        shared_cells(&mut by_itself, &one, true);
        let mut like_one = |bits: u64| loop {
            let like = flow(FlowId(one.id.0 ^ u128::from(random.next_u64() >> (64 - bits))));
            if by_itself.lookup(&by_itself.locate(&like), Epoch(0)) != Lookup::Absent {
                return like;
            }
        };
        // The upper bits of a position are those of the bucket.
        let family = [one, like_one(48), like_one(64), like_one(64), other];
        flows.extend(family);
    }
    flows
}

fn spec(backend: Backend, expire: Expire, lines: u64) -> StoreSpec {
    let budget = Budget::MemoryBytes(lines * 64 * FlowId::SHARDS as u64);
    StoreSpec { expire, budget, flows: 20 * lines, ..StoreSpec::new(backend, STATES) }
}

/// A filter of cells in all layouts, in all sizes.
fn filter_agrees<S: Striped>(backend: Backend, expire: Expire, make: impl Fn(&Sizing) -> S) {
    let [one, two, three] = [1, 2, 3].map(LayoutKind::Blocked);
    for (layout, hashes, lines) in [
        (LayoutKind::Spread, 2, FEW_LINES),
        (LayoutKind::Spread, 2, SOME_LINES),
        (LayoutKind::Spread, 2, MANY_LINES),
        (LayoutKind::Spread, 4, FEW_LINES),
        (one, 4, FEW_LINES),
        (one, 2, SOME_LINES),
        (one, 2, MANY_LINES),
        (two, 4, FEW_LINES),
        (two, 2, SOME_LINES),
        (two, 2, MANY_LINES),
        (three, 5, FEW_LINES),
        // Two groups in one line, and two in each of two.
        (one, 10, FEW_LINES),
        (two, 18, FEW_LINES),
    ] {
        let spec = StoreSpec { layout, hashes: Some(hashes), ..spec(backend, expire, lines) };
        let sizing = spec.sizing().unwrap();
        let flows = crowd(&sizing, || make(&sizing));
        agrees(&spec, &flows, || make(&sizing));
    }
}

#[test]
fn kbf_is_cached() {
    let rule = KbfRule::new(STATES, KbfDecode::AllPairs);
    let timed = |sizing: &_| Kbf::<8, true>::new(rule.clone(), sizing).unwrap();
    filter_agrees(Backend::Kbf, Expire::Timer, timed);
}

#[test]
fn kbf_without_a_timer_is_cached() {
    let rule = KbfRule::new(STATES, KbfDecode::AllPairs);
    let lasting = |sizing: &_| Kbf::<8, false>::new(rule.clone(), sizing).unwrap();
    filter_agrees(Backend::Kbf, Expire::None, lasting);
}

#[test]
fn sbf_is_cached() {
    let rule = SbfRule::<8>::new(SbfRules::Stateful);
    let timed = |sizing: &_| Sbf::<8, true>::new(rule, sizing).unwrap();
    filter_agrees(Backend::Sbf, Expire::Timer, timed);
    let lasting = |sizing: &_| Sbf::<8, false>::new(rule, sizing).unwrap();
    filter_agrees(Backend::Sbf, Expire::None, lasting);
}

#[test]
fn bhbf_is_cached() {
    let rule = BhbfRule::new(STATES);
    let timed = |sizing: &_| Bhbf::<true>::new(rule, sizing).unwrap();
    filter_agrees(Backend::Bhbf, Expire::Timer, timed);
}

#[test]
fn dbf_is_cached() {
    let timed = |sizing: &_| Dbf::<2, true>::new(STATES, sizing).unwrap();
    filter_agrees(Backend::Dbf, Expire::Timer, timed);
}

#[test]
fn fcf_is_cached() {
    for lines in [FEW_LINES, SOME_LINES, MANY_LINES] {
        let spec_of = |expire| spec(Backend::Fcf, expire, lines);
        let (timed, lasting) = (spec_of(Expire::Timer), spec_of(Expire::None));
        let sizing = timed.sizing().unwrap();
        let make = || Fcf::<true>::new(STATES, &sizing).unwrap();
        agrees(&timed, &bucket_crowd(make), make);
        let sizing = lasting.sizing().unwrap();
        let make = || Fcf::<false>::new(STATES, &sizing).unwrap();
        agrees(&lasting, &bucket_crowd(make), make);
    }
}
