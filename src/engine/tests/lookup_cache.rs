//! The lookup cache changes nothing: a shard with it answers, alerts and counts as a plain loop over
//! the same store does.

use std::collections::HashMap;
use std::ops::AddAssign;

use super::super::batch::Event;
use super::super::build::build_shards;
use super::super::clock::Tick;
use super::super::shard::PacketKey;
use super::super::shard::{Shard, ShardOutput, ShardWork, Wanted};
use super::flows::{sharing_cells, sharing_windows};
use super::reference::{Alerted, Answered, Reference};
use super::traffic::Traffic;
use super::{FEW_STATES, KEYER, MANY_STATES, rules, shard_rules};
use crate::flow::{FlowKey, Packet};
use crate::machine::{Next, Rules};
use acsm_filters::{
    Backend, Bhbf, BhbfRule, Budget, Dbf, Epoch, Exact, Expire, Fcf, FlowId, HALVES, Kbf, KbfRule,
    LayoutKind, Lookup, Random, Recycling, STAMPS, Sbf, SbfRule, Sizing, Store, StoreSpec, UNTIMED,
};

const EVENTS: usize = 5000;
/// Without a timer filters fill up, so each case starts again.
const ROUNDS: u64 = 4;

/// Lines of a shard: all flows share all; flows share some; more lines than are told apart.
const FEW_LINES: u64 = 5;
const SOME_LINES: u64 = 100;
const MANY_LINES: u64 = 300;

/// What the lookups met: without it the comparison would show nothing.
#[derive(Debug, Clone, Copy, Default)]
struct Coverage {
    absent: usize,
    known: usize,
    dont_know: usize,
    /// Lookups of flows that were looked up before in the same epoch…
    repeated: usize,
    /// …with another answer, because another flow was written.
    disturbed: usize,
    /// Flows that were there in an earlier epoch and no longer are.
    aged: usize,
    recycles: u64,
}

impl AddAssign for Coverage {
    fn add_assign(&mut self, other: Coverage) {
        self.absent += other.absent;
        self.known += other.known;
        self.dont_know += other.dont_know;
        self.repeated += other.repeated;
        self.disturbed += other.disturbed;
        self.aged += other.aged;
        self.recycles += other.recycles;
    }
}

/// How a case is driven.
#[derive(Debug, Clone, Copy)]
struct Mode {
    open_loop: bool,
    touch_absent: bool,
}

const MODES: [Mode; ROUNDS as usize] = [
    Mode { open_loop: false, touch_absent: false },
    Mode { open_loop: true, touch_absent: false },
    Mode { open_loop: false, touch_absent: true },
    Mode { open_loop: true, touch_absent: true },
];

/// A shard with the cache beside the plain loop.
struct Pair<'a, S: Store> {
    cached: Box<dyn Shard>,
    plain: Reference<S>,
    rules: &'a Rules,
    traffic: Traffic<'a>,
    coverage: Coverage,
    /// The last answer for each flow: when, and whether the flow was written since.
    last: HashMap<FlowId, (Lookup, Epoch, bool)>,
}

