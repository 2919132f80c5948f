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
    /// What is wrong with a stream that ended while `inside` something was being read, if anything.
    ///
    /// A stream that failed (a disk error, a corrupt compressed file) is a flaw wherever it did.
    pub fn of_ended_stream(buffer: &BlockBuffer, inside: &str) -> Option<Flaw> {
        if let Some(failure) = buffer.failure() {
            return Some(Flaw { offset: buffer.end_offset(), what: failure.to_string() });
        }
        let what = format!("cut short in the middle of {inside}");
        (!buffer.unread().is_empty()).then(|| Flaw { offset: buffer.offset(), what })
    }
}
