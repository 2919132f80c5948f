//! Floods, scans, sweeps and storms as packet sequences, and traffic that is none of these.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use acsm::engine::thresholds::{SketchLimits, ThresholdHit, Thresholds};
use acsm::flow::{Packet, TcpFlags};
use acsm::machine::{Conditions, Counted, RuleId, ThresholdKey, ThresholdRule};
use acsm::seed::Seed;
use acsm::time::{NANOS_PER_SEC, Timestamp};
use acsm_filters::rng::Random;

const SYN: TcpFlags = TcpFlags::SYN;
const ACK: TcpFlags = TcpFlags::ACK;
const RST: TcpFlags = TcpFlags::RST;
const FIN: TcpFlags = TcpFlags::FIN;
const NULL: TcpFlags = TcpFlags(0);
const XMAS: TcpFlags = TcpFlags(0x29);
const SYN_ACK: TcpFlags = TcpFlags(0x12);
const RST_ACK: TcpFlags = TcpFlags(0x14);
const FIN_ACK: TcpFlags = TcpFlags(0x11);

const SYN_FLOOD: RuleId = RuleId(0);
const PORT_SCAN: RuleId = RuleId(1);
const HOST_SWEEP: RuleId = RuleId(2);
const RST_STORM: RuleId = RuleId(3);
const FIN_STORM: RuleId = RuleId(4);
const SYNACKS: RuleId = RuleId(5);

const START: Timestamp = Timestamp::new(1_700_000_000, 0);
const MILLI: u64 = 1_000_000;

fn rules() -> [ThresholdRule; 6] {
    let rule = |rule, counted, per, count, window_secs| ThresholdRule {
        rule,
        counted,
        per,
        count,
        window_nanos: window_secs * NANOS_PER_SEC,
        cooldown_nanos: 60 * NANOS_PER_SEC,
        severity: 2,
        conditions: Conditions::default(),
    };
    [
        rule(SYN_FLOOD, Counted::HalfOpen, ThresholdKey::Destination, 200, 10),
        rule(PORT_SCAN, Counted::UnansweredPorts, ThresholdKey::Pair, 25, 60),
        rule(HOST_SWEEP, Counted::Destinations, ThresholdKey::SourceAndPort, 30, 60),
        rule(RST_STORM, Counted::Resets, ThresholdKey::Destination, 300, 10),
        rule(FIN_STORM, Counted::Fins, ThresholdKey::Destination, 300, 10),
        rule(SYNACKS, Counted::UnsolicitedSynAcks, ThresholdKey::Destination, 100, 10),
    ]
}

fn host(n: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + n))
}

/// Packets one after the other, a millisecond apart.
struct Wire {
    thresholds: Thresholds,
    /// Alerts, and the rest of what is reported of cases.
    fired: Vec<ThresholdHit>,
    news: Vec<ThresholdHit>,
    now: Timestamp,
    step_nanos: u64,
}

impl Wire {
    fn new() -> Self {
        let thresholds = Thresholds::new(&rules(), Seed::Number(1), SketchLimits::default());
        Wire { thresholds, fired: Vec::new(), news: Vec::new(), now: START, step_nanos: MILLI }
    }

    fn send(&mut self, from: (IpAddr, u16), to: (IpAddr, u16), flags: TcpFlags, payload: u32) {
        self.now = self.now.plus(self.step_nanos);
        let packet = Packet {
            time: self.now,
            src: from.0,
            dst: to.0,
            src_port: from.1,
            dst_port: to.1,
            flags,
            vlan: [0; 2],
            payload_bytes: payload,
            sequence_sum: 0,
            wire_bytes: 60 + payload,
        };
        let Wire { thresholds, fired, news, .. } = self;
        thresholds.observe(&packet, &mut |hit| sort(hit, fired, news));
    }

    /// A whole connection, from handshake to FIN.
    fn talk(&mut self, client: (IpAddr, u16), server: (IpAddr, u16)) {
        for (forth, flags, payload) in [
            (true, SYN, 0),
            (false, SYN_ACK, 0),
            (true, ACK, 0),
            (true, ACK, 100),
            (false, ACK, 1000),
            (true, ACK, 0),
            (false, FIN_ACK, 0),
            (true, FIN_ACK, 0),
            (false, ACK, 0),
        ] {
            let (from, to) = if forth { (client, server) } else { (server, client) };
            self.send(from, to, flags, payload);
        }
    }

