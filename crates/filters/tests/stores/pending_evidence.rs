//! What admits a flow from the pending table: connections of all kinds are admitted with the first
//! segments of both ends, forged packets only by a guess.

use acsm_filters::Random;
use acsm_filters::pending::End::{Backward, Forward};
use acsm_filters::pending::{End, Evidence, Segment, Sum};

const MIB: u32 = 1 << 20;

fn plain(end: End, sequence: u32, acknowledgement: u32) -> Segment {
    Segment::Plain(end, Sum::of(sequence, acknowledgement))
}

fn syn_ack(sequence: u32, acknowledgement: u32) -> Segment {
    Segment::SynAck(Sum::of(sequence, acknowledgement))
}

/// How many of the segments it takes until the evidence is complete.
fn needed(segments: &[Segment]) -> Option<usize> {
    let mut evidence = Evidence::NONE;
    let complete = segments.iter().position(|&segment| {
        evidence = evidence.after(segment);
        evidence.is_complete()
    });
    complete.map(|index| index + 1)
}

/// Both ends' first numbers, the places where they or their sum wrap around among them.
fn initial_numbers() -> Vec<[u32; 2]> {
    let mut random = Random::new(1);
    let chosen = [[0, 0], [u32::MAX, 5], [u32::MAX - 3, u32::MAX], [1 << 31, (1 << 31) - 2]];
    let random = (0..10_000).map(|_| [random.next_u64() as u32, random.next_u64() as u32]);
    chosen.into_iter().chain(random).collect()
}

#[test]
fn a_connection_is_admitted_with_the_first_plain_segments_of_both_ends() {
    for [c, s] in initial_numbers() {
        let n = |number: u32, more: u32| number.wrapping_add(more);
        let handshake = [
            Segment::Syn,
            syn_ack(s, n(c, 1)),
            plain(Forward, n(c, 1), n(s, 1)),
            plain(Forward, n(c, 1), n(s, 1)), // 700 bytes
            plain(Backward, n(s, 1), n(c, 701)),
        ];
        assert_eq!(needed(&handshake), Some(5));
        assert_eq!(needed(&handshake[3..]), Some(2), "taken up in mid-stream");

        // The server's first data, 14 kB, before the client has confirmed.
        let fast_open = [
            Segment::Syn,
            syn_ack(s, n(c, 1201)),
            plain(Backward, n(s, 1), n(c, 1201)),
            plain(Backward, n(s, 14_001), n(c, 1201)),
            plain(Forward, n(c, 1201), n(s, 1)),
        ];
        assert_eq!(needed(&fast_open), Some(5));

        let simultaneous_open = [
            Segment::Syn,
            Segment::Syn,
            syn_ack(c, n(s, 1)),
            syn_ack(s, n(c, 1)),
            plain(Forward, n(c, 1), n(s, 1)),
            plain(Backward, n(s, 1), n(c, 1)),
        ];
        assert_eq!(needed(&simultaneous_open), Some(6));

        let keep_alive = [plain(Forward, c.wrapping_sub(1), s), plain(Backward, s, c)];
        assert_eq!(needed(&keep_alive), Some(2));

        let repeated_grant = [
            plain(Forward, n(c, 1), n(s, 1)),
            syn_ack(s, n(c, 1)),
            plain(Backward, n(s, 1), n(c, 701)),
        ];
        assert_eq!(needed(&repeated_grant), Some(3));
    }
}

#[test]
fn two_mebibytes_in_flight_agree_and_more_than_three_do_not() {
    let mut random = Random::new(2);
    for [c, s] in initial_numbers() {
        let in_flight = |bytes: u32| {
            let segments = [plain(Forward, c.wrapping_add(bytes), s), plain(Backward, s, c)];
            needed(&segments).is_some()
        };
        assert!(in_flight(random.below(u64::from(2 * MIB) + 1) as u32));
        // Up to the largest window there is.
        let more = random.below(u64::from((1 << 30) - 3 * MIB)) as u32;
        assert!(!in_flight(3 * MIB + more));
    }
}

#[test]
fn one_end_alone_is_never_enough() {
    for [c, s] in initial_numbers() {
        let alone = [plain(Forward, c, s); 3];
        assert_eq!(needed(&alone), None);
        let answered = [Segment::Syn, syn_ack(s, c), plain(Forward, c, s), Segment::Other];
        assert_eq!(needed(&answered), None);
    }
}

#[test]
fn what_was_heard_before_a_syn_does_not_count() {
    let segments = [plain(Forward, 1, 1), Segment::Syn, plain(Backward, 1, 1)];
    assert_eq!(needed(&segments), None);
}

/// If a forged SYN+ACK replaced the sum and left the server's note, the attacker could match it.
#[test]
fn a_forged_grant_does_not_complete_the_servers_note() {
    let (challenge, forged) = (plain(Backward, 7 << 29, 1), [5, 9]);
    let segments = [challenge, syn_ack(forged[0], forged[1]), plain(Forward, forged[0], forged[1])];
    assert_eq!(needed(&segments), None);
}

#[test]
fn a_forged_segment_delays_admission_by_one_exchange() {
    for end in [Forward, Backward] {
        let forged = plain(end, 1 << 31, 0);
        for at in 0..2 {
            let mut segments: Vec<Segment> = [Forward, Backward].map(|end| plain(end, 1, 1)).into();
            segments.insert(at, forged);
            segments.extend([plain(Forward, 101, 1), plain(Backward, 1, 201)]);
            assert!(needed(&segments).is_some_and(|needed| needed <= 5), "{segments:?}");
        }
    }
}

#[test]
fn a_flow_that_was_refused_stays_admissible() {
    let heard = [plain(Forward, 1, 1), plain(Backward, 1, 1)];
    let evidence = heard.into_iter().fold(Evidence::NONE, Evidence::after);
    assert!(evidence.after(plain(Forward, 1 << 30, 1)).is_complete());
    assert!(evidence.after(Segment::Other).is_complete());
    assert_eq!(evidence.after(Segment::Syn), Evidence::NONE);
    assert!(!evidence.after(syn_ack(1 << 30, 1)).is_complete());
}

/// An attacker makes a server send challenge ACKs, whose sequence numbers he does not see, and adds
/// guesses. Each challenge ACK serves for the guess before it and the guess after it.
#[test]
fn each_guess_succeeds_in_five_of_4096_cases_however_often_it_is_tried() {
    let mut random = Random::new(3);
    let mut guess = || plain(Forward, random.next_u64() as u32, 0);
    let challenge = plain(Backward, 0x1234_5678, 0x0fed_cba9);
    let rounds = 1_000_000;
    let (mut evidence, mut admitted) = (Evidence::NONE, 0);
    for _ in 0..rounds {
        for segment in [guess(), challenge, guess()] {
            evidence = evidence.after(segment);
            if evidence.is_complete() {
                (evidence, admitted) = (Evidence::NONE, admitted + 1);
            }
        }
    }
    // After a success the other guess of the round is in vain: less than the bound.
    let expected = f64::from(2 * rounds) * 5.0 / 4096.0;
    let bound = 5.0 * expected.sqrt();
    println!("{admitted} of {} guesses, expected {expected:.0} ± {bound:.0}", 2 * rounds);
    assert!((f64::from(admitted) - expected).abs() < bound);
}
