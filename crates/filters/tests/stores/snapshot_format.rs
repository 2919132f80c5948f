//! The container of snapshots: every change to its bytes is found, and no claim in it is believed.

use std::io::{self, Read, Write};

use acsm_filters::pending::{Evidence, PendingFlow, PendingTable};
use acsm_filters::snapshot::{
    Part, SectionKind, SnapshotError, SnapshotReader, SnapshotWriter, crc32c,
};
use acsm_filters::{
    Backend, Budget, Epoch, Exact, Expire, HALVES, Kbf, KbfDecode, KbfRule, State, Store, StoreSpec,
};

use crate::support::{flows, saved};

const FILE_HEADER_BYTES: usize = 16;
const SECTION_HEADER_BYTES: usize = 24;

fn spec() -> StoreSpec {
    let budget = Budget::FpRate(0.2);
    StoreSpec { flows: 200, budget, pending: Some(100), ..StoreSpec::new(Backend::Kbf, 6) }
}

fn shard() -> Kbf<8, HALVES> {
    Kbf::new(KbfRule::new(6, KbfDecode::AllPairs), &spec().sizing().unwrap()).unwrap()
}

fn pending() -> PendingTable {
    PendingTable::new(spec().pending.unwrap()).unwrap()
}

/// A store and its pending table with some flows, saved to `out`.
fn save<W: Write>(out: W) -> io::Result<W> {
    let (mut shard, mut pending) = (shard(), pending());
    for flow in flows(1).take(10) {
        shard.insert(&shard.locate(flow.id, ()), State::FIRST, Epoch(3).stamp());
        let lookup = pending.lookup(flow.id, Epoch(3));
        pending.put(&lookup, PendingFlow { state: State::FIRST, evidence: Evidence::NONE });
    }
    let mut out = SnapshotWriter::new(out)?;
    spec().save(&mut out)?;
    out.save(SectionKind::STORE, &shard)?;
    out.save(SectionKind::PENDING, &pending)?;
    out.finish()
}

fn load(input: impl Read) -> Result<(), SnapshotError> {
    let mut input = SnapshotReader::new(input)?;
    spec().check_saved(&mut input)?;
    input.load(SectionKind::STORE, shard())?;
    input.load(SectionKind::PENDING, pending())?;
    input.finish()
}

/// The header of a section, with a right checksum of its own: its flags and the checksum and length that
/// it claims of its content.
fn section(kind: SectionKind, [flags, crc]: [u32; 2], len: u64) -> Vec<u8> {
    let mut header = kind.0.to_vec();
    header.extend(flags.to_le_bytes());
    header.extend(len.to_le_bytes());
    header.extend(crc.to_le_bytes());
    header.extend(crc32c(&header).to_le_bytes());
    header
}

const TEST: SectionKind = SectionKind(*b"TEST");

/// The header of a snapshot.
fn beginning() -> Vec<u8> {
    SnapshotWriter::new(vec![]).unwrap().finish().unwrap()[..FILE_HEADER_BYTES].to_vec()
}

/// The format of `docs/snapshot.md`.
#[test]
fn the_bytes_of_a_snapshot_are_fixed() {
    let mut out = SnapshotWriter::new(vec![]).unwrap();
    out.section(TEST, b"abc").unwrap();
    let mut expected = b"\x89ACSM\r\n\x1a\x01\0\0\0".to_vec();
    expected.extend(0x8ee1_6871_u32.to_le_bytes());
    expected.extend(section(TEST, [0, crc32c(b"abc")], 3));
    expected.extend(b"abc");
    let end = 43u64.to_le_bytes();
    expected.extend(section(SectionKind(*b"END."), [0, crc32c(&end)], 8));
    expected.extend(end);
    assert_eq!(out.finish().unwrap(), expected);
}

#[test]
fn every_changed_byte_is_found() {
    let saved = save(vec![]).unwrap();
    load(&saved[..]).unwrap();
    for at in 0..saved.len() {
        for bits in [1, 0x80, 0xff] {
            let mut damaged = saved.clone();
            damaged[at] ^= bits;
            let error = load(&damaged[..]).expect_err("a changed byte");
            // What is damaged begins at or before the byte, and all that follows is found later.
            match error {
                SnapshotError::NotASnapshot { .. } => assert!(at < 8),
                SnapshotError::Damaged { offset, .. } => {
                    assert!(offset <= at as u64, "{error}, byte {at}");
                }
                _ => panic!("byte {at}: {error}"),
            }
        }
    }
}

#[test]
fn every_truncation_is_found() {
    let saved = save(vec![]).unwrap();
    for len in 0..saved.len() {
        let error = load(&saved[..len]).expect_err("an incomplete snapshot");
        match error {
            SnapshotError::NotASnapshot { found } => assert_eq!(found, saved[..len.min(8)]),
            SnapshotError::Truncated { offset, missing, .. } => {
                assert!(len >= 8 && offset <= len as u64 && missing > 0);
                assert!(len as u64 + missing <= saved.len() as u64);
            }
            _ => panic!("{len} bytes: {error}"),
        }
    }
}

