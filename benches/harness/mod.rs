//! What the benches share: generated traces, a bare libpcap loop as the baseline, runs that
//! alternate, and a table of the results.

pub mod table;
pub mod trace_file;
pub mod turns;

use std::path::Path;

use pcap::{Capture, Error};

/// The baseline: libpcap counts the packets of a file and does nothing else.
pub fn count_with_libpcap(path: &Path) -> u64 {
    let mut capture = Capture::from_file(path).expect("libpcap opens the trace");
    let mut packets = 0;
    loop {
        match capture.next_packet() {
            Ok(_) => packets += 1,
            Err(Error::NoMorePackets) => return packets,
            Err(error) => panic!("libpcap: {error}"),
        }
    }
}

/// The number of packets named on the command line, or `default`; `cargo bench` adds options.
pub fn packets_or(default: u64) -> u64 {
    let named = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    named.map_or(default, |text| {
        acsm::units::parse_count(&text).unwrap_or_else(|error| panic!("{error}"))
    })
}
