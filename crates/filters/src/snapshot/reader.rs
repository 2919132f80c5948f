//! Reading a snapshot: the header, sections, the end.

use std::io::{self, Read};

use super::format::{FileHeader, SectionHeader};
use super::{Decoder, Part, Persist, SectionKind, SnapshotError};

/// Reads a snapshot, section by section, and checks all of it.
///
/// It allocates no more than about twice the bytes that it has read: the length in a header is a claim
/// until that many bytes were there.
#[derive(Debug)]
pub struct SnapshotReader<R> {
    input: R,
    /// How many bytes were read.
    offset: u64,
    /// The buffer of the last content that was decoded.
    spare: Vec<u8>,
}

/// A section that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Its kind.
    pub kind: SectionKind,
    /// Where in the snapshot its content begins.
    pub offset: u64,
    /// Its content.
    pub content: Vec<u8>,
    /// Whether the content had a checksum, which was right.
    pub is_checked: bool,
}

impl Section {
    /// Reads its content.
    pub fn decoder(&self) -> Decoder<'_> {
        Decoder::new(&self.content, self.kind, self.offset)
    }

    fn header_offset(&self) -> u64 {
        self.offset - SectionHeader::BYTES as u64
    }
}

impl<R: Read> SnapshotReader<R> {
    /// Begins to read a snapshot.
    pub fn new(input: R) -> Result<Self, SnapshotError> {
        let mut reader = SnapshotReader { input, offset: 0, spare: vec![] };
        FileHeader::parse(&reader.read_up_to(FileHeader::BYTES as u64, vec![])?)?;
        Ok(reader)
    }

    /// `empty` with the content of the next section, which must be of this kind,
    /// [decoded](Persist::decode) into it.
    pub fn load<T: Persist>(
        &mut self,
        kind: SectionKind,
        mut empty: T,
    ) -> Result<T, SnapshotError> {
        let section = self.section(kind)?;
        let mut input = section.decoder();
        empty.decode(&mut input)?;
        input.finish()?;
        self.spare = section.content;
        Ok(empty)
    }

    /// The next section, which must be of this kind and have a checksum. Sections of other kinds that
    /// [may be skipped](SectionKind::may_be_skipped) are skipped.
    pub fn section(&mut self, kind: SectionKind) -> Result<Section, SnapshotError> {
        let section = self.unchecked_section(kind)?;
        match section.is_checked {
            true => Ok(section),
            false => Err(SnapshotError::Unchecked { kind, offset: section.header_offset() }),
        }
    }

    /// The same for a section whose checksum may not be kept.
    pub fn unchecked_section(&mut self, kind: SectionKind) -> Result<Section, SnapshotError> {
        loop {
            let section = self.any_section()?;
            if section.kind == kind {
                return Ok(section);
            }
            if !section.kind.may_be_skipped() {
                return Err(SnapshotError::UnexpectedSection {
                    expected: kind,
                    found: section.kind,
                    offset: section.header_offset(),
                });
            }
        }
    }

    /// Checks that the snapshot ends here.
    pub fn finish(mut self) -> Result<(), SnapshotError> {
        let end = self.section(SectionKind::END)?;
        let mut input = end.decoder();
        input.checked("the end", Decoder::u64, |&at| at == end.header_offset())?;
        input.finish()?;
        match self.read_up_to(1, vec![])?[..] {
            [] => Ok(()),
            _ => Err(SnapshotError::BytesAfterEnd { offset: self.offset - 1 }),
        }
    }

    /// The next section, whatever its kind.
    fn any_section(&mut self) -> Result<Section, SnapshotError> {
        let offset = self.offset;
        let part = Part::SectionHeader;
        let header = self.read_exactly(SectionHeader::BYTES as u64, part, vec![])?;
        let header = SectionHeader::parse(&header, offset)?;
        let (kind, offset, part) = (header.kind, self.offset, Part::Content(header.kind));
        let spare = std::mem::take(&mut self.spare);
        let content = self.read_exactly(header.len, part, spare)?;
        if header.crc.is_some_and(|crc| crc != super::crc32c(&content)) {
            return Err(SnapshotError::Damaged { part, offset });
        }
        Ok(Section { kind, offset, content, is_checked: header.crc.is_some() })
    }

    fn read_exactly(
        &mut self,
        len: u64,
        part: Part,
        buffer: Vec<u8>,
    ) -> Result<Vec<u8>, SnapshotError> {
        let offset = self.offset;
        let bytes = self.read_up_to(len, buffer)?;
        match len - bytes.len() as u64 {
            0 => Ok(bytes),
            missing => Err(SnapshotError::Truncated { part, offset, missing }),
        }
    }

    /// The next `len` bytes, or all that are left. The buffer grows with what is there.
    fn read_up_to(&mut self, len: u64, buffer: Vec<u8>) -> Result<Vec<u8>, SnapshotError> {
        let mut bytes = buffer;
        bytes.clear();
        let result = self.input.by_ref().take(len).read_to_end(&mut bytes);
        self.offset += bytes.len() as u64;
        let failed = |source: io::Error| SnapshotError::Read { offset: self.offset, source };
        result.map_err(failed)?;
        Ok(bytes)
    }
}
