//! The pending table against a slow one written from its rules: the same packets find the same
//! flows, with the same evidence, and lead to the same counts, however time jumps, and whenever the
//! table is saved and loaded.

use std::cell::RefCell;

use acsm_filters::pending::{
    End, Evidence, PendingFlow, PendingLookup, PendingStats, PendingTable, Segment, Sum,
};
use acsm_filters::snapshot::SectionKind;
use acsm_filters::{Epoch, FlowId, Random, State};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::slow::pending::{Counts, Heard, Packet, SlowPending};
use crate::support::saved_and_loaded;

/// Connections; where directions are flows of their own, each is two.
const CONNECTIONS: usize = 36;
const LINES: usize = 2;
const SLOTS_PER_LINE: usize = 12;
const SLOTS: u64 = (LINES * SLOTS_PER_LINE * FlowId::SHARDS) as u64;

#[derive(Debug, Clone, Copy)]
enum Operation {
    /// What the engine does with a packet: the flow is stepped to the state, and admitted if both of
    /// its ends have been heard and the store has room.
    Packet {
        packet: Packet,
        state: usize,
        has_room: bool,
    },
    /// A flow that was in the store has ended, and lingers.
    Linger(usize),
    Admit,
    Delete,
    Prefetch,
    /// Continue with what a snapshot has of the table.
    SaveAndLoad,
    Wait(u32),
}

#[derive(Debug, Clone, Copy)]
struct Step {
    connection: usize,
    end: End,
    operation: Operation,
}

/// Sums around which segments agree or not, the place where numbers wrap around among them.
const SUMS: [u32; 2] = [1 << 31, u32::MAX - (1 << 20)];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let end = || prop_oneof![Just(End::Forward), Just(End::Backward)];
    let numbers = || {
        (0..SUMS.len(), 0..7u32, any::<u32>()).prop_map(|(base, units, sequence)| {
            let sum = SUMS[base].wrapping_add(units << 19);
            [sequence, sum.wrapping_sub(sequence)]
        })
    };
    let packet = prop_oneof![
        2 => Just(Packet::Syn),
        2 => numbers().prop_map(Packet::SynAck),
        8 => (end(), numbers()).prop_map(|(end, numbers)| Packet::Plain(end, numbers)),
        1 => Just(Packet::Reset),
    ];
    let wait = prop_oneof![8 => 1..4u32, 1 => Just(1 << 24), 1 => Just((1 << 24) - 1)];
    let operation = prop_oneof![
        60 => (packet, 0..State::LIMIT, prop::bool::weighted(0.7)).prop_map(
            |(packet, state, has_room)| Operation::Packet { packet, state, has_room }
        ),
        3 => (0..State::LIMIT).prop_map(Operation::Linger),
        1 => Just(Operation::Admit),
        1 => Just(Operation::Delete),
        1 => Just(Operation::Prefetch),
        1 => Just(Operation::SaveAndLoad),
        2 => wait.prop_map(Operation::Wait),
    ];
    let step = (0..CONNECTIONS, end(), operation);
    let step = step.prop_map(|(connection, end, operation)| Step { connection, end, operation });
    prop::collection::vec(step, 1..400)
}

/// Flows of few lines, some of which look alike.
fn connections(seed: u64) -> Vec<FlowId> {
    let mut random = Random::new(seed);
    let tags: Vec<u64> = (0..CONNECTIONS - 2).map(|_| random.below(1 << 17)).collect();
    let mut flow = |n: usize| {
        let above_tag = random.next_u64() << 22;
        let line = u128::from(random.below(LINES as u64)) << 91;
        let side = (n as u128 & 1) << 123;
        let unused = u128::from(random.next_u64() >> 40) << 96;
        FlowId(side | unused | line | u128::from(above_tag | tags[n]))
    };
    (0..CONNECTIONS).map(|n| flow(n % tags.len())).collect()
}

fn table(is_directed: bool) -> PendingTable {
    let table = PendingTable::new(SLOTS).unwrap();
    if is_directed { table.directed() } else { table }
}

/// Both tables, the same flows, one clock.
struct Pair {
    fast: PendingTable,
    slow: SlowPending,
    connections: Vec<FlowId>,
    is_directed: bool,
    now: u32,
}

impl Pair {
    fn new(is_directed: bool, start: u32) -> Pair {
        Pair {
            fast: table(is_directed),
            slow: SlowPending::new(LINES, is_directed),
            connections: connections(1),
            is_directed,
            now: start,
        }
    }

    fn lookup(&mut self, id: FlowId) -> PendingLookup {
        self.fast.lookup(id, Epoch(self.now))
    }

