//! The part of a frame that no layer has taken yet.

use super::super::Frame;

/// What is left of a frame: the bytes captured of it, and its true length.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rest<'a> {
    /// What was captured, at most `wire_bytes`.
    captured: &'a [u8],
    /// How long it was on the wire, as far as the headers so far tell.
    wire_bytes: usize,
}

impl<'a> Rest<'a> {
    /// Nothing left.
    pub const EMPTY: Rest<'static> = Rest { captured: &[], wire_bytes: 0 };

    /// The whole frame.
    pub fn of_frame(frame: &Frame<'a>) -> Self {
        let wire_bytes = usize::try_from(frame.wire_bytes).unwrap_or(usize::MAX);
        Rest { captured: frame.bytes, wire_bytes: wire_bytes.max(frame.bytes.len()) }
    }

    /// Length on the wire.
    pub fn wire_bytes(&self) -> usize {
        self.wire_bytes
    }

    /// Takes `N` bytes off the front, if they were captured.
    #[inline]
    pub fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, captured) = self.captured.split_first_chunk::<N>()?;
        *self = Rest { captured, wire_bytes: self.wire_bytes.saturating_sub(N) };
        Some(*taken)
    }

    /// Takes a big-endian number off the front.
    #[inline]
    pub fn take_u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    /// Drops `bytes` from the front, if they were captured.
    #[inline]
    pub fn skip(&mut self, bytes: usize) -> Option<()> {
        let captured = self.captured.get(bytes..)?;
        *self = Rest { captured, wire_bytes: self.wire_bytes.saturating_sub(bytes) };
        Some(())
    }

    /// The byte at `offset`.
    #[inline]
    pub fn u8_at(&self, offset: usize) -> Option<u8> {
        self.captured.get(offset).copied()
    }

    /// The big-endian number at `offset`.
    #[inline]
    pub fn u16_at(&self, offset: usize) -> Option<u16> {
        self.chunk_at(offset).map(u16::from_be_bytes)
    }

    /// The `N` bytes at `offset`.
    #[inline]
    pub fn chunk_at<const N: usize>(&self, offset: usize) -> Option<[u8; N]> {
        self.captured.get(offset..)?.first_chunk().copied()
    }

    /// Takes a header's word for how long the rest is: what lies beyond is padding, what was not
    /// captured may still be there on the wire.
    #[inline]
    pub fn set_wire_bytes(&mut self, wire_bytes: usize) {
        self.captured = self.captured.get(..wire_bytes).unwrap_or(self.captured);
        self.wire_bytes = wire_bytes;
    }

    /// Drops a trailer from the end of what was on the wire.
    pub fn drop_trailer(&mut self, bytes: usize) {
        self.set_wire_bytes(self.wire_bytes.saturating_sub(bytes));
    }

    /// Ends the rest after `bytes`, if it is longer: for length fields that may be wrong.
    pub fn shorten_to(&mut self, bytes: usize) {
        if bytes < self.wire_bytes {
            self.set_wire_bytes(bytes);
        }
    }
}
