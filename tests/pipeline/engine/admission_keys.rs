//! Admission by every flow key, and in captures that show one direction only.

use std::sync::Arc;

use acsm::engine::{ActiveRules, RunPlan};
use acsm::flow::{FlowKeyKind, TcpFlags};
use acsm::generate::AttackKind;
use acsm::machine::{Preset, Rules};
use acsm_filters::{Backend, Budget};
use acsm_test_support::repository;

use crate::engine::admission::{LONG_LIVED, PROBES, captures, flood, plan, replay};
use crate::engine::segments::{ACK, Ends, SYN_ACK, Segment, capture};
use crate::engine::workers::outcome;

const DIRECTED: [FlowKeyKind; 2] = [FlowKeyKind::Pair, FlowKeyKind::FiveTuple];
const PENDING: Option<u64> = Some(64 << 10);

/// What the papers run, with a pending table.
pub fn directed_plan(
    kind: FlowKeyKind,
    backend: Backend,
    flows: u64,
    pending: Option<u64>,
) -> RunPlan {
    let mut plan = plan(backend, flows, pending);
    let rules = Rules::load("tcp-flags").unwrap();
    plan.store.states = rules.machine.states().len();
    plan.active = Arc::new(ActiveRules::new(rules, Preset::Paper));
    plan.keyer.kind = kind;
    plan
}

fn connections(count: u32, each: impl Fn(&mut Ends, u64) -> Vec<Segment>) -> Vec<Segment> {
    (0..count).flat_map(|n| each(&mut Ends::new(n), u64::from(n) * 10)).collect()
}

#[test]
fn both_directions_of_a_connection_are_admitted() {
    // The server's first segment, and the client's next.
    let file = capture(connections(300, |ends, start| {
        [ends.open(start), ends.talk(start + 100)].concat()
    }));
    for kind in DIRECTED {
        for backend in [Backend::Exact, Backend::Fcf, Backend::Kbf] {
            let mut plan = directed_plan(kind, backend, 20_000, PENDING);
            plan.verify = true;
            plan.store.budget = Budget::FpRate(1e-6);
            let (_, result) = replay(&plan, file.path()).unwrap();
            assert_eq!(result.store.inserted, 600, "{kind:?}, {backend:?}");
            assert_eq!(result.pending.unwrap().admitted, 300, "connections");
            assert_eq!(result.errors.unwrap().flows_total, 600, "none but those that had packets");
        }
    }
}

/// A store that holds a tenth of them: each direction is stored, or refused once.
#[test]
fn refused_flows_are_counted_in_both_directions() {
    let file = capture(connections(300, |ends, start| {
        [ends.open(start), ends.talk(start + 100), ends.talk(start + 200)].concat()
    }));
    for kind in DIRECTED {
        let mut plan = directed_plan(kind, Backend::Exact, 20_000, PENDING);
        plan.store.budget = Budget::MemoryBytes(60 * 72);
        let (_, result) = replay(&plan, file.path()).unwrap();
        let (inserted, refused) = (result.store.inserted, result.shards.refused);
        assert!((20..200).contains(&inserted), "{kind:?}: {inserted}");
        assert_eq!(inserted + refused, 600, "{kind:?}");
    }
}

/// SYNs and plain segments of the client alone, or answers of the server alone.
#[test]
fn one_direction_alone_is_not_admitted() {
    let file = capture(connections(300, |ends, start| {
        let [_, synack, ..] = ends.open(start)[..] else { return vec![] };
        let mut segments = vec![synack];
        segments.extend((0..3).map(|n| ends.client_sends(start + 2 + n, ACK, 0)));
        segments
    }));
    for kind in DIRECTED {
        let plan = directed_plan(kind, Backend::Exact, 20_000, PENDING);
        let (_, result) = replay(&plan, file.path()).unwrap();
        assert_eq!(result.store.inserted, 0, "{kind:?}");
    }
}

/// A flow that a SYN makes half-open again leaves the store, and comes back with its next segment:
/// its evidence stands, and its reverse is in the store.
#[test]
fn a_new_connection_between_two_hosts_needs_no_new_evidence() {
    let file = capture(connections(100, |ends, start| {
        let mut segments = [ends.open(start), ends.talk(start + 100)].concat();
        segments.push(ends.client_sends(start + 200, TcpFlags::SYN, 0));
        segments.push(ends.server_sends(start + 201, SYN_ACK, 0));
        segments.push(ends.client_sends(start + 202, ACK, 0));
        segments
    }));
    for kind in DIRECTED {
        let plan = directed_plan(kind, Backend::Exact, 20_000, PENDING);
        let (_, result) = replay(&plan, file.path()).unwrap();
        assert_eq!((result.store.inserted, result.store.live), (300, 200.0), "{kind:?}");
    }
}

