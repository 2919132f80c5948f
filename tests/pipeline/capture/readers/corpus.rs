//! Frame counts of real captures, damaged ones among them, as tshark counts them.

use acsm::capture::{FileSource, PacketSource, TimeWindow};
use acsm_test_support::corpus::Corpus;

/// Where tshark's count is not the number of packets: file, packets, why.
const EXPLAINED: [(&str, u64, &str); 2] = [
    (
        "pcapng-test-generator__test202.pcapng",
        8,
        "tshark lists the custom blocks at bytes 216, 1412 and 2468 too; capinfos counts 8",
    ),
    (
        "suricata-verify__fuzz.pcap",
        1,
        "the second record (byte 228) claims 1409179648 bytes: tcpdump stops there as we do; \
         tshark then takes the file for the modified layout against its magic, and the second \
         frame that it finds begins inside the first",
    ),
];

#[test]
fn every_file_of_the_corpus_gives_as_many_frames_as_tshark_counts() {
    let Some(corpus) = Corpus::find() else { return };
    for row in corpus.truth() {
        let file = row["file"].as_str();
        let mut source =
            FileSource::open(&[corpus.capture(file)], TimeWindow::default()).expect(file);
        let mut count = 0;
        while let Some(frame) = source.next_frame().expect(file) {
            assert!(frame.wire_bytes as usize >= frame.bytes.len());
            count += 1;
        }
        let explained = EXPLAINED.iter().find(|(name, ..)| *name == file);
        let expected: u64 =
            explained.map_or_else(|| row["frames"].parse().unwrap(), |known| known.1);
        assert_eq!(count, expected, "frames of {file}");
        let tshark_calls_it_damaged =
            ["cut short", "corrupt"].iter().any(|word| row["tshark_message"].contains(word));
        assert_eq!(source.damages().len(), usize::from(tshark_calls_it_damaged), "{file}");
    }
}