    fn advance(&mut self, nanos: u64) {
        self.now = self.now.plus(nanos);
        let Wire { thresholds, fired, news, now, .. } = self;
        thresholds.advance(*now, &mut |hit| sort(hit, fired, news));
    }

    /// All that fired until the end of the trace, by rule.
    fn finish(mut self) -> Vec<RuleId> {
        self.end();
        self.fired.iter().map(|firing| firing.rule).collect()
    }

    fn end(&mut self) {
        let Wire { thresholds, fired, news, .. } = self;
        thresholds.finish(&mut |hit| sort(hit, fired, news));
    }
}

fn sort(hit: ThresholdHit, fired: &mut Vec<ThresholdHit>, news: &mut Vec<ThresholdHit>) {
    match hit.stage.is_alert() {
        true => fired.push(hit),
        false => news.push(hit),
    }
}

#[test]
fn a_spoofed_syn_flood_fires_once_its_syns_are_overdue() {
    let mut wire = Wire::new();
    for i in 0..5199 {
        wire.send((host(1000 + i), 4000), (host(1), 80), SYN, 0);
        if i == 4999 {
            assert_eq!(wire.fired, [], "five seconds are not over");
        }
    }
    wire.send((host(9), 4000), (host(1), 80), SYN, 0);
    let [firing] = wire.fired[..] else { panic!("{:?}", wire.fired) };
    assert_eq!((firing.rule, firing.destination, firing.source), (SYN_FLOOD, Some(host(1)), None));
    assert_eq!((firing.count, firing.packet.dst_port), (200, 80));
    assert_eq!(firing.time, START.plus(5200 * MILLI));
    assert_eq!(wire.finish(), [SYN_FLOOD], "silent during the cool-down");
}

#[test]
fn half_open_means_that_the_sender_never_acknowledged() {
    // Answered by SYN+ACK and left alone, or taken back by RST: both are half-open.
    for ending in [None, Some(RST)] {
        let mut wire = Wire::new();
        for port in 0..300 {
            wire.send((host(2), 5000 + port), (host(1), 80), SYN, 0);
            wire.send((host(1), 80), (host(2), 5000 + port), SYN_ACK, 0);
            if let Some(flags) = ending {
                wire.send((host(2), 5000 + port), (host(1), 80), flags, 0);
            }
        }
        assert_eq!(wire.finish(), [SYN_FLOOD]);
    }
    // A capture of one direction: the sender's ACK stands for the SYN+ACK nobody saw.
    let mut wire = Wire::new();
    for port in 0..3000 {
        wire.send((host(2), 5000 + port), (host(1), 80), SYN, 0);
        wire.send((host(2), 5000 + port), (host(1), 80), ACK, 0);
    }
    assert_eq!(wire.finish(), []);
}

#[test]
fn port_scans_of_every_kind_are_found_refused_or_not() {
    for probe in [SYN, FIN, NULL, XMAS, ACK, FIN_ACK] {
        let mut wire = Wire::new();
        for port in 1..30 {
            wire.send((host(2), 40_000), (host(1), port), probe, 0);
            wire.send((host(1), port), (host(2), 40_000), RST_ACK, 0);
        }
        let fired = wire.fired.first().copied().expect("fires while it goes on");
        assert_eq!((fired.source, fired.destination), (Some(host(2)), Some(host(1))));
        assert!((24..=26).contains(&fired.packet.dst_port), "{probe}: {}", fired.packet.dst_port);
        assert_eq!(wire.finish(), [PORT_SCAN], "{probe}");

        let mut wire = Wire::new();
        for port in 1..30 {
            wire.send((host(2), 40_000), (host(1), port), probe, 0);
        }
        wire.advance(4 * NANOS_PER_SEC);
        assert_eq!(wire.fired, []);
        wire.advance(NANOS_PER_SEC + 30 * MILLI);
        assert_eq!(wire.finish(), [PORT_SCAN], "{probe}, filtered");
    }
}

#[test]
fn few_ports_tried_often_are_no_scan() {
    let mut wire = Wire::new();
    for i in 0..3000u16 {
        wire.send((host(2), 10_000 + i), (host(1), i % 20), SYN, 0);
        wire.send((host(1), i % 20), (host(2), 10_000 + i), RST_ACK, 0);
    }
    assert_eq!(wire.finish(), []);
}

