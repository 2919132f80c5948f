//! Why a snapshot could not be loaded.

use std::io;

use thiserror::Error;

use super::SectionKind;

/// A snapshot that cannot be loaded: what is wrong, and at which byte of it.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// It does not begin as a snapshot does.
    #[error("not a snapshot: it begins with the bytes {found:02x?}")]
    NotASnapshot {
        /// Its first bytes: as many as there are, at most eight.
        found: Vec<u8>,
    },
    /// It was written by a later version of this library.
    #[error("a snapshot of version {found}, and only version {known} can be read")]
    Version {
        /// The version of the snapshot.
        found: u32,
        /// The version that can be read.
        known: u32,
    },
    /// It ends too early.
    #[error("the {part} that begins at byte {offset} is incomplete: {missing} bytes are missing")]
    Truncated {
        /// What is incomplete.
        part: Part,
        /// Where it begins.
        offset: u64,
        /// How many bytes are missing.
        missing: u64,
    },
    /// Bytes were changed after they were written.
    #[error("the {part} that begins at byte {offset} is damaged: its checksum does not match")]
    Damaged {
        /// What is damaged.
        part: Part,
        /// Where it begins.
        offset: u64,
    },
    /// A section comes where another one belongs.
    #[error("a section {found} at byte {offset}, where {expected} belongs")]
    UnexpectedSection {
        /// The kind that was expected.
        expected: SectionKind,
        /// The kind that was found.
        found: SectionKind,
        /// Where its header begins.
        offset: u64,
    },
    /// A section without a checksum comes where one with a checksum belongs.
    #[error("the section {kind} at byte {offset} has no checksum")]
    Unchecked {
        /// Its kind.
        kind: SectionKind,
        /// Where its header begins.
        offset: u64,
    },
    /// There are bytes after the end.
    #[error("the snapshot ends at byte {offset}, and other bytes follow")]
    BytesAfterEnd {
        /// Where the snapshot ends.
        offset: u64,
    },
    /// A section has fewer or more bytes than its content.
    #[error("the section {kind} ends at byte {offset}, and its content {}", how(*.too_short))]
    WrongLength {
        /// Its kind.
        kind: SectionKind,
        /// Where its content should have ended, or where it ends.
        offset: u64,
        /// Whether bytes are missing; else some are left over.
        too_short: bool,
    },
    /// A value that nothing was saved with.
    #[error("{what} at byte {offset} cannot be {value}")]
    Invalid {
        /// What the value is.
        what: &'static str,
        /// Where it is.
        offset: u64,
        /// The value.
        value: u64,
    },
    /// It was saved with another setting.
    #[error("it was saved with {setting} {saved}, and not {wanted}")]
    OtherSetting {
        /// The name of the setting.
        setting: String,
        /// Its value in the snapshot.
        saved: String,
        /// Its value in the store that it should be loaded into.
        wanted: String,
    },
    /// It cannot be read.
    #[error("reading failed at byte {offset}")]
    Read {
        /// How many bytes were read.
        offset: u64,
        /// Why.
        source: io::Error,
    },
}

/// A part of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The first bytes.
    FileHeader,
    /// What precedes the content of a section.
    SectionHeader,
    /// The content of a section of this kind.
    Content(SectionKind),
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Part::FileHeader => f.write_str("header of the snapshot"),
            Part::SectionHeader => f.write_str("section header"),
            Part::Content(kind) => write!(f, "content of section {kind}"),
        }
    }
}

fn how(too_short: bool) -> &'static str {
    if too_short { "goes on" } else { "ended before" }
}
