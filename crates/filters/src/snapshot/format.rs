//! The bytes of the two headers.

use super::crc32c::{crc32c, crc32c_after};
use super::{Part, SectionKind, SnapshotError};

/// The first bytes of every snapshot. Transfers that take it for text change some of them.
const MAGIC: [u8; 8] = *b"\x89ACSM\r\n\x1a";

/// The version that is written and read.
const VERSION: u32 = 1;

/// What a snapshot begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileHeader {
    version: u32,
}

impl FileHeader {
    pub(super) const BYTES: usize = 16;
    pub(super) const CURRENT: FileHeader = FileHeader { version: VERSION };

    pub(super) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&self.version.to_le_bytes());
        seal(&mut bytes);
        bytes
    }

    /// The header in the first bytes of a file, of which there may be fewer.
    pub(super) fn parse(found: &[u8]) -> Result<FileHeader, SnapshotError> {
        let magic = &found[..found.len().min(MAGIC.len())];
        if magic != MAGIC {
            return Err(SnapshotError::NotASnapshot { found: magic.to_vec() });
        }
        let Some(bytes) = found.first_chunk::<{ Self::BYTES }>() else {
            let missing = (Self::BYTES - found.len()) as u64;
            return Err(SnapshotError::Truncated { part: Part::FileHeader, offset: 0, missing });
        };
        if !is_sealed(bytes) {
            return Err(SnapshotError::Damaged { part: Part::FileHeader, offset: 0 });
        }
        let version = u32_at(bytes, 8);
        if version != VERSION {
            return Err(SnapshotError::Version { found: version, known: VERSION });
        }
        Ok(FileHeader { version })
    }
}

/// What precedes the content of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SectionHeader {
    pub(super) kind: SectionKind,
    /// The length of the content: a claim, until the content was read.
    pub(super) len: u64,
    /// The checksum of the content, if it is kept.
    pub(super) crc: Option<u32>,
}

/// The flag of a section whose checksum is not kept.
const UNCHECKED: u32 = 1;

impl SectionHeader {
    pub(super) const BYTES: usize = 24;

    /// For content in these parts.
    pub(super) fn of(kind: SectionKind, content: &[&[u8]]) -> SectionHeader {
        let crc = content.iter().fold(0, |crc, part| crc32c_after(crc, part));
        SectionHeader { crc: Some(crc), ..SectionHeader::unchecked(kind, content) }
    }

    /// The same without a checksum.
    pub(super) fn unchecked(kind: SectionKind, content: &[&[u8]]) -> SectionHeader {
        SectionHeader { kind, len: content.iter().map(|part| part.len() as u64).sum(), crc: None }
    }

    pub(super) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let flags = if self.crc.is_none() { UNCHECKED } else { 0 };
        bytes[..4].copy_from_slice(&self.kind.0);
        bytes[4..8].copy_from_slice(&flags.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.len.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.crc.unwrap_or(0).to_le_bytes());
        seal(&mut bytes);
        bytes
    }

    /// The header in the bytes at `offset` of a snapshot.
    pub(super) fn parse(bytes: &[u8], offset: u64) -> Result<SectionHeader, SnapshotError> {
        if !is_sealed(bytes) {
            return Err(SnapshotError::Damaged { part: Part::SectionHeader, offset });
        }
        let kind = SectionKind(u32_at(bytes, 0).to_le_bytes());
        let len = u64::from(u32_at(bytes, 8)) | u64::from(u32_at(bytes, 12)) << 32;
        let crc = match u32_at(bytes, 4) {
            0 => Some(u32_at(bytes, 16)),
            UNCHECKED => None,
            flags => {
                let (what, value) = ("the flags of a section", flags.into());
                return Err(SnapshotError::Invalid { what, offset: offset + 4, value });
            }
        };
        Ok(SectionHeader { kind, len, crc })
    }
}

/// Puts the checksum of the other bytes into the last four.
fn seal(bytes: &mut [u8]) {
    if let Some((sealed, crc)) = bytes.split_last_chunk_mut() {
        *crc = crc32c(sealed).to_le_bytes();
    }
}

fn is_sealed(bytes: &[u8]) -> bool {
    let parts = bytes.split_last_chunk();
    parts.is_some_and(|(sealed, crc)| crc32c(sealed) == u32::from_le_bytes(*crc))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}
