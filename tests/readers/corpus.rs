//! Frame counts of real captures, damaged ones among them, as tshark counts them.

use std::fs;
use std::path::Path;

use acsm::capture::{FileSource, PacketSource, TimeWindow};

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

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/corpus");

#[test]
fn every_file_of_the_corpus_gives_as_many_frames_as_tshark_counts() {
    let Ok(truth) = fs::read_to_string(Path::new(CORPUS).join("truth.tsv")) else {
        eprintln!("SKIPPED: no corpus of captures beside the repository, nothing was compared");
        return;
    };
    let mut lines = truth.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let names = lines.next().expect("a line of column names");
    let column = |name: &str| names.iter().position(|column| *column == name).expect("a column");
    let (file, frames, message) = (column("file"), column("frames"), column("tshark_message"));
    let mut compared = 0;
    for row in lines {
        let path = Path::new(CORPUS).join(row[file]);
        let mut source = FileSource::open(&[path], TimeWindow::default()).expect(row[file]);
        let mut count = 0;
        while let Some(frame) = source.next_frame().expect(row[file]) {
            assert!(frame.wire_bytes as usize >= frame.bytes.len());
            count += 1;
        }
        let explained = EXPLAINED.iter().find(|(name, ..)| *name == row[file]);
        let expected: u64 = explained.map_or_else(|| row[frames].parse().unwrap(), |known| known.1);
        assert_eq!(count, expected, "frames of {}", row[file]);
        let tshark_calls_it_damaged =
            ["cut short", "corrupt"].iter().any(|word| row[message].contains(word));
        assert_eq!(source.damages().len(), usize::from(tshark_calls_it_damaged), "{}", row[file]);
        compared += 1;
    }
    assert!(compared > 0, "truth.tsv names no file");
}
