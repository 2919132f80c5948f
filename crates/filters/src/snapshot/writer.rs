//! Writing a snapshot: the header, sections, the end.

use std::io::{self, Write};

use super::format::{FileHeader, SectionHeader};
use super::{Encoder, Persist, SectionKind};

/// Writes a snapshot, section by section.
///
/// A snapshot that is not [finished](Self::finish) does not load, so one that could not be written
/// completely is not taken for a smaller one.
#[derive(Debug)]
pub struct SnapshotWriter<W> {
    out: W,
    /// How many bytes were written.
    offset: u64,
}

impl<W: Write> SnapshotWriter<W> {
    /// Begins a snapshot.
    pub fn new(out: W) -> io::Result<Self> {
        let mut writer = SnapshotWriter { out, offset: 0 };
        writer.write(&FileHeader::CURRENT.to_bytes())?;
        Ok(writer)
    }

    /// Adds a section with what `value` [encodes](Persist::encode).
    pub fn save(&mut self, kind: SectionKind, value: &impl Persist) -> io::Result<()> {
        let mut content = Encoder::default();
        value.encode(&mut content);
        self.encoded_section(kind, &content)
    }

    /// Adds a section with this content.
    pub fn encoded_section(&mut self, kind: SectionKind, content: &Encoder<'_>) -> io::Result<()> {
        let parts = content.parts();
        self.write(&SectionHeader::of(kind, &parts).to_bytes())?;
        parts.into_iter().try_for_each(|part| self.write(part))
    }

    /// Adds a section.
    pub fn section(&mut self, kind: SectionKind, content: &[u8]) -> io::Result<()> {
        self.write(&SectionHeader::of(kind, &[content]).to_bytes())?;
        self.write(content)
    }

    /// Adds a section whose checksum is not kept: for content that will be changed in place. A reader
    /// has to [ask for it](super::SnapshotReader::unchecked_section) as such.
    pub fn unchecked_section(&mut self, kind: SectionKind, content: &[u8]) -> io::Result<()> {
        self.write(&SectionHeader::unchecked(kind, &[content]).to_bytes())?;
        self.write(content)
    }

    /// Ends the snapshot and returns what it was written to, flushed.
    pub fn finish(mut self) -> io::Result<W> {
        let end = self.offset.to_le_bytes();
        self.section(SectionKind::END, &end)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }
}
