//! Floods against a table of flows: every probe has the documented packets, numbers and sources.

use std::collections::HashSet;
use std::net::IpAddr;

use acsm::generate::{AttackKind, AttackSpec, TraceSpec};
use acsm::machine::Network;
use serde_json::Value;

use super::recount::Record;
use super::{confirm, connections, realistic};
use crate::runner::{Folder, replay_with_alerts};

/// The packets of each flood's probes: who sends (a: attacker, v: victim), flags, and the sender's and
/// the other's number if they are right (`=`), guessed (`?`) or elsewhere (`~`); `!` is a wrong checksum.
const PACKETS: [(AttackKind, &str); 13] = [
    (AttackKind::UnansweredSynFlood, "a S ="),
    (AttackKind::RepeatedSynFlood, "a S =, a S ~"),
    (AttackKind::AnsweredSynFlood, "a S =, v SA =="),
    (AttackKind::BlindAckFlood, "a S =, v SA ==, a A =?, v R ?"),
    (AttackKind::BlindDataFlood, "a S =, v SA ==, a A =?!, a PA100 =?!"),
    (AttackKind::ChallengeAckFlood, "a S =, v SA ==, a S ~, v A ==, a A =?!"),
    (AttackKind::LateAckFlood, "a S =, v SA ==, a A =?!, a P100 ~, v A =="),
    (AttackKind::AckFlood, "a A ==, v R ="),
    (AttackKind::SynAckFlood, "a SA ==, v R ="),
    (AttackKind::RstFlood, "a R ="),
    (AttackKind::FinFlood, "a FA =="),
    (AttackKind::BotnetFlood, "a S =, v SA ==, a A ==, a PA100 ==, v A =="),
    (AttackKind::SubnetSynFlood, "a S ="),
];

/// A trace with one flood; its packets, probe by probe, and its label.
fn flood(attack: AttackSpec) -> (Vec<Vec<Record>>, Value) {
    let spec = TraceSpec { attacks: vec![attack], ..realistic(60_000, 1_000) };
    let (records, truth) = confirm(spec);
    let label = truth["attacks"][0].clone();
    let victim: IpAddr = label["victims"][0].as_str().unwrap().parse().unwrap();
    let own: Vec<Record> =
        records.into_iter().filter(|r| r.src == victim || r.dst == victim).collect();
    let probes = connections(&own).into_values();
    let probes = probes.map(|packets| packets.into_iter().copied().collect()).collect();
    (probes, label)
}

/// A probe in the notation of [`PACKETS`]. The numbers that are right follow from the packets before;
/// a first number is right, whatever it is.
fn notation(packets: &[Record]) -> String {
    let attacker = packets[0].src;
    let mut next: [Option<u32>; 2] = [None; 2];
    let mut guess = None;
    let mut words = Vec::new();
    for packet in packets {
        let sender = usize::from(packet.src != attacker);
        let has_ack = packet.flags & 0x10 != 0;
        let seq_mark = match next[sender] {
            // A reset takes its number from the acknowledgement that it answers.
            Some(_) if guess == Some(packet.seq) => '?',
            Some(seq) if seq != packet.seq => '~',
            _ => '=',
        };
        let ack_mark = match next[1 - sender] {
            _ if !has_ack => None,
            Some(ack) if ack != packet.ack => Some('?'),
            _ => Some('='),
        };
        if ack_mark == Some('?') {
            assert!(guess.is_none_or(|before| before == packet.ack), "one guess: {packets:?}");
            guess = Some(packet.ack);
        }
        if has_ack && next[1 - sender].is_none() {
            next[1 - sender] = Some(packet.ack);
        }
        if seq_mark == '=' && ack_mark != Some('?') {
            let length = packet.payload_bytes + (packet.flags & 3).count_ones();
            next[sender] = Some(packet.seq.wrapping_add(length));
        }
        let flags: String = "FSRPA"
            .chars()
            .zip([1, 2, 4, 8, 16])
            .filter(|(_, bit)| packet.flags & bit != 0)
            .map(|(letter, _)| letter)
            .collect();
        let data = match packet.payload_bytes {
            0 => String::new(),
            bytes => bytes.to_string(),
        };
        let bad = if packet.checksum_is_right.unwrap() { "" } else { "!" };
        let marks: String = [Some(seq_mark), ack_mark].into_iter().flatten().collect();
        words.push(format!("{} {flags}{data} {marks}{bad}", ['a', 'v'][sender]));
    }
    words.join(", ")
}

#[test]
fn every_probe_has_the_packets_of_its_flood() {
    assert_eq!(PACKETS.map(|(kind, _)| kind), AttackKind::FLOODS);
    for (kind, expected) in PACKETS {
        let (probes, label) = flood(kind.into());
        assert_eq!((probes.len(), label["attacker_count"].as_u64()), expected_sizes(kind));
        for packets in &probes {
            assert_eq!(notation(packets), expected, "{}: {packets:?}", kind.name());
        }
    }
}

/// Probes, and the hosts that they come from.
fn expected_sizes(kind: AttackKind) -> (usize, Option<u64>) {
    (400, Some(if kind == AttackKind::SubnetSynFlood { 256 } else { 400 }))
}

