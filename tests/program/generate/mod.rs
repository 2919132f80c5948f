//! Generated traces: the same bytes for the same seed, and a ground truth that an independent
//! count of the written bytes confirms.

mod command;
mod connections;
mod floods;
mod paper_profile;
mod recount;
mod scenarios;

use std::collections::HashMap;
use std::net::IpAddr;

use acsm::generate::{
    AttackKind, AttackSpec, Link, Precision, Profile, Trace, TraceError, TraceSpec, Truth,
};
use acsm::machine::Network;
use recount::{Record, records};
use serde_json::{Value, json};

const COUNTS: [&str; 12] = [
    "packets",
    "tcp_packets",
    "flows",
    "flows_fin",
    "flows_rst",
    "flows_syn",
    "flows_syn_only",
    "flows_syn_fin",
    "flows_null",
    "flows_xmas",
    "five_tuples",
    "ipv6_tcp_packets",
];

fn realistic(packets: u64, flows: u64) -> TraceSpec {
    TraceSpec { packets, flows, ..TraceSpec::new(Profile::Realistic) }
}

fn paper(packets: u64, flows: u64) -> TraceSpec {
    TraceSpec { packets, flows, ..TraceSpec::new(Profile::Paper) }
}

fn all_attacks() -> Vec<AttackSpec> {
    AttackKind::ALL.map(AttackSpec::from).to_vec()
}

fn every_attack() -> Vec<AttackSpec> {
    AttackKind::every().map(AttackSpec::from).collect()
}

fn generate(spec: TraceSpec) -> (Vec<u8>, Truth) {
    let mut bytes = Vec::new();
    let truth = Trace::new(spec).expect("a good spec").write(&mut bytes).expect("memory");
    (bytes, truth)
}

