//! What a packet costs to read and parse, compared with a bare libpcap loop over the same file that only
//! counts packets. `scripts/bench read [PACKETS]`.

mod harness;

use std::hint::black_box;

use acsm::capture::PacketSource;
use acsm::capture::parse::Parser;
use acsm::generate::{Format, Link, Precision, Profile, TraceSpec};

use harness::count_with_libpcap;
use harness::table::{self, Row};
use harness::trace_file::TraceFile;
use harness::turns::{Contestant, take_turns};

fn main() {
    let packets = harness::packets_or(5_000_000);
    table::head(&format!("read and parse, {packets} packets, realistic"));
    for (name, link, link_bytes) in [("raw IP", Link::Raw, 0), ("Ethernet", Link::Ethernet, 14)] {
        let format = Format {
            link,
            snaplen: TraceSpec::IP_SNAPLEN + link_bytes,
            precision: Precision::Micros,
        };
        let flows = packets / 10;
        let base = TraceSpec::new(Profile::Realistic);
        let trace = TraceFile::new(TraceSpec { packets, flows, format, ..base });
        let mut contestants = [
            Contestant::new(format!("{name}: libpcap"), || count_with_libpcap(&trace.path)),
            Contestant::new(format!("{name}: read"), || count_frames(&trace)),
            Contestant::new(format!("{name}: read and parse"), || count_tcp(&trace)),
        ];
        let seconds = take_turns(&mut contestants, trace.packets);
        for (n, ratio_max) in [None, None, Some(1.0 / 3.0)].into_iter().enumerate() {
            Row {
                name: &contestants[n].name,
                nanos_per_packet: seconds[n].median() * 1e9 / packets as f64,
                ratio: seconds[n].ratio_to(&seconds[0]),
                ratio_max,
                memory_bytes: None,
            }
            .print();
        }
    }
}

fn count_frames(trace: &TraceFile) -> u64 {
    let mut source = trace.open();
    let mut packets = 0;
    while let Some(frame) = source.next_frame().expect("a trace without damage") {
        black_box(&frame);
        packets += 1;
    }
    packets
}

/// Every packet of the trace is TCP.
fn count_tcp(trace: &TraceFile) -> u64 {
    let (mut source, parser) = (trace.open(), Parser::default());
    let mut packets = 0;
    while let Some(frame) = source.next_frame().expect("a trace without damage") {
        let parsed = parser.parse(&frame);
        // By reference: moving it would measure the move.
        black_box(&parsed);
        packets += u64::from(parsed.is_ok());
    }
    packets
}
