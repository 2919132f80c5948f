//! A packet record found in a [`BlockBuffer`], its limits, and what ends the records.

use std::ops::Range;

use super::block_buffer::BlockBuffer;
use crate::capture::LinkType;
use crate::time::Timestamp;

/// The most bytes that one packet record may hold; a record that claims more is damage.
///
/// libpcap and Wireshark stop at 256 KiB (`MAXIMUM_SNAPLEN`). Linux builds larger frames where
/// "BIG TCP" is on: `GSO_MAX_SIZE` is 8 × 65,535 bytes. This leaves 64 KiB for what wraps them.
pub const MAX_CAPTURED_BYTES: u32 = (512 + 64) * 1024;

/// One packet record: what its header says and where its bytes lie in the buffer.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub time: Timestamp,
    pub link_type: LinkType,
    pub wire_bytes: u32,
    /// Valid until the reader advances.
    pub bytes: Range<usize>,
}

/// Where a reader had to give up, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flaw {
    pub offset: u64,
    pub what: String,
}

impl Flaw {
    /// What is wrong with a stream that ended where a record or block might have begun, or `inside`
    /// one that the buffer still holds the beginning of. Nothing, if there is no beginning.
    pub fn of_ended_stream(buffer: &BlockBuffer, inside: &str) -> Option<Flaw> {
        let clean = buffer.unread().is_empty() && buffer.failure().is_none();
        (!clean).then(|| Flaw::cut_short(buffer, buffer.offset(), inside))
    }

    /// A stream that ended `inside` what began at `offset`.
    ///
    /// If it failed (a disk error, a corrupt compressed file), that is the flaw, where it happened.
    pub fn cut_short(buffer: &BlockBuffer, offset: u64, inside: &str) -> Flaw {
        match buffer.failure() {
            Some(failure) => Flaw { offset: buffer.end_offset(), what: failure.to_string() },
            None => Flaw { offset, what: format!("cut short in the middle of {inside}") },
        }
    }
}