/// But for digests, which are others: two directions have digests that tell of each other.
#[test]
fn exact_with_a_pending_table_raises_the_alerts_of_exact_by_directed_keys() {
    let without_ids = |lines: Vec<String>| -> Vec<String> {
        let cut = |line: &String| {
            let (before, rest) = line.split_once("flow: FlowId(").unwrap();
            format!("{before}{}", rest.split_once(')').unwrap().1)
        };
        lines.iter().map(cut).collect()
    };
    let mut alerts = 0;
    for kind in DIRECTED {
        for capture in captures() {
            let outcome = |pending| {
                let plan = directed_plan(kind, Backend::Exact, 100_000, pending);
                replay(&plan, &capture).map(|(kept, _)| without_ids(kept.lines))
            };
            let (Some(without), Some(with)) = (outcome(None), outcome(PENDING)) else {
                continue; // damaged captures are in the corpus too
            };
            assert!(with == without, "{kind:?}: {}", capture.display());
            alerts += with.len();
        }
    }
    assert!(alerts > 1000, "{alerts} alerts");
}

#[test]
fn floods_do_not_reach_the_store_by_directed_keys() {
    use AttackKind::{AnsweredSynFlood, BlindAckFlood, ChallengeAckFlood, RstFlood};
    let inserted = |kind, attack| {
        let file = flood(attack);
        let plan = directed_plan(kind, Backend::Fcf, 40_000, PENDING);
        replay(&plan, file.path()).unwrap().1.store.inserted
    };
    for kind in DIRECTED {
        let ordinary = inserted(kind, RstFlood);
        assert!(ordinary >= LONG_LIVED, "{ordinary}");
        for attack in [AnsweredSynFlood, BlindAckFlood, ChallengeAckFlood] {
            let inserted = inserted(kind, attack);
            let guessed = 2 * 4 * PROBES * 5 / 4096;
            assert!(inserted < 2 * ordinary + guessed, "{kind:?}, {attack:?}: {inserted}");
        }
    }
}

/// Connections of which only the client's segments are captured.
pub fn one_way_capture(count: u32) -> tempfile::NamedTempFile {
    capture(connections(count, |ends, start| {
        let mut segments = ends.open(start);
        segments.extend((1..=10).flat_map(|n| ends.talk(start + 100 * n)));
        segments.retain(|segment| segment.from == ends.client);
        segments
    }))
}

#[test]
fn one_way_captures_admit_with_a_second_segment_of_the_same_end() {
    let file = one_way_capture(1000);
    let all = [FlowKeyKind::Connection, FlowKeyKind::FiveTuple, FlowKeyKind::Pair];
    for kind in all {
        let plan = match kind {
            FlowKeyKind::Connection => plan(Backend::Exact, 20_000, PENDING),
            _ => directed_plan(kind, Backend::Exact, 20_000, PENDING),
        };
        let (_, result) = replay(&plan, file.path()).unwrap();
        assert!(result.one_way, "{kind:?}");
        // Those that were over before the capture was recognised are not.
        assert!(result.store.inserted > 900, "{kind:?}: {}", result.store.inserted);
    }
}

/// As a run of one worker, whatever the flow key; the capture is recognised as one-way in its middle.
#[test]
fn admission_does_not_depend_on_the_number_of_workers() {
    let one_way = one_way_capture(400);
    let attacks = repository::trace("attacks.pcap.gz");
    for capture in [one_way.path(), &attacks] {
        for kind in [FlowKeyKind::Connection, FlowKeyKind::FiveTuple, FlowKeyKind::Pair] {
            // A store that is full at times, and a pending table that loses flows.
            let mut plan = match kind {
                FlowKeyKind::Connection => plan(Backend::Kbf, 120, Some(400)),
                _ => directed_plan(kind, Backend::Kbf, 120, Some(400)),
            };
            (plan.verify, plan.workers) = (true, 1);
            let (alone, counts) = outcome(&plan, capture);
            for workers in [2, 3, 16] {
                plan.workers = workers;
                let (divided, divided_counts) = outcome(&plan, capture);
                assert_eq!(divided_counts, counts, "{workers} workers, {kind:?}");
                assert!(divided.lines == alone.lines, "{workers} workers, {kind:?}");
            }
        }
    }
}
