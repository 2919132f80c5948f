//! The layers of a frame, and the bytes that no layer has parsed yet.

use std::net::IpAddr;

use crate::capture::Frame;

/// The next layer of a frame, as the header before it announced.
pub(super) enum Layer<'a> {
    /// An Ethernet header.
    Ethernet(Unparsed<'a>),
    /// The protocol of an EtherType.
    EtherType(u16, Unparsed<'a>),
    /// An IEEE 802.2 header.
    Llc(Unparsed<'a>),
    /// An MPLS label stack.
    Mpls(Unparsed<'a>),
    /// A PPP frame, with or without address and control bytes.
    Ppp(Unparsed<'a>),
    /// An IP header of either version.
    Ip(Unparsed<'a>),
    /// An IPv4 header.
    Ipv4(Unparsed<'a>),
    /// An IPv6 header.
    Ipv6(Unparsed<'a>),
    /// The payload of an IP packet.
    Transport(Transport<'a>),
}

/// The payload of an IP packet, after options and extension headers.
pub(super) struct Transport<'a> {
    pub src: IpAddr,
    pub dst: IpAddr,
    /// The IP protocol number of `rest`.
    pub protocol: u8,
    pub rest: Unparsed<'a>,
}

/// The part of a frame that no layer has parsed yet: its captured bytes, and its length on the wire.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unparsed<'a> {
    /// The captured bytes, at most `wire_bytes` of them.
    captured: &'a [u8],
    /// The length on the wire, according to the headers so far.
    wire_bytes: usize,
}

impl<'a> Unparsed<'a> {
    /// No bytes.
    pub const EMPTY: Unparsed<'static> = Unparsed { captured: &[], wire_bytes: 0 };

    /// The whole frame.
    pub fn of_frame(frame: &Frame<'a>) -> Self {
        let wire_bytes = usize::try_from(frame.wire_bytes).unwrap_or(usize::MAX);
        Unparsed { captured: frame.bytes, wire_bytes: wire_bytes.max(frame.bytes.len()) }
    }

    /// Length on the wire.
    pub fn wire_bytes(&self) -> usize {
        self.wire_bytes
    }

    /// Takes `N` bytes off the front, if they were captured.
    #[inline]
    pub fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, captured) = self.captured.split_first_chunk::<N>()?;
        *self = Unparsed { captured, wire_bytes: self.wire_bytes.saturating_sub(N) };
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
        *self = Unparsed { captured, wire_bytes: self.wire_bytes.saturating_sub(bytes) };
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

    /// Sets the length that a header states: bytes beyond it are padding; fewer may have been
    /// captured.
    #[inline]
    pub fn set_wire_bytes(&mut self, wire_bytes: usize) {
        self.captured = self.captured.get(..wire_bytes).unwrap_or(self.captured);
        self.wire_bytes = wire_bytes;
    }

    /// Drops a trailer from the end of the bytes on the wire.
    pub fn drop_trailer(&mut self, bytes: usize) {
        self.set_wire_bytes(self.wire_bytes.saturating_sub(bytes));
    }

    /// Limits the length to `bytes`, for length fields that may be wrong.
    pub fn shorten_to(&mut self, bytes: usize) {
        if bytes < self.wire_bytes {
            self.set_wire_bytes(bytes);
        }
    }
}
