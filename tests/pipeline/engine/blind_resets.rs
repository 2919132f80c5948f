//! A RST that somebody else sent ends nothing: both ends go on, and the connection is open again.

use acsm::flow::TcpFlags;
use acsm_filters::Backend;

use crate::engine::admission::{alert_of, plan, replay};
use crate::engine::segments::{ACK, Ends, Segment, capture};

const CONNECTIONS: u32 = 300;
const PENDING: Option<u64> = Some(64 << 10);

/// Connections that open, then what `more` adds to each.
fn connections(more: impl Fn(&mut Ends) -> Vec<Segment>) -> tempfile::NamedTempFile {
    let each = |n: u32| {
        let mut ends = Ends::new(n);
        let mut segments = ends.open(u64::from(n) * 10);
        segments.extend(more(&mut ends));
        segments
    };
    capture((0..CONNECTIONS).flat_map(each).collect())
}

/// A forged RST in the name of the client, with any sequence number.
fn blind_reset(ends: &Ends, millis: u64) -> Segment {
    let flags = TcpFlags::RST;
    let (sequence, acknowledgement) = (0x1234_5678, 0);
    Segment {
        millis,
        from: ends.client,
        to: ends.server,
        flags,
        sequence,
        acknowledgement,
        bytes: 0,
    }
}

fn count(lines: &[String], rule: &str) -> usize {
    let alert = alert_of(rule);
    lines.iter().filter(|line| line.starts_with(&alert)).count()
}

#[test]
fn connections_whose_ends_go_on_are_open_again() {
    let file = connections(|ends| {
        let mut segments = vec![blind_reset(ends, 4_000)];
        // One after the other: there is a budget of 100 alerts per second.
        segments.extend(ends.talk(5_000 + 20 * u64::from(ends.client.1 - 20_000)));
        segments.extend(ends.talk(12_000));
        segments
    });
    for backend in [Backend::Exact, Backend::Fcf, Backend::Kbf] {
        let (kept, result) = replay(&plan(backend, 20_000, PENDING), file.path()).unwrap();
        assert_eq!(result.shards.resets_ignored, u64::from(CONNECTIONS), "{backend:?}");
        // The server's segments complete the evidence, and it has one cool-down.
        assert_eq!(count(&kept.lines, "blind_reset"), 1, "{backend:?}");
        let live = result.store.live.round();
        assert!((live - f64::from(CONNECTIONS)).abs() < 4.0, "{backend:?}: {live} in the store");
    }
    let (kept, result) = replay(&plan(Backend::Exact, 20_000, None), file.path()).unwrap();
    assert_eq!(result.shards.resets_ignored, 0, "without a pending table, nothing is known");
    assert_eq!(count(&kept.lines, "blind_reset"), 0);
}

/// The end that resets sends nothing but RSTs afterwards; the other end still had data under way.
#[test]
fn connections_that_were_reset_stay_so() {
    let file = connections(|ends| {
        let reset = ends.client_sends(4_000, TcpFlags::RST, 0);
        let late = [ends.server_sends(4_001, ACK, 500), ends.server_sends(4_002, ACK, 500)];
        let again = [
            ends.client_sends(4_003, TcpFlags::RST, 0),
            ends.client_sends(4_004, TcpFlags::RST.with(ACK), 0),
        ];
        [&[reset][..], &late, &again].concat()
    });
    let (_, result) = replay(&plan(Backend::Exact, 20_000, PENDING), file.path()).unwrap();
    assert_eq!((result.shards.resets_ignored, result.store.live), (0, 0.0));
}

/// Segments forged in the name of the end that is gone, with numbers that are guessed.
#[test]
fn forged_segments_do_not_open_a_connection_again() {
    let file = connections(|ends| {
        let mut segments = vec![ends.client_sends(4_000, TcpFlags::RST, 0)];
        for n in 0..3 {
            let forged = ends.client_sends(4_001 + 2 * n, ACK, 0);
            let sequence = forged.sequence.wrapping_add(0x1000_0000 * (n as u32 + 1));
            segments.push(Segment { sequence, ..forged });
            // The other end, which the RST never reached, says what it expects.
            segments.push(ends.server_sends(4_002 + 2 * n, ACK, 0));
        }
        segments
    });
    let (_, result) = replay(&plan(Backend::Exact, 20_000, PENDING), file.path()).unwrap();
    assert_eq!(result.shards.resets_ignored, 0);
}

/// Closed by both ends: nothing opens it but a SYN.
#[test]
fn closed_connections_stay_closed() {
    const FIN_ACK: TcpFlags = TcpFlags(TcpFlags::FIN.0 | TcpFlags::ACK.0);
    let file = connections(|ends| {
        let mut segments =
            vec![ends.client_sends(4_000, FIN_ACK, 0), ends.server_sends(4_001, FIN_ACK, 0)];
        segments.extend(ends.talk(5_000));
        segments.push(blind_reset(ends, 5_500));
        segments.extend(ends.talk(6_000));
        segments
    });
    let (_, result) = replay(&plan(Backend::Exact, 20_000, PENDING), file.path()).unwrap();
    assert_eq!((result.shards.resets_ignored, result.store.live), (0, 0.0));
}