#[test]
fn bytes_after_the_end_are_found() {
    let mut saved = save(vec![]).unwrap();
    let end = saved.len() as u64;
    saved.push(0);
    let error = load(&saved[..]).unwrap_err();
    assert!(matches!(error, SnapshotError::BytesAfterEnd { offset } if offset == end), "{error}");
}

/// Whole sections that were left out or repeated have right checksums.
#[test]
fn a_section_left_out_or_repeated_is_found() {
    let mut out = SnapshotWriter::new(vec![]).unwrap();
    out.section(SectionKind(*b"note"), b"may be skipped").unwrap();
    out.section(TEST, b"content").unwrap();
    let saved = out.finish().unwrap();
    let load = |bytes: &[u8]| {
        let mut input = SnapshotReader::new(bytes)?;
        input.section(TEST)?;
        input.finish()
    };
    load(&saved).unwrap();
    let note = FILE_HEADER_BYTES..FILE_HEADER_BYTES + SECTION_HEADER_BYTES + 14;
    let without = [&saved[..note.start], &saved[note.end..]].concat();
    let twice = [&saved[..note.end], &saved[note.start..]].concat();
    for altered in [without, twice] {
        let error = load(&altered).unwrap_err();
        assert!(matches!(error, SnapshotError::Invalid { what: "the end", .. }), "{error}");
    }
}

#[test]
fn other_files_are_refused_with_what_they_begin_with() {
    for foreign in [
        &b""[..],
        b"key\tvalue\n",
        b"\x89PNG\r\n\x1a\n more",
        b"\x1f\x8b\x08\0\0\0\0\0\0\x03",
        b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0",
        &[0; 1000],
        // As a transfer that takes it for text would leave it.
        b"\x89ACSM\n\x1a\x01\0\0\0\0\0\0\0\0",
    ] {
        let error = load(foreign).unwrap_err();
        let begins = foreign[..foreign.len().min(8)].to_vec();
        assert!(matches!(&error, SnapshotError::NotASnapshot { found } if *found == begins));
    }
}

#[test]
fn a_later_version_is_refused() {
    let mut header = save(vec![]).unwrap()[..12].to_vec();
    header[8] = 2;
    header.extend(crc32c(&header).to_le_bytes());
    let error = load(&header[..]).unwrap_err();
    assert_eq!(error.to_string(), "a snapshot of version 2, and only version 1 can be read");
}

/// More than any system has: an attempt to allocate it would be another error.
#[test]
fn lengths_that_are_only_claimed_allocate_nothing() {
    for claimed in [1 << 40, 1 << 60, u64::MAX] {
        let mut bytes = beginning();
        bytes.extend(section(TEST, [0, 0], claimed));
        bytes.extend([0; 100]);
        let error = SnapshotReader::new(&bytes[..]).unwrap().section(TEST).unwrap_err();
        let SnapshotError::Truncated { part, offset, missing } = error else { panic!("{error}") };
        assert_eq!((part, offset, missing), (Part::Content(TEST), 40, claimed - 100));
    }
    // Numbers of flows within a section are claims too.
    let sizing = StoreSpec::new(Backend::Exact, 6).sizing().unwrap();
    let empty = Exact::<u32>::growing(&sizing, true).unwrap();
    let bytes = saved(SectionKind::STORE, &empty);
    let mut input = SnapshotReader::new(&bytes[..]).unwrap();
    let mut content = input.section(SectionKind::STORE).unwrap().content;
    let at = content.len() - 8;
    content[at..].copy_from_slice(&(1u64 << 31).to_le_bytes());
    let mut out = SnapshotWriter::new(vec![]).unwrap();
    out.section(SectionKind::STORE, &content).unwrap();
    let bytes = out.finish().unwrap();
    let error = SnapshotReader::new(&bytes[..]).unwrap().load(SectionKind::STORE, empty);
    let error = error.map(drop).unwrap_err();
    assert!(matches!(error, SnapshotError::WrongLength { too_short: true, .. }), "{error}");
}