impl<S: Store<Key: PacketKey>> Pair<'_, S> {
    /// One batch through both.
    fn batch(&mut self, size: usize, mode: Mode) {
        let (events, packets): (Vec<Event>, Vec<Packet>) =
            (0..size).map(|index| self.traffic.event(index)).unzip();
        let machine = &self.rules.machine;
        let given: Vec<Lookup> =
            events.iter().map(|event| self.traffic.given(machine, event)).collect();
        let half_open = std::array::from_fn(|state| state % 2 == 1);
        let work = ShardWork {
            events: &events,
            packets: &packets,
            machine,
            rules: &shard_rules(self.rules, &half_open, mode.touch_absent),
            given: mode.open_loop.then_some(&given),
            wanted: Wanted::AlertsAndAnswers,
            sampled_below: 0,
        };
        let mut output = ShardOutput::default();
        self.cached.process(&work, &mut output);
        self.plain.process(&work);
        let answers: Vec<Answered> =
            output.answers.iter().map(|a| (a.answer, a.outcome, a.epochs)).collect();
        let alerts: Vec<Alerted> = (output.alerts.iter())
            .map(|a| (a.event.index, a.rule, a.answer, a.state, a.confidence.to_bits()))
            .collect();
        let made = self.traffic.made;
        for (n, (cached, plain)) in answers.iter().zip(&self.plain.answers).enumerate() {
            assert_eq!(cached, plain, "event {n} of {size} before {made}: {:?}", events[n]);
        }
        assert_eq!(answers.len(), self.plain.answers.len());
        assert_eq!(alerts, self.plain.alerts, "events before {made}");
        for (event, (answer, outcome, _)) in events.iter().zip(answers) {
            self.cover(event, answer, outcome.next != Next::Keep || mode.open_loop);
        }
        self.plain.answers.clear();
        self.plain.alerts.clear();
    }

    fn cover(&mut self, event: &Event, answer: Lookup, is_written: bool) {
        let last = self.last.insert(event.id, (answer, event.epoch, is_written));
        let Some((before, when, was_written)) = last else { return };
        let (repeated, differs) = (when == event.epoch, before != answer);
        self.coverage += Coverage {
            absent: usize::from(answer == Lookup::Absent),
            known: usize::from(matches!(answer, Lookup::Known(_))),
            dont_know: usize::from(answer == Lookup::DontKnow),
            repeated: usize::from(repeated),
            disturbed: usize::from(repeated && differs && !was_written),
            aged: usize::from(!repeated && differs && answer == Lookup::Absent),
            recycles: 0,
        };
    }

    fn run(mut self, mode: Mode) -> Coverage {
        while self.traffic.made < EVENTS as u64 {
            let size = 1 + self.traffic.random.below(200) as usize;
            self.batch(size, mode);
            if self.traffic.random.below(20) == 0 {
                let epochs = self.traffic.random.below(3) as u32;
                let epoch = Epoch(self.traffic.tick.epoch.0 + epochs);
                self.traffic.tick = Tick { epoch, is_late: false };
                self.cached.advance_to(epoch);
                self.plain.advance_to(epoch);
            }
        }
        let now = self.traffic.tick.epoch;
        self.cached.sweep_all(now);
        self.plain.sweep_all(now);
        let stats = self.plain.store.stats();
        assert_eq!(self.cached.store_stats(), stats);
        assert_eq!(self.cached.stats().entered, self.plain.entered);
        self.coverage.recycles = stats.recycles;
        self.coverage
    }
}

/// Compares both in all modes.
fn agrees<S>(spec: &StoreSpec, flows: &[(FlowId, Packet)], make: impl Fn() -> S) -> Coverage
where
    S: Store<Key: PacketKey>,
{
    let rules = rules(spec.states);
    let mut coverage = Coverage::default();
    for (seed, mode) in MODES.into_iter().enumerate() {
        let mut random = Random::new(seed as u64);
        // The first epochs too: epoch 0 has none before it.
        let epoch = Epoch([0, 1, 1000][random.below(3) as usize]);
        let tick = Tick { epoch, is_late: false };
        let pair = Pair {
            cached: build_shards(spec, false).unwrap().swap_remove(0),
            plain: Reference::new(make()),
            rules: &rules,
            traffic: Traffic { flows, random, tick, made: 0, truth: HashMap::new() },
            coverage: Coverage::default(),
            last: HashMap::new(),
        };
        coverage += pair.run(mode);
    }
    coverage
}

impl Coverage {
    /// Checks that there was something to compare.
    fn assert_enough(&self, backend: Backend, expire: Expire) {
        let looked = self.absent + self.known + self.dont_know;
        let errs = backend != Backend::Exact;
        let enough = self.absent > looked / 150
            && self.known > looked / 10
            && (!errs || self.dont_know > looked / 20)
            && self.repeated > looked / 2
            && (!errs || self.disturbed > looked / 500)
            && (!expire.is_timed() || self.aged > looked / 100);
        let recycles = matches!(expire, Expire::Recycle | Expire::TwoPhase);
        assert!(enough && (self.recycles > 20) == recycles, "{self:?} {backend:?} {expire:?}");
    }
}