    fn step(&mut self, step: Step) {
        let connection = self.connections[step.connection];
        let id = match (self.is_directed, step.end) {
            (true, End::Backward) => connection.reverse(),
            _ => connection,
        };
        self.slow.advance(i64::from(self.now));
        match step.operation {
            Operation::Packet { packet, state, has_room } => {
                self.packet(id, packet, State::new(state).unwrap(), has_room);
            }
            Operation::Linger(state) => {
                let (state, lookup) = (State::new(state).unwrap(), self.lookup(id));
                self.fast.put(&lookup, PendingFlow { state, evidence: Evidence::NONE });
                self.slow.put(id, state, Heard::default(), self.now.into());
            }
            Operation::Admit => {
                let lookup = self.lookup(id);
                self.fast.admit(&lookup, Evidence::NONE);
                self.slow.admit(id, Heard::default(), self.now.into());
            }
            Operation::Delete => {
                let lookup = self.lookup(id);
                self.fast.delete(&lookup);
                self.slow.delete(id);
            }
            Operation::Prefetch => self.fast.prefetch(id),
            Operation::SaveAndLoad => {
                let empty = table(self.is_directed);
                self.fast = saved_and_loaded(SectionKind::PENDING, &self.fast, empty);
            }
            Operation::Wait(epochs) => {
                self.now = self.now.saturating_add(epochs);
                self.slow.advance(i64::from(self.now));
                self.fast.advance_to(Epoch(self.now));
            }
        }
    }

    fn packet(&mut self, id: FlowId, packet: Packet, state: State, has_room: bool) {
        // A directed flow has packets of one end only.
        let packet = match packet {
            Packet::Plain(_, numbers) if self.is_directed => Packet::Plain(End::Forward, numbers),
            packet => packet,
        };
        let evidence = self.fast_packet(id, packet, state, has_room);
        let heard = self.slow_packet(id, packet, state, has_room);
        assert_same(evidence, heard);
    }

    fn fast_packet(
        &mut self,
        id: FlowId,
        packet: Packet,
        state: State,
        has_room: bool,
    ) -> Evidence {
        let segment = match packet {
            Packet::Syn => Segment::Syn,
            Packet::SynAck([sequence, ack]) => Segment::SynAck(Sum::of(sequence, ack)),
            Packet::Plain(end, [sequence, ack]) => Segment::Plain(end, Sum::of(sequence, ack)),
            Packet::Reset => Segment::Other,
        };
        let lookup = self.lookup(id);
        let before = match lookup.flow {
            Some(flow) => flow.evidence,
            None => self.fast.evidence_of_reverse(&lookup),
        };
        let evidence = before.after(segment);
        match evidence.is_complete() && has_room {
            true => self.fast.admit(&lookup, evidence),
            false => self.fast.put(&lookup, PendingFlow { state, evidence }),
        }
        evidence
    }

    fn slow_packet(&mut self, id: FlowId, packet: Packet, state: State, has_room: bool) -> Heard {
        let reverse = id.reverse();
        let mut heard = match (self.slow.find(id), self.slow.find(reverse)) {
            (Some(flow), _) => flow.heard,
            (None, Some(flow)) if self.is_directed => flow.heard.reversed(),
            _ => Heard::default(),
        };
        heard.hear(packet);
        match heard.both() && has_room {
            true => self.slow.admit(id, heard, self.now.into()),
            false => self.slow.put(id, state, heard, self.now.into()),
        }
        heard
    }

    fn check(&mut self) {
        for id in self.connections.clone() {
            for id in [id, id.reverse()] {
                let (fast, slow) = (self.lookup(id).flow, self.slow.find(id));
                assert_eq!(fast.map(|flow| flow.state), slow.map(|flow| flow.state));
                if let (Some(fast), Some(slow)) = (fast, slow) {
                    assert_same(fast.evidence, slow.heard);
                }
            }
        }
        let PendingStats { slots, used, inserted, admitted, retired, lost } = self.fast.stats();
        assert_eq!(slots, (LINES * SLOTS_PER_LINE) as u64);
        assert_eq!(inserted, used + admitted + retired + lost);
        let counts = Counts { used, inserted, admitted, retired, lost };
        assert_eq!(counts, self.slow.counts());
    }
}

fn assert_same(evidence: Evidence, heard: Heard) {
    let ends = [End::Forward, End::Backward].map(|end| evidence.has(end));
    assert_eq!(ends, [heard.forward, heard.backward]);
    assert_eq!(evidence.is_complete(), heard.both());
}

#[test]
fn the_table_is_the_slow_one() {
    let config = Config { cases: 300, failure_persistence: None, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[15; 32]);
    let cases = (steps(), any::<bool>(), prop_oneof![Just(0u32), 1..10u32, Just(1 << 31)]);
    let totals = RefCell::new(PendingStats::default());
    TestRunner::new_with_rng(config, rng)
        .run(&cases, |(steps, is_directed, start)| {
            let mut pair = Pair::new(is_directed, start);
            for step in steps {
                pair.step(step);
                pair.check();
            }
            *totals.borrow_mut() += pair.fast.stats();
            Ok(())
        })
        .unwrap_or_else(|failure| panic!("{failure}"));
    let totals = totals.into_inner();
    // All kinds of ends have been tried.
    assert!(totals.lost.min(totals.admitted).min(totals.retired) > 500, "{totals:?}");
}

/// As many slots as fit, and no line more.
#[test]
fn slots_fit_the_bytes_that_they_are_asked_for() {
    assert_eq!(PendingTable::slots_in(1023), 0);
    for bytes in [1024, 1025, 100_000, 1 << 30] {
        let slots = PendingTable::slots_in(bytes);
        let taken = |slots| PendingTable::bits(slots) / 8;
        assert!(taken(slots) <= bytes && taken(slots + 1) > bytes, "{slots} in {bytes}");
    }
}
