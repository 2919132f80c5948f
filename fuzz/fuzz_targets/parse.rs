//! Any bytes behind any link type: no panic, the fast path and the walker agree, and so does
//! etherparse wherever it has a say.
//!
//! The input is laid out as a pcap file of one packet, so that captures are its seeds: the link
//! type lies at byte 20, the captured length at 32, the packet begins at 40.
#![no_main]

use acsm::capture::LinkType;
use acsm_test_support::parser_oracle;
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|capture: &[u8]| -> Corpus {
    let (Some(link_type), Some(captured), Some(packet)) =
        (number_at(capture, 20), number_at(capture, 32), capture.get(40..))
    else {
        return Corpus::Reject;
    };
    let captured = packet.get(..captured as usize).unwrap_or(packet);
    parser_oracle::check(LinkType(link_type as u16), captured);
    Corpus::Keep
});

fn number_at(bytes: &[u8], offset: usize) -> Option<u32> {
    bytes.get(offset..)?.first_chunk().map(|number| u32::from_le_bytes(*number))
}