fn spec(backend: Backend, states: usize, expire: Expire, lines: u64) -> StoreSpec {
    // Two phases have this many lines each.
    let arrays = if expire == Expire::TwoPhase { 2 } else { 1 };
    let budget = Budget::MemoryBytes(arrays * lines * 64 * FlowId::SHARDS as u64);
    StoreSpec { expire, budget, flows: 20 * lines, ..StoreSpec::new(backend, states) }
}

/// Stores by digest alone read no packet.
fn without_packets(ids: Vec<FlowId>) -> Vec<(FlowId, Packet)> {
    ids.into_iter().map(|id| (id, Packet::UNSPECIFIED)).collect()
}

/// A filter of cells in all layouts and sizes. `bare` makes the array of cells that flows share,
/// `make` the whole store.
fn filter_agrees<B, S>(
    spec: impl Fn(u64) -> StoreSpec,
    bare: impl Fn(&StoreSpec, &Sizing) -> B,
    make: impl Fn(&StoreSpec, &Sizing) -> S,
) where
    B: Store<Key = ()>,
    S: Store<Key = ()>,
{
    let [one, two, three] = [1, 2, 3].map(LayoutKind::Blocked);
    let mut coverage = Coverage::default();
    for (layout, hashes, lines) in [
        (LayoutKind::Spread, 2, FEW_LINES),
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
        let spec = StoreSpec { layout, hashes: Some(hashes), ..spec(lines) };
        let sizing = spec.sizing().unwrap();
        let flows = without_packets(sharing_cells(&sizing, || bare(&spec, &sizing)));
        coverage += agrees(&spec, &flows, || make(&spec, &sizing));
    }
    let StoreSpec { backend, expire, .. } = spec(FEW_LINES);
    coverage.assert_enough(backend, expire);
}

fn kbf<const BITS: u32, const AGING: u8>(spec: &StoreSpec, sizing: &Sizing) -> Kbf<BITS, AGING> {
    Kbf::new(KbfRule::for_spec(spec, BITS), sizing).unwrap()
}

fn sbf<const AGING: u8>(spec: &StoreSpec, sizing: &Sizing) -> Sbf<8, AGING> {
    Sbf::new(SbfRule::for_spec(spec), sizing).unwrap()
}

fn bhbf<const AGING: u8>(spec: &StoreSpec, sizing: &Sizing) -> Bhbf<AGING> {
    Bhbf::new(BhbfRule::new(spec.states), sizing).unwrap()
}

fn dbf<const BITS: u32, const AGING: u8>(spec: &StoreSpec, sizing: &Sizing) -> Dbf<BITS, AGING> {
    Dbf::new(spec.states, sizing).unwrap()
}

#[test]
fn of_kbf_with_narrow_and_wide_cells() {
    let narrow = |lines| spec(Backend::Kbf, FEW_STATES, Expire::Stamps, lines);
    filter_agrees(narrow, kbf::<8, STAMPS>, kbf::<8, STAMPS>);
    let wide = |lines| spec(Backend::Kbf, MANY_STATES, Expire::Stamps, lines);
    filter_agrees(wide, kbf::<16, STAMPS>, kbf::<16, STAMPS>);
}

#[test]
fn of_cell_filters_with_halves() {
    let halves = |backend| move |lines| spec(backend, MANY_STATES, Expire::Timer, lines);
    filter_agrees(halves(Backend::Kbf), kbf::<16, HALVES>, kbf::<16, HALVES>);
    filter_agrees(halves(Backend::Sbf), sbf::<HALVES>, sbf::<HALVES>);
    filter_agrees(halves(Backend::Bhbf), bhbf::<HALVES>, bhbf::<HALVES>);
    filter_agrees(halves(Backend::Dbf), dbf::<4, HALVES>, dbf::<4, HALVES>);
}

