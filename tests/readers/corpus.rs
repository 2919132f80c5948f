//! Frame counts of real captures, damaged ones among them, as tshark counts them.

use std::fs;
use std::path::Path;

use acsm::capture::{FileSource, Source, TimeWindow};

/// tshark lists custom blocks among the frames; they hold no packet and have no link type. This
/// file has three (at bytes 216, 1412 and 2468), and `capinfos` too counts 8 packets in it.
const WITH_CUSTOM_BLOCKS: (&str, u32) = ("pcapng-test-generator__test202.pcapng", 3);

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
        let (name, custom_blocks) = WITH_CUSTOM_BLOCKS;
        let mut count = if row[file] == name { custom_blocks } else { 0 };
        while let Some(frame) = source.next_frame().expect(row[file]) {
            assert!(frame.wire_bytes as usize >= frame.bytes.len());
            count += 1;
        }
        assert_eq!(count.to_string(), row[frames], "frames of {}", row[file]);
        let tshark_calls_it_damaged =
            ["cut short", "corrupt"].iter().any(|word| row[message].contains(word));
        assert_eq!(source.damages().len(), usize::from(tshark_calls_it_damaged), "{}", row[file]);
        compared += 1;
    }
    assert!(compared > 0, "truth.tsv names no file");
}