#[test]
fn sweeps_are_found_by_any_kind_of_first_packet() {
    for probe in [SYN, FIN, NULL, XMAS, ACK] {
        let mut wire = Wire::new();
        for n in 0..40 {
            wire.send((host(2), 40_000), (host(1000 + n), 80), probe, 0);
        }
        assert_eq!(wire.finish(), [HOST_SWEEP], "{probe}");
    }
}

#[test]
fn ipv6_hosts_count_by_their_64() {
    let scanner = IpAddr::V6(Ipv6Addr::from_bits(0x2001_0db8 << 96 | 1));
    for (shift, fires) in [(0, false), (64, true)] {
        let mut wire = Wire::new();
        for n in 1..100u128 {
            let victim = Ipv6Addr::from_bits(0x2001_0db8_0001 << 80 | n << shift);
            wire.send((scanner, 40_000), (IpAddr::V6(victim), 443), SYN, 0);
        }
        assert_eq!(wire.finish() == [HOST_SWEEP], fires);
    }
}

#[test]
fn clients_servers_and_crawlers_raise_nothing() {
    let mut wire = Wire::new();
    for n in 0..3000u16 {
        // A crawler goes over hosts, a busy server is visited, one client opens many ports.
        wire.talk((host(2), 10_000 + n), (host(100_000 + u32::from(n)), 443));
        wire.talk((host(200_000 + u32::from(n)), 10_000), (host(1), 443));
        wire.talk((host(3), 10_000 + n), (host(4), 1000 + n));
    }
    assert_eq!(wire.finish(), []);
}

#[test]
fn flows_older_than_the_capture_are_no_ack_scan() {
    // Both directions, one direction of several packets, and data without an answer.
    for (second, payload) in [(Some(false), 0), (Some(true), 0), (None, 100)] {
        let mut wire = Wire::new();
        for n in 0..3000u16 {
            let (client, server) = ((host(2), 10_000 + n), (host(1), 1000 + n));
            wire.send(client, server, ACK, payload);
            match second {
                Some(true) => wire.send(client, server, ACK, 0),
                Some(false) => wire.send(server, client, ACK, 0),
                None => {}
            }
        }
        assert_eq!(wire.finish(), []);
    }
}

#[test]
fn an_acknowledgement_of_data_is_no_probe() {
    // Idle flows of a push server: one message and its ACK each, long after they began.
    let mut wire = Wire::new();
    for n in 0..3000 {
        wire.send((host(1000 + n), 5000), (host(1), 443), ACK, 50);
        wire.send((host(1), 443), (host(1000 + n), 5000), ACK, 0);
    }
    assert_eq!(wire.finish(), []);
}

#[test]
fn storms_are_stray_or_repeated_packets_not_endings() {
    for (flags, rule) in [(RST, RST_STORM), (FIN_ACK, FIN_STORM)] {
        let mut stray = Wire::new();
        let mut repeated = Wire::new();
        for n in 0..310 {
            stray.send((host(1000 + n), 4000), (host(1), 80), flags, 0);
            stray.send((host(1), 80), (host(1000 + n), 4000), ACK, 0);
            repeated.send((host(2), 4000), (host(1), 80), flags, 0);
        }
        assert!(stray.finish().contains(&rule), "{flags}: stray");
        assert!(repeated.finish().contains(&rule), "{flags}: repeated");
    }
    let mut wire = Wire::new();
    for n in 0..5000 {
        let (client, server) = ((host(2), 10_000 + n), (host(1), 80));
        wire.talk(client, server);
        wire.send(client, server, RST_ACK, 0);
    }
    assert_eq!(wire.finish(), []);
}

#[test]
fn synacks_nobody_asked_for() {
    // Reflected onto a victim, which says RST or nothing.
    for reset in [true, false] {
        let mut wire = Wire::new();
        for n in 0..120 {
            wire.send((host(1000 + n), 443), (host(1), 5000), SYN_ACK, 0);
            if reset {
                wire.send((host(1), 5000), (host(1000 + n), 443), RST, 0);
            }
        }
        assert_eq!(wire.finish(), [SYNACKS], "reset: {reset}");
    }
    // Only the servers' direction was captured: their next packets show what it was.
    let mut wire = Wire::new();
    for n in 0..3000 {
        wire.send((host(1000 + n), 443), (host(1), 5000), SYN_ACK, 0);
        wire.send((host(1000 + n), 443), (host(1), 5000), ACK, 500);
    }
    assert_eq!(wire.finish(), []);
}