#[test]
fn sources_are_where_the_truth_says_and_each_flood_has_its_own() {
    let mut networks = HashSet::new();
    for kind in AttackKind::FLOODS {
        let (probes, label) = flood(kind.into());
        let network = label["attackers"][0].as_str().unwrap().to_owned();
        let inside: Network = network.parse().unwrap();
        assert!(probes.iter().all(|packets| inside.contains(packets[0].src)), "{label}");
        let sources: HashSet<IpAddr> = probes.iter().map(|packets| packets[0].src).collect();
        assert_eq!(label["attacker_count"], sources.len(), "{label}");
        let is_subnet = network.ends_with("/24");
        assert_eq!(is_subnet, kind == AttackKind::SubnetSynFlood, "{network}");
        assert!(networks.insert(network), "{label}");
    }
}

/// (seq + ack) >> 20 of the plain segments (ACK, neither SYN nor RST) of each end.
fn sums(packets: &[Record]) -> [Vec<u32>; 2] {
    let mut sums = [Vec::new(), Vec::new()];
    for packet in packets.iter().filter(|packet| packet.flags & 0x16 == 0x10) {
        let sum = packet.seq.wrapping_add(packet.ack) >> 20;
        sums[usize::from(packet.src != packets[0].src)].push(sum);
    }
    sums
}

/// Whether any two of the ends' sums are within 2 of each other, modulo 2^12.
fn agree(sums: &[Vec<u32>; 2]) -> bool {
    let near = |a: &u32, b: &u32| (a.wrapping_sub(*b).wrapping_add(2) & 0xfff) <= 4;
    sums[0].iter().any(|a| sums[1].iter().any(|b| near(a, b)))
}

#[test]
fn who_guesses_has_another_sum_and_bots_have_the_right_one() {
    for kind in AttackKind::FLOODS {
        let (probes, _) = flood(AttackSpec { probes: Some(4_000), ..kind.into() });
        let sums: Vec<_> = probes.iter().map(|packets| sums(packets)).collect();
        let both = sums.iter().filter(|sums| sums.iter().all(|end| !end.is_empty())).count();
        let agreeing = sums.iter().filter(|sums| agree(sums)).count();
        let (expected, agrees) = match kind {
            AttackKind::BotnetFlood => (4_000, 4_000..=4_000),
            // Of 4,000 guesses 5 in 4,096 are near: 4.9, and five standard deviations.
            AttackKind::ChallengeAckFlood | AttackKind::LateAckFlood => (4_000, 0..=16),
            _ => (0, 0..=0),
        };
        assert_eq!(both, expected, "{}", kind.name());
        assert!(agrees.contains(&agreeing), "{}: {agreeing}", kind.name());
    }
}

#[test]
fn late_probes_pause_for_3_seconds_and_the_others_do_not() {
    for kind in AttackKind::FLOODS {
        let (probes, _) = flood(kind.into());
        for packets in &probes {
            let nanos = packets[packets.len() - 1].time.as_nanos() - packets[0].time.as_nanos();
            let expected = match kind {
                AttackKind::LateAckFlood => 3_000_000_000..3_100_000_000,
                _ => 0..150_000_000,
            };
            assert!(expected.contains(&nanos), "{}: {nanos} ns", kind.name());
        }
    }
}

#[test]
fn a_size_and_a_rate_can_be_chosen() {
    for (probes, per_second, seconds) in [(5_000, 1_000, 5.0), (300, 10, 30.0), (8_000, 80, 100.0)]
    {
        let attack = AttackSpec {
            probes: Some(probes),
            per_second: Some(per_second),
            ..AttackKind::UnansweredSynFlood.into()
        };
        let (packets, label) = flood(attack);
        assert_eq!(packets.len() as u64, probes);
        assert_eq!(label["packets"], probes);
        let mut times: Vec<u64> = packets.iter().map(|probe| probe[0].time.as_nanos()).collect();
        times.sort_unstable();
        let length = (times[times.len() - 1] - times[0]) as f64 / 1e9;
        assert!((length / seconds - 1.0).abs() < 0.01, "{probes} at {per_second}/s: {length} s");
    }
    // In 300 s an attack has 120 s at the most.
    let (packets, _) = flood(AttackSpec { per_second: Some(1), ..AttackKind::RstFlood.into() });
    let times = packets.iter().map(|probe| probe[0].time.as_nanos());
    let (first, last) = (times.clone().min().unwrap(), times.max().unwrap());
    assert!((119_000_000_000..120_000_000_000).contains(&(last - first)));
}

#[test]
fn floods_that_have_a_rule_are_detected_and_the_others_raise_nothing_grave() {
    let folder = Folder::new();
    let options = "--packets 60k --attacks every --duration 10m --long-lived 20 --seed 5";
    let (trace, truth) = folder.generate("x.pcap", options);
    for preset in ["paper", "operator"] {
        let run = replay_with_alerts(&format!("--backend exact --preset {preset}"), &[&trace]);
        for kind in AttackKind::FLOODS {
            let attacks = truth["attacks"].as_array().unwrap();
            let label = attacks.iter().find(|attack| attack["name"] == kind.name()).unwrap();
            let is_own = |alert: &&Value| {
                ["src_ip", "dest_ip"].iter().any(|end| alert[end] == label["victims"][0])
            };
            let own: Vec<&Value> = run.alerts.iter().filter(is_own).collect();
            let is_expected = match kind.rule() {
                Some(rule) => own.iter().any(|alert| alert["acsm"]["rule"] == rule),
                None => own.iter().all(|alert| alert["alert"]["severity"].as_u64() > Some(2)),
            };
            assert!(is_expected, "{preset}: {label} {own:?}");
        }
    }
}