/// Asserts that the ground truth equals a count of the bytes.
fn confirm(spec: TraceSpec) -> (Vec<Record>, Value) {
    let (packets, flows) = (spec.packets, spec.flows + 2 * spec.long_lived);
    let has_attacks = !spec.attacks.is_empty();
    let (bytes, truth) = generate(spec);
    assert_eq!(truth.file_bytes, bytes.len() as u64);
    let truth = serde_json::to_value(truth).unwrap();
    let records = records(&bytes);
    let counted = recount::facts(&records);
    for key in COUNTS {
        assert_eq!(truth[key], counted[key], "{key}");
    }
    for key in ["first_time", "last_time"] {
        assert_eq!(truth[key], counted[key], "{key}");
    }
    assert_eq!(truth["packets"], packets);
    if !has_attacks {
        assert_eq!(truth["flows"], flows);
    }
    assert!(records.is_sorted_by_key(|record| record.time), "in the order of time");
    (records, truth)
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_different_ones() {
    for profile in [Profile::Realistic, Profile::Paper] {
        let spec = |seed| TraceSpec {
            packets: 30_000,
            flows: 2_000,
            seed,
            attacks: all_attacks(),
            ..TraceSpec::new(profile)
        };
        let (first, truth) = generate(spec(7));
        let (again, truth_again) = generate(spec(7));
        assert!(first == again, "{profile:?}");
        assert_eq!(
            serde_json::to_string(&truth).unwrap(),
            serde_json::to_string(&truth_again).unwrap()
        );
        assert!(generate(spec(8)).0 != first, "{profile:?}");
    }
}

/// Bytes that never change: a trace can be named by its command and found again.
#[test]
fn the_bytes_of_a_seed_are_fixed_for_good() {
    let spec = TraceSpec { attacks: all_attacks(), ..realistic(20_000, 1_000) };
    let with_attacks = |attacks: Vec<AttackSpec>| TraceSpec {
        attacks,
        long_lived: 10,
        silent_share: Some(0.1),
        ..realistic(40_000, 1_000)
    };
    let floods = AttackKind::ALL.into_iter().chain(AttackKind::FLOODS).map(AttackSpec::from);
    let digest = |bytes: &[u8]| {
        bytes.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    };
    assert_eq!(format!("{:016x}", digest(&generate(spec).0)), FNV_OF_SEED_1);
    assert_eq!(format!("{:016x}", digest(&generate(paper(5_000, 1_000)).0)), FNV_OF_PAPER);
    let digest_with = |attacks| format!("{:016x}", digest(&generate(with_attacks(attacks)).0));
    assert_eq!(digest_with(floods.collect()), FNV_WITH_FLOODS);
    assert_eq!(digest_with(every_attack()), FNV_OF_EVERY);
}

const FNV_OF_SEED_1: &str = "c4db2f8f07d74224";
const FNV_OF_PAPER: &str = "d7b47e8e255539a3";
const FNV_WITH_FLOODS: &str = "b9b98c70da3430d2";
const FNV_OF_EVERY: &str = "e56fcdffea11c293";

#[test]
fn truth_is_what_a_count_of_the_bytes_finds() {
    confirm(realistic(100_000, 10_000));
    confirm(realistic(31, 10));
    confirm(TraceSpec { seed: 3, ..realistic(50_000, 4_001) });
    confirm(TraceSpec { attacks: all_attacks(), ..realistic(60_000, 3_000) });
    confirm(TraceSpec { ipv6_share: 1.0, ..realistic(10_000, 500) });
    confirm(TraceSpec { duration_nanos: 1_000_000, ..realistic(10_000, 500) });
    confirm(TraceSpec { attacks: all_attacks(), ..paper(60_000, 9_000) });
    confirm(TraceSpec { attacks: every_attack(), ..realistic(60_000, 3_000) });
    confirm(TraceSpec { attacks: every_attack(), seed: 2, ..paper(60_000, 3_000) });
    confirm(TraceSpec { long_lived: 50, silent_share: Some(0.2), ..realistic(40_000, 3_000) });
    confirm(realistic(1_000, 1));
    confirm(paper(1, 1));
}

#[test]
fn every_format_holds_the_same_packets() {
    let spec = || realistic(5_000, 400);
    let (plain, _) = confirm(spec());
    for link in [Link::Raw, Link::Ethernet] {
        for precision in [Precision::Micros, Precision::Nanos] {
            for snaplen in [78, 96, 65_535] {
                let mut other = spec();
                other.format.link = link;
                other.format.precision = precision;
                other.format.snaplen = snaplen;
                let (records, _) = confirm(other);
                let same = plain
                    .iter()
                    .zip(&records)
                    .all(|(a, b)| (a.src, a.dst, a.flags, a.seq) == (b.src, b.dst, b.flags, b.seq));
                assert!(same, "{link:?} {precision:?} {snaplen}");
            }
        }
    }
}

#[test]
fn flags_that_the_snaplen_cuts_off_are_not_counted() {
    let mut spec = TraceSpec { ipv6_share: 0.5, ..realistic(5_000, 400) };
    spec.format.link = Link::Ethernet;
    spec.format.snaplen = 64; // the flags of TCP in IPv6 are byte 67
    let (bytes, truth) = generate(spec);
    let counted = recount::facts(&records(&bytes));
    let truth = serde_json::to_value(truth).unwrap();
    for key in COUNTS {
        assert_eq!(truth[key], counted[key], "{key}");
    }
    assert_eq!(truth["ipv6_tcp_packets"], 0);
    assert!(truth["tcp_packets"].as_u64() < truth["packets"].as_u64());
    assert!(truth.get("skipped").is_none());
}

#[test]
fn the_paper_profile_has_the_papers_counts_in_proportion() {
    let (records, truth) = confirm(paper(50_000, 9_085));
    assert_eq!([&truth["flows_fin"], &truth["flows_rst"]], [9, 17]);
    // One-way: no pair has its reverse.
    let pairs: std::collections::HashSet<_> = records.iter().map(|r| (r.src, r.dst)).collect();
    assert!(pairs.iter().all(|(src, dst)| !pairs.contains(&(*dst, *src))));
}

#[test]
fn the_paper_profile_has_the_papers_counts() {
    let (_, truth) = confirm(paper(1_000_000, 908_522));
    assert_eq!(
        [&truth["flows"], &truth["flows_fin"], &truth["flows_rst"]],
        [&json!(908_522), &json!(900), &json!(1_658)]
    );
}

#[test]
fn sizes_are_heavy_tailed() {
    for spec in [realistic(200_000, 10_000), paper(100_000, 10_000)] {
        let (records, _) = confirm(spec);
        let mut packets: HashMap<(IpAddr, IpAddr), u64> = HashMap::new();
        records.iter().for_each(|r| *packets.entry((r.src, r.dst)).or_default() += 1);
        let mut sizes: Vec<u64> = packets.into_values().collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        let top_tenth: u64 = sizes[..sizes.len() / 10].iter().sum();
        let median = sizes[sizes.len() / 2];
        assert!(top_tenth * 3 > records.len() as u64, "a tenth has over a third: {top_tenth}");
        assert!(sizes[0] > 50 * median, "{} against a median of {median}", sizes[0]);
    }
}

/// The packets of each pair of ends (both directions of a 5-tuple), in order.
fn connections(records: &[Record]) -> HashMap<[(IpAddr, u16); 2], Vec<&Record>> {
    let mut connections: HashMap<_, Vec<&Record>> = HashMap::new();
    for record in records {
        let mut ends = [(record.src, record.src_port), (record.dst, record.dst_port)];
        ends.sort_unstable();
        connections.entry(ends).or_default().push(record);
    }
    connections
}

#[test]
fn well_behaved_connections_open_and_close_properly() {
    let spec = TraceSpec { well_behaved: true, ..realistic(60_000, 4_000) };
    let (records, truth) = confirm(spec);
    assert_eq!(truth["flows_rst"], 0);
    assert_eq!(truth["clean"]["flows"], 4_000);
    for packets in connections(&records).values() {
        let client = packets[0].src;
        let flags: Vec<u8> = packets.iter().map(|packet| packet.flags & 0x3f).collect();
        assert_eq!(flags[..3], [0x02, 0x12, 0x10], "{packets:?}");
        assert!([false, true, false].iter().zip(packets).all(|(b, p)| (p.src != client) == *b));
        let fins: Vec<_> = packets.iter().filter(|packet| packet.flags & 1 != 0).collect();
        assert_eq!(fins.len(), 2, "{packets:?}");
        assert_ne!(fins[0].src, fins[1].src);
        let syns = flags.iter().filter(|flags| *flags & 2 != 0).count();
        assert_eq!((syns, flags[flags.len() - 1]), (2, 0x10), "{packets:?}");
        in_sequence(packets);
    }
}

/// Without loss every segment begins where its sender's last one ended, and acknowledges all.
fn in_sequence(packets: &[&Record]) {
    let mut next: HashMap<IpAddr, u32> = HashMap::new();
    for packet in packets {
        assert!(next.get(&packet.src).is_none_or(|seq| *seq == packet.seq), "{packet:?}");
        if packet.flags & 0x10 != 0 {
            assert_eq!(next.get(&packet.dst), Some(&packet.ack), "{packet:?}");
        }
        let controls = (packet.flags & 3).count_ones();
        next.insert(packet.src, packet.seq.wrapping_add(packet.payload_bytes + controls));
    }
}

#[test]
fn realistic_traffic_has_the_variety_of_real_traffic() {
    let (records, truth) = confirm(realistic(300_000, 20_000));
    let connections = connections(&records);
    let flags_of = |packets: &[&Record]| packets.iter().map(|p| p.flags & 0x3f).collect::<Vec<_>>();
    let share = |test: &dyn Fn(&[&Record]) -> bool| {
        connections.values().filter(|packets| test(packets)).count() as f64
            / connections.len() as f64
    };
    let refused = share(&|packets| flags_of(packets) == [0x02, 0x14]);
    let mid_stream = share(&|packets| packets.len() > 1 && packets[0].flags & 2 == 0);
    let one_way = share(&|packets| packets.iter().all(|packet| packet.src == packets[0].src));
    let reopened =
        share(&|packets| packets.iter().skip(4).any(|p| p.flags & 0x12 == 2) && packets.len() > 10);
    let never_closed = share(&|packets| packets.iter().all(|packet| packet.flags & 5 == 0));
    let ecn = share(&|packets| packets[0].flags == 0xc2);
    let ipv6 = share(&|packets| packets[0].src.is_ipv6());
    for (name, share, least, most) in [
        ("refused", refused, 0.003, 0.03),
        ("mid-stream", mid_stream, 0.002, 0.06),
        ("one-way", one_way, 0.05, 0.2),
        ("reopened", reopened, 0.001, 0.2),
        ("never closed", never_closed, 0.01, 0.2),
        ("ecn", ecn, 0.03, 0.2),
        ("ipv6", ipv6, 0.05, 0.15),
    ] {
        assert!((least..most).contains(&share), "{name}: {share}");
    }
    let part = |name: &str| truth[name]["flows"].as_u64().unwrap();
    assert_eq!(part("clean") + part("partly_seen"), 20_000);
    assert!(part("clean") > 17_000);
}

#[test]
fn clean_hosts_never_look_like_scanners() {
    let (records, _) = confirm(realistic(300_000, 30_000));
    let mut servers: HashMap<IpAddr, std::collections::HashSet<(IpAddr, u16)>> = HashMap::new();
    let opening = records.iter().filter(|record| record.flags & 0x12 == 0x02);
    opening.for_each(|r| {
        servers.entry(r.src).or_default().insert((r.dst, r.dst_port));
    });
    assert!(servers.values().all(|contacted| contacted.len() <= 10));
}

#[test]
fn attacks_are_in_the_trace_where_the_truth_says() {
    let spec = TraceSpec { attacks: every_attack(), ..realistic(100_000, 5_000) };
    let (records, truth) = confirm(spec);
    let attacks = truth["attacks"].as_array().unwrap();
    assert_eq!(attacks.len(), 12 + 13 + 8);
    for attack in attacks {
        let text = |key: &str| attack[key].as_str().unwrap();
        let (first, last): (acsm::time::Timestamp, acsm::time::Timestamp) =
            (text("first_time").parse().unwrap(), text("last_time").parse().unwrap());
        let end = |key: &str| attack[key][0].as_str().unwrap();
        let is_host = |end: &&str| end.parse::<IpAddr>().is_ok();
        // Only of the bombing's ends neither is one host; the prefix is nobody else's.
        let end =
            ["victims", "attackers"].map(end).into_iter().find(is_host).unwrap_or_else(|| {
                assert_eq!(text("name"), "carpet_bombing");
                end("victims")
            });
        let end: Network = end.parse().expect("an address or a network");
        let is_own = |record: &&Record| end.contains(record.src) || end.contains(record.dst);
        let own: Vec<_> = records.iter().filter(is_own).collect();
        assert_eq!(own.len() as u64, attack["packets"].as_u64().unwrap(), "{attack}");
        assert_eq!((own[0].time, own[own.len() - 1].time), (first, last), "{attack}");
        let least = match text("name") {
            // Nine tenths of 300 s, a probe every 8 and every 3 s.
            "slow_port_scan" => 33,
            "slow_host_sweep" => 90,
            _ => 300,
        };
        assert!(own.len() >= least, "{attack}");
        let flags = own[0].flags;
        let expected = match text("name") {
            "fin_scan" => 0x01,
            "null_scan" => 0x00,
            "xmas_scan" => 0x29,
            "ack_scan" | "ack_flood" => 0x10,
            "rst_storm" | "rst_flood" => 0x04,
            "fin_storm" | "fin_flood" => 0x11,
            "synack_reflection" | "synack_flood" | "backscatter" => 0x12,
            _ => 0x02,
        };
        assert_eq!(flags, expected, "{attack}");
    }
}

#[test]
fn impossible_options_are_refused() {
    let refusal = |spec: TraceSpec| {
        let error = Trace::new(spec).map(|_| ()).unwrap_err();
        assert!(error.is_wrong_usage());
        error.to_string()
    };
    assert!(refusal(realistic(0, 10)).contains("packets"));
    assert!(refusal(realistic(10, 0)).contains("flows"));
    assert!(refusal(realistic(10, 100)).contains("too few"));
    assert!(refusal(paper(99, 100)).contains("at least 100"));
    assert!(refusal(realistic(1, u64::MAX)).contains("10000000"));
    assert!(refusal(TraceSpec { well_behaved: true, ..realistic(100, 9) }).contains("even"));
    assert!(refusal(TraceSpec { well_behaved: true, ..paper(100, 9) }).contains("well-behaved"));
    let eternal = TraceSpec { duration_nanos: u64::MAX, ..realistic(100, 10) };
    assert!(refusal(eternal).contains("a year"));
    let attacked = TraceSpec { attacks: all_attacks(), ..realistic(1_000, 10) };
    assert!(refusal(attacked).contains("attacks"));
    let full = Trace::new(realistic(100_000, 1_000)).unwrap().write(Full);
    assert!(matches!(full, Err(TraceError::Io(_))));
}

/// A disk that is full.
struct Full;

impl std::io::Write for Full {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
