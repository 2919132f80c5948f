//! Kinds of sections.

use std::fmt;

/// What kind of content a section has: four letters.
///
/// The rule for kinds that a reader does not know is that of PNG: if the first letter is a small one,
/// the section is skipped, else it must be understood, and the snapshot is refused. The layout of a kind
/// never changes: a new layout is a new kind.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SectionKind(pub [u8; 4]);

impl SectionKind {
    /// The last section. Its content is where it begins, so that no section was left out or repeated.
    pub(super) const END: SectionKind = SectionKind(*b"END.");
    /// The specification of a store, and its sizes: [`StoreSpec::save`](crate::StoreSpec::save).
    pub const STORE_SPEC: SectionKind = SectionKind(*b"SPEC");
    /// One shard of a store of flows.
    pub const STORE: SectionKind = SectionKind(*b"FLOW");
    /// One shard of a [pending table](crate::pending).
    pub const PENDING: SectionKind = SectionKind(*b"PEND");

    /// Whether a reader that does not know the kind may skip it.
    pub const fn may_be_skipped(self) -> bool {
        self.0[0].is_ascii_lowercase()
    }
}

/// Its letters; bytes that are none are escaped.
impl fmt::Display for SectionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

impl fmt::Debug for SectionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
