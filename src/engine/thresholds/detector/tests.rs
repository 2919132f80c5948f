//! Skipping packets of settled 5-tuples changes no result.

use super::*;
use crate::machine::{Conditions, RuleId, ThresholdKey};
use acsm_filters::rng::Random;
use std::array;
use std::net::IpAddr;

const MILLI: u64 = 1_000_000;
const PACKETS: usize = 60_000;

/// One rule of each kind, with low counts, so that all hit often.
fn rules() -> [ThresholdRule; 6] {
    let rule = |n, counted, per, count| ThresholdRule {
        rule: RuleId(n),
        counted,
        per,
        count,
        window_nanos: 2000 * MILLI,
        cooldown_nanos: 200 * MILLI,
        severity: 2,
        conditions: Conditions::default(),
    };
    [
        rule(0, Counted::HalfOpen, ThresholdKey::Destination, 2),
        rule(1, Counted::UnansweredPorts, ThresholdKey::Pair, 2),
        rule(2, Counted::Destinations, ThresholdKey::SourceAndPort, 2),
        rule(3, Counted::Resets, ThresholdKey::Destination, 3),
        rule(4, Counted::Fins, ThresholdKey::Source, 3),
        rule(5, Counted::UnsolicitedSynAcks, ThresholdKey::Destination, 1),
    ]
}

/// A host and its port.
type End = (IpAddr, u16);

/// Packets between few hosts, in both directions, with any flags.
struct Wire {
    random: Random,
    /// The pairs that send packets now.
    trains: [(End, End); 16],
    now_nanos: u64,
}

impl Wire {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let trains = array::from_fn(|_| any_ends(&mut random));
        Wire { random, trains, now_nanos: 1000 * MILLI }
    }

    fn packet(&mut self) -> Packet {
        let random = &mut self.random;
        self.now_nanos += random.below(2 * MILLI);
        match random.below(4000) {
            0 => self.now_nanos += random.below(20_000 * MILLI),
            1..20 => self.now_nanos += random.below(600 * MILLI),
            _ => {}
        }
        let late_nanos = if random.below(30) == 0 { random.below(100 * MILLI) } else { 0 };
        let train = &mut self.trains[random.below(16) as usize];
        if random.below(40) == 0 {
            *train = any_ends(random);
        }
        let (one, other) = *train;
        let (from, to) = if random.below(2) == 0 { (one, other) } else { (other, one) };
        let flags = match random.below(12) {
            // Any flags.
            0 => random.below(256) as u8,
            1 => TcpFlags::SYN.0,
            2 => TcpFlags::SYN.with(TcpFlags::ACK).0,
            _ => TcpFlags::ACK.0,
        };
        Packet {
            time: Timestamp::from_nanos(self.now_nanos - late_nanos),
            src: from.0,
            dst: to.0,
            src_port: from.1,
            dst_port: to.1,
            flags: TcpFlags(flags),
            payload_bytes: if random.below(2) == 0 { 0 } else { 100 },
            ..Packet::UNSPECIFIED
        }
    }
}

/// One of some thousand pairs, so that ports are reused at times.
fn any_ends(random: &mut Random) -> (End, End) {
    let mut end = |net, hosts, ports| {
        let host: IpAddr = [10, 0, net, random.below(hosts) as u8].into();
        (host, random.below(ports) as u16)
    };
    (end(0, 6, 60), end(1, 4, 3))
}

/// Skipping settled 5-tuples gives the same hits and the same losses. Generations end by time and by
/// number of keys, and not all first packets are watched.
#[test]
fn skipping_settled_tuples_changes_nothing() {
    let small = SketchLimits {
        pending: 32,
        keys_per_rule: 24,
        recent_tuples: 64,
        recent_nanos: 300 * MILLI,
        answer_nanos: 40 * MILLI,
    };
    let generations_by_time = SketchLimits { recent_tuples: 4096, ..small };
    let long_time_limit =
        SketchLimits { recent_nanos: 5000 * MILLI, answer_nanos: 400 * MILLI, ..small };
    let mut fired = [0; 6];
    for (seed, limits) in [small, generations_by_time, long_time_limit].into_iter().enumerate() {
        let mut wire = Wire::new(seed as u64);
        let new = || Thresholds::new(&rules(), Seed::Number(7), limits);
        let (mut skipping, mut complete) = (new(), new());
        let mut skipped = 0;
        for n in 0..PACKETS {
            let packet = wire.packet();
            let hash = skipping.hasher.tuple(&packet);
            skipped += usize::from(is_ordinary(packet.flags) && skipping.seen.is_settled(hash));
            complete.seen.unsettle_all();
            let [mut one, mut other] = [vec![], vec![]];
            skipping.observe(&packet, &mut |hit| one.push(hit));
            complete.observe(&packet, &mut |hit| other.push(hit));
            assert_eq!(one, other, "packet {n} of {limits:?}");
            assert_eq!(skipping.losses(), complete.losses(), "packet {n} of {limits:?}");
            one.iter().for_each(|hit| fired[usize::from(hit.rule.0)] += 1);
        }
        let [mut one, mut other] = [vec![], vec![]];
        skipping.finish(&mut |hit| one.push(hit));
        complete.finish(&mut |hit| other.push(hit));
        assert_eq!((one, skipping.losses()), (other, complete.losses()), "{limits:?}");
        assert!(skipped > PACKETS / 3, "{skipped} skipped");
        assert!(skipping.losses().unwatched > 0 && skipping.losses().suppressed > 0);
    }
    assert!(fired.iter().all(|&times| times > 10), "{fired:?}");
}