#[test]
fn of_kbf_that_recycles_in_one_phase_or_two_or_never() {
    for (expire, retain) in [
        (Expire::None, true),
        (Expire::Recycle, true),
        (Expire::Recycle, false),
        (Expire::TwoPhase, true),
    ] {
        let of_lines =
            |lines| StoreSpec { retain, ..spec(Backend::Kbf, MANY_STATES, expire, lines) };
        filter_agrees(of_lines, kbf::<16, UNTIMED>, |spec, sizing| {
            let array = || Ok(kbf::<16, UNTIMED>(spec, sizing));
            Recycling::new(sizing, array).unwrap()
        });
    }
}

#[test]
fn of_sbf() {
    let timed = |lines| spec(Backend::Sbf, MANY_STATES, Expire::Stamps, lines);
    filter_agrees(timed, sbf::<STAMPS>, sbf::<STAMPS>);
    let phased = |lines| spec(Backend::Sbf, MANY_STATES, Expire::TwoPhase, lines);
    filter_agrees(phased, sbf::<UNTIMED>, |spec, sizing| {
        Recycling::new(sizing, || Ok(sbf::<UNTIMED>(spec, sizing))).unwrap()
    });
}

#[test]
fn of_bhbf() {
    let timed = |lines| spec(Backend::Bhbf, MANY_STATES, Expire::Stamps, lines);
    filter_agrees(timed, bhbf::<STAMPS>, bhbf::<STAMPS>);
    let cycled = |lines| spec(Backend::Bhbf, MANY_STATES, Expire::Recycle, lines);
    filter_agrees(cycled, bhbf::<UNTIMED>, |spec, sizing| {
        Recycling::new(sizing, || Ok(bhbf::<UNTIMED>(spec, sizing))).unwrap()
    });
}

#[test]
fn of_dbf() {
    let timed = |lines| spec(Backend::Dbf, MANY_STATES, Expire::Stamps, lines);
    filter_agrees(timed, dbf::<2, STAMPS>, dbf::<2, STAMPS>);
    let phased = |lines| spec(Backend::Dbf, MANY_STATES, Expire::TwoPhase, lines);
    filter_agrees(phased, dbf::<2, UNTIMED>, |spec, sizing| {
        Recycling::new(sizing, || Ok(dbf::<2, UNTIMED>(spec, sizing))).unwrap()
    });
}

#[test]
fn of_fcf() {
    let [mut timed, mut untimed] = [Coverage::default(); 2];
    for lines in [FEW_LINES, SOME_LINES, MANY_LINES] {
        let spec = |expire| spec(Backend::Fcf, MANY_STATES, expire, lines);
        let (spec_timed, spec_untimed) = (spec(Expire::Timer), spec(Expire::None));
        let sizing = spec_timed.sizing().unwrap();
        let make = || Fcf::<true>::new(MANY_STATES, &sizing).unwrap();
        let flows = without_packets(sharing_windows(make));
        timed += agrees(&spec_timed, &flows, make);
        let sizing = spec_untimed.sizing().unwrap();
        let make = || Fcf::<false>::new(MANY_STATES, &sizing).unwrap();
        let flows = without_packets(sharing_windows(make));
        untimed += agrees(&spec_untimed, &flows, make);
    }
    timed.assert_enough(Backend::Fcf, Expire::Timer);
    untimed.assert_enough(Backend::Fcf, Expire::None);
}

/// Exact tables have no cache: their places are computed ahead.
#[test]
fn of_exact_tables() {
    let packet = |n: u8| Packet {
        src: [10, 0, 0, n].into(),
        dst: [10, 0, 1, n / 2].into(),
        src_port: u16::from(n),
        ..Packet::UNSPECIFIED
    };
    let flows: Vec<(FlowId, Packet)> =
        (0..250).map(packet).map(|packet| (KEYER.id(&KEYER.key(&packet).0), packet)).collect();
    for expire in [Expire::Timer, Expire::None] {
        let spec = spec(Backend::Exact, MANY_STATES, expire, SOME_LINES);
        let sizing = spec.sizing().unwrap();
        let timed = expire == Expire::Timer;
        let make = || Exact::<FlowKey>::capped(&sizing, timed).unwrap();
        let coverage = agrees(&spec, &flows, make);
        coverage.assert_enough(Backend::Exact, expire);
    }
}