#[test]
fn what_the_cool_down_hid_is_told_with_the_next_alert() {
    let mut wire = Wire::new();
    for n in 0..100_000u32 {
        wire.send((host(2), (n >> 8) as u16), (host(1), n as u16), SYN, 0);
        wire.send((host(1), n as u16), (host(2), (n >> 8) as u16), RST_ACK, 0);
    }
    assert_eq!(wire.fired.len(), 4, "200 seconds, one alert in 60");
    for pair in wire.fired.windows(2) {
        assert!(pair[1].time.since(pair[0].time) >= 60 * NANOS_PER_SEC);
        // One refusal in two milliseconds, 60 seconds long.
        assert!((29_999..=30_001).contains(&pair[1].suppressed), "{}", pair[1].suppressed);
    }
}

#[test]
fn ten_million_spoofed_syns_stay_within_memory_and_hide_no_scan() {
    let mut wire = Wire::new();
    wire.step_nanos = 2000;
    let before = wire.thresholds.memory_bytes();
    assert!(before < 12 << 20, "{before}");
    let mut random = Random::new(1);
    for n in 0..10_000_000u32 {
        let spoofed =
            (IpAddr::from((random.next_u64() as u32).to_be_bytes()), random.below(65_536) as u16);
        wire.send(spoofed, (host(1), 80), SYN, 0);
        if n % 1000 == 0 {
            // A scan of 500 ports a second goes on beside it; the closed ports answer.
            let port = (n / 1000) as u16;
            wire.send((host(2), 40_000), (host(3), port), SYN, 0);
            wire.send((host(3), port), (host(2), 40_000), RST_ACK, 0);
        }
    }
    assert_eq!(wire.thresholds.memory_bytes(), before);
    assert!(wire.thresholds.losses().unwatched > 9_000_000);
    assert!(wire.fired.iter().any(|f| f.rule == SYN_FLOOD && f.destination == Some(host(1))));
    assert!(wire.fired.iter().any(|f| f.rule == PORT_SCAN && f.source == Some(host(2))));
    assert!(wire.fired.iter().all(|f| f.rule == SYN_FLOOD || f.rule == PORT_SCAN));
}

#[test]
fn the_same_packets_and_seed_fire_the_same() {
    let run = |seed| {
        let mut wire = Wire::new();
        wire.thresholds = Thresholds::new(&rules(), seed, SketchLimits::default());
        let mut random = Random::new(3);
        for _ in 0..50_000 {
            let (a, b) = (host(random.below(10) as u32), host(random.below(10) as u32));
            let flags = TcpFlags(random.below(64) as u8);
            wire.send((a, random.below(500) as u16), (b, random.below(500) as u16), flags, 0);
        }
        wire.fired
    };
    for seed in [Seed::Number(1), Seed::default()] {
        assert_eq!(run(seed), run(seed));
        assert!(!run(seed).is_empty());
    }
}

#[test]
fn gaps_of_years_judge_what_waited_and_forget_the_rest() {
    let mut wire = Wire::new();
    for port in 1..20 {
        wire.send((host(2), 40_000), (host(1), port), SYN, 0);
    }
    wire.advance(30 * 365 * 86_400 * NANOS_PER_SEC);
    for port in 20..40 {
        wire.send((host(2), 40_000), (host(1), port), SYN, 0);
    }
    assert_eq!(wire.finish(), [], "19 ports then and 20 now are no scan of 39");

    let mut wire = Wire::new();
    for port in 1..40 {
        wire.send((host(2), 40_000), (host(1), port), SYN, 0);
    }
    let last = wire.now;
    wire.advance(u64::MAX);
    assert_eq!(wire.fired.len(), 1);
    assert!(wire.fired[0].time <= last.plus(5 * NANOS_PER_SEC), "told with its own time");
}

#[test]
fn time_that_runs_backwards_stands_still() {
    let mut wire = Wire::new();
    for n in 0..2000u16 {
        wire.now = Timestamp::new(2_000_000_000 - u64::from(n) * 3600, 0);
        wire.talk((host(2), 10_000 + n), (host(1), 443));
    }
    for port in 1..40 {
        wire.now = Timestamp::default();
        wire.send((host(4), 40_000), (host(1), port), NULL, 0);
    }
    assert_eq!(wire.finish(), [PORT_SCAN]);
}