#[test]
fn unknown_sections_are_skipped_if_their_first_letter_is_small() {
    for (unknown, is_skipped) in [(*b"note", true), (*b"Note", false), (*b"7ote", false)] {
        let unknown = SectionKind(unknown);
        assert_eq!(unknown.may_be_skipped(), is_skipped);
        let mut out = SnapshotWriter::new(vec![]).unwrap();
        out.section(unknown, b"from a later version").unwrap();
        out.section(TEST, b"content").unwrap();
        out.section(unknown, b"before the end").unwrap();
        let saved = out.finish().unwrap();
        let mut input = SnapshotReader::new(&saved[..]).unwrap();
        match input.section(TEST) {
            Ok(section) => {
                assert_eq!((&section.content[..], section.offset), (&b"content"[..], 84));
                assert!(is_skipped);
                input.finish().unwrap();
            }
            Err(SnapshotError::UnexpectedSection { expected, found, offset }) => {
                assert_eq!((expected, found, offset), (TEST, unknown, 16));
                assert!(!is_skipped);
            }
            Err(error) => panic!("{error}"),
        }
        // Skipped or not, damage in it is found.
        let mut damaged = saved;
        damaged[50] ^= 1;
        let error = SnapshotReader::new(&damaged[..]).unwrap().section(TEST).unwrap_err();
        assert!(matches!(error, SnapshotError::Damaged { offset: 40, .. }), "{error}");
    }
}

#[test]
fn sections_in_another_order_or_number_are_refused() {
    let saved = save(vec![]).unwrap();
    let mut input = SnapshotReader::new(&saved[..]).unwrap();
    let error = input.load(SectionKind::STORE, shard()).map(drop).unwrap_err();
    assert_eq!(error.to_string(), "a section SPEC at byte 16, where FLOW belongs");
    let mut input = SnapshotReader::new(&saved[..]).unwrap();
    spec().check_saved(&mut input).unwrap();
    assert!(matches!(input.finish(), Err(SnapshotError::UnexpectedSection { .. })));
    let mut none_left = SnapshotReader::new(&saved[..]).unwrap();
    spec().check_saved(&mut none_left).unwrap();
    none_left.load(SectionKind::STORE, shard()).unwrap();
    none_left.load(SectionKind::PENDING, pending()).unwrap();
    let error = none_left.section(TEST).unwrap_err();
    assert!(matches!(error, SnapshotError::UnexpectedSection { .. }), "{error}");
}

/// A shard of another size, as if the specification had not been checked.
#[test]
fn lines_of_another_number_are_refused() {
    let other = StoreSpec { flows: 2000, expire: Expire::Timer, ..spec() };
    let rule = KbfRule::new(6, KbfDecode::AllPairs);
    let other = Kbf::<8, HALVES>::new(rule, &other.sizing().unwrap()).unwrap();
    let bytes = saved(SectionKind::STORE, &other);
    let mut input = SnapshotReader::new(&bytes[..]).unwrap();
    let error = input.load(SectionKind::STORE, shard()).map(drop).unwrap_err();
    let what = "the number of lines";
    assert!(matches!(error, SnapshotError::Invalid { what: of, .. } if of == what), "{error}");
}

#[test]
fn content_without_a_checksum_is_only_returned_as_such() {
    let mut out = SnapshotWriter::new(vec![]).unwrap();
    out.unchecked_section(TEST, b"cells").unwrap();
    let mut edited = out.finish().unwrap();
    edited[FILE_HEADER_BYTES + SECTION_HEADER_BYTES] = b'b';
    let error = SnapshotReader::new(&edited[..]).unwrap().section(TEST).unwrap_err();
    assert!(matches!(error, SnapshotError::Unchecked { kind: TEST, offset: 16 }), "{error}");
    let mut input = SnapshotReader::new(&edited[..]).unwrap();
    let section = input.unchecked_section(TEST).unwrap();
    assert_eq!((&section.content[..], section.is_checked), (&b"bells"[..], false));
    input.finish().unwrap();
    // Its header has a checksum all the same.
    for at in FILE_HEADER_BYTES..FILE_HEADER_BYTES + SECTION_HEADER_BYTES {
        let mut damaged = edited.clone();
        damaged[at] ^= 1;
        assert!(SnapshotReader::new(&damaged[..]).unwrap().unchecked_section(TEST).is_err());
    }
}

#[test]
fn unknown_flags_are_refused() {
    let mut bytes = beginning();
    bytes.extend(section(TEST, [2, crc32c(b"")], 0));
    let error = SnapshotReader::new(&bytes[..]).unwrap().section(TEST).unwrap_err();
    assert_eq!(error.to_string(), "the flags of a section at byte 20 cannot be 2");
}

/// A disk with room for some bytes.
struct Disk {
    room: usize,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = bytes.len().min(self.room);
        self.room -= written;
        if written == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(written) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_wherever_it_is_full() {
    let needed = save(vec![]).unwrap().len();
    for room in 0..needed {
        let error = save(Disk { room }).map(drop).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{room} bytes");
    }
    save(Disk { room: needed }).unwrap();
}

#[test]
fn a_read_that_fails_is_an_error_with_its_place() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _bytes: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::ConnectionReset.into())
        }
    }
    let saved = save(vec![]).unwrap();
    for len in 0..saved.len() {
        let error = load(saved[..len].chain(Broken)).unwrap_err();
        let SnapshotError::Read { offset, source } = error else { panic!("{error}") };
        assert_eq!((offset, source.kind()), (len as u64, io::ErrorKind::ConnectionReset));
    }
}
