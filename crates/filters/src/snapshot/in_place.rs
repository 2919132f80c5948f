//! Sections of a snapshot that is in memory, read and rewritten where they are.
//!
//! A [reader](super::SnapshotReader) copies what it reads. Here nothing is copied, so that a snapshot of
//! some megabytes can be opened for each of many short operations.

use super::format::{FileHeader, SectionHeader};
use super::{Decoder, Part, SectionKind, SnapshotError, crc32c};

/// The bytes before the first section.
pub(crate) const FILE_HEADER_BYTES: usize = FileHeader::BYTES;
/// The bytes before the content of a section.
pub(crate) const SECTION_HEADER_BYTES: usize = SectionHeader::BYTES;
/// The bytes of the last section.
pub(crate) const END_BYTES: usize = SECTION_HEADER_BYTES + size_of::<u64>();

/// Checks that a snapshot begins as it should.
pub(crate) fn check_file_header(snapshot: &[u8]) -> Result<(), SnapshotError> {
    let most = snapshot.len().min(FileHeader::BYTES);
    FileHeader::parse(&snapshot[..most]).map(|_| ())
}

/// The section at byte `at`, which must be of this kind. Its content must match the checksum, or the
/// checksum is not kept, as `is_checked` says.
pub(crate) fn section(
    snapshot: &[u8],
    at: usize,
    kind: SectionKind,
    is_checked: bool,
) -> Result<Decoder<'_>, SnapshotError> {
    let offset = at as u64;
    let rest = snapshot.get(at..).unwrap_or_default();
    let Some((header, rest)) = rest.split_at_checked(SectionHeader::BYTES) else {
        let missing = (SectionHeader::BYTES - rest.len()) as u64;
        return Err(SnapshotError::Truncated { part: Part::SectionHeader, offset, missing });
    };
    let header = SectionHeader::parse(header, offset)?;
    if header.kind != kind {
        return Err(SnapshotError::UnexpectedSection {
            expected: kind,
            found: header.kind,
            offset,
        });
    }
    let (part, content_offset) = (Part::Content(kind), offset + SectionHeader::BYTES as u64);
    let content = usize::try_from(header.len).ok().and_then(|len| rest.get(..len));
    let Some(content) = content else {
        let missing = header.len - rest.len() as u64;
        return Err(SnapshotError::Truncated { part, offset: content_offset, missing });
    };
    match (header.crc, is_checked) {
        (None, true) => Err(SnapshotError::Unchecked { kind, offset }),
        // Content that is changed in place has no checksum.
        (Some(_), false) => {
            let what = "the flags of a section";
            Err(SnapshotError::Invalid { what, offset: offset + 4, value: 0 })
        }
        (Some(crc), true) if crc != crc32c(content) => {
            Err(SnapshotError::Damaged { part, offset: content_offset })
        }
        _ => Ok(Decoder::new(content, kind, content_offset)),
    }
}

/// Checks that the snapshot ends with the section at byte `at`.
pub(crate) fn check_end(snapshot: &[u8], at: usize) -> Result<(), SnapshotError> {
    let mut content = section(snapshot, at, SectionKind::END, true)?;
    content.checked("the end", Decoder::u64, |&end| end == at as u64)?;
    content.finish()?;
    match at + END_BYTES == snapshot.len() {
        true => Ok(()),
        false => Err(SnapshotError::BytesAfterEnd { offset: (at + END_BYTES) as u64 }),
    }
}

/// Writes the header of a snapshot.
pub(crate) fn write_file_header(snapshot: &mut [u8]) {
    snapshot[..FileHeader::BYTES].copy_from_slice(&FileHeader::CURRENT.to_bytes());
}

/// Writes the header of a section at byte `at`, for the `len` bytes of content that are behind it.
pub(crate) fn write_section_header(
    snapshot: &mut [u8],
    at: usize,
    kind: SectionKind,
    len: usize,
    is_checked: bool,
) {
    let (header, content) = snapshot[at..].split_at_mut(SectionHeader::BYTES);
    let content = &[&content[..len]][..];
    let written = match is_checked {
        true => SectionHeader::of(kind, content),
        false => SectionHeader::unchecked(kind, content),
    };
    header.copy_from_slice(&written.to_bytes());
}

/// Writes the last section at byte `at`, up to the end of the bytes.
pub(crate) fn write_end(snapshot: &mut [u8], at: usize) {
    let content = at + SECTION_HEADER_BYTES;
    snapshot[content..].copy_from_slice(&(at as u64).to_le_bytes());
    write_section_header(snapshot, at, SectionKind::END, size_of::<u64>(), true);
}

#[cfg(test)]
mod tests {
    use super::super::{SnapshotReader, SnapshotWriter};
    use super::*;

    const CHECKED: SectionKind = SectionKind(*b"CHEC");
    const UNCHECKED: SectionKind = SectionKind(*b"UNCH");

    /// Where the sections of [`written`] are.
    const PLACES: [usize; 3] = [16, 16 + 24 + 4, 16 + 24 + 4 + 24 + 3];

    fn written() -> Vec<u8> {
        let mut out = SnapshotWriter::new(vec![]).unwrap();
        out.section(CHECKED, b"abcd").unwrap();
        out.unchecked_section(UNCHECKED, b"xyz").unwrap();
        out.finish().unwrap()
    }

    fn check(snapshot: &[u8]) -> Result<(Vec<u8>, Vec<u8>), SnapshotError> {
        let [checked, unchecked, end] = PLACES;
        check_file_header(snapshot)?;
        let abcd = section(snapshot, checked, CHECKED, true)?.bytes(4)?.to_vec();
        let xyz = section(snapshot, unchecked, UNCHECKED, false)?.bytes(3)?.to_vec();
        check_end(snapshot, end)?;
        Ok((abcd, xyz))
    }

    #[test]
    fn writers_write_what_is_read_here() {
        assert_eq!(check(&written()).unwrap(), (b"abcd".to_vec(), b"xyz".to_vec()));
    }

    #[test]
    fn readers_read_what_is_written_here() {
        let [checked, unchecked, end] = PLACES;
        let mut bytes = vec![0; end + END_BYTES];
        write_file_header(&mut bytes);
        bytes[checked + 24..][..4].copy_from_slice(b"abcd");
        write_section_header(&mut bytes, checked, CHECKED, 4, true);
        bytes[unchecked + 24..][..3].copy_from_slice(b"xyz");
        write_section_header(&mut bytes, unchecked, UNCHECKED, 3, false);
        write_end(&mut bytes, end);
        assert_eq!(bytes, written());
        let mut input = SnapshotReader::new(&bytes[..]).unwrap();
        assert_eq!(input.section(CHECKED).unwrap().content, b"abcd");
        assert_eq!(input.unchecked_section(UNCHECKED).unwrap().content, b"xyz");
        input.finish().unwrap();
    }

    #[test]
    fn all_that_is_changed_but_unchecked_content_is_found() {
        let bytes = written();
        let content = PLACES[1] + 24..PLACES[2];
        for at in 0..bytes.len() {
            let mut altered = bytes.clone();
            altered[at] ^= 1;
            assert_eq!(check(&altered).is_ok(), content.contains(&at), "byte {at}");
        }
        for len in 0..bytes.len() {
            assert!(check(&bytes[..len]).is_err(), "{len} bytes");
        }
        assert!(check(&[bytes, vec![0]].concat()).is_err());
    }
}
