//! The TCP header: ports and flags. And ICMP, which is not counted: an error that quotes a TCP packet
//! has its own skip reason.

use super::ip;
use super::layer::{Transport, Unparsed};
use super::skip::Skip;
use crate::capture::Frame;
use crate::flow::{Packet, TcpFlags};

/// TCP's IP protocol number.
pub(super) const PROTOCOL: u8 = 6;

/// The smallest data offset: a header without options, in words of four bytes.
pub(super) const MIN_DATA_OFFSET: u8 = 5;

/// The packet of a TCP header and the IP header before it. Only the bytes up to the flags must have
/// been captured; a data offset beyond the end of the packet means an empty payload.
#[inline]
pub(super) fn packet(
    transport: &Transport<'_>,
    frame: &Frame<'_>,
    vlan: [u16; 2],
) -> Result<Packet, Skip> {
    let [src0, src1, dst0, dst1, s0, s1, s2, s3, a0, a1, a2, a3, offset, flags] =
        transport.rest.chunk_at::<14>(0).ok_or(Skip::TruncatedTcp)?;
    let [sequence, acknowledgement] = [[s0, s1, s2, s3], [a0, a1, a2, a3]].map(u32::from_be_bytes);
    let data_offset = offset >> 4;
    if data_offset < MIN_DATA_OFFSET {
        return Err(Skip::BadTcpHeader);
    }
    let payload_bytes = transport.rest.wire_bytes().saturating_sub(4 * usize::from(data_offset));
    Ok(Packet {
        time: frame.time,
        src: transport.src,
        dst: transport.dst,
        src_port: u16::from_be_bytes([src0, src1]),
        dst_port: u16::from_be_bytes([dst0, dst1]),
        flags: TcpFlags(flags),
        vlan,
        payload_bytes: u32::try_from(payload_bytes).unwrap_or(u32::MAX),
        wire_bytes: frame.wire_bytes,
        sequence_sum: sequence.wrapping_add(acknowledgement),
    })
}

/// Type, code, checksum, and four bytes that depend on the type.
const ICMP_HEADER_BYTES: usize = 8;

/// Destination unreachable, source quench, redirect, time exceeded, parameter problem.
const ICMP_ERRORS: [u8; 5] = [3, 4, 5, 11, 12];

/// Destination unreachable, packet too big, time exceeded, parameter problem.
const ICMPV6_ERRORS: [u8; 4] = [1, 2, 3, 4];

/// The skip reason of an ICMP message.
pub(super) fn icmp_reason(rest: Unparsed<'_>) -> Skip {
    quoted_reason(rest, &ICMP_ERRORS, ip::ipv4)
}

/// The skip reason of an ICMPv6 message.
pub(super) fn icmpv6_reason(rest: Unparsed<'_>) -> Skip {
    quoted_reason(rest, &ICMPV6_ERRORS, ip::ipv6)
}

fn quoted_reason<'a>(
    mut rest: Unparsed<'a>,
    errors: &[u8],
    parse: impl Fn(Unparsed<'a>) -> Result<Transport<'a>, Skip>,
) -> Skip {
    let is_error = rest.u8_at(0).is_some_and(|kind| errors.contains(&kind));
    if !is_error || rest.skip(ICMP_HEADER_BYTES).is_none() {
        return Skip::Icmp;
    }
    match parse(rest) {
        Ok(quoted) if quoted.protocol == PROTOCOL => Skip::TcpInIcmp,
        _ => Skip::Icmp,
    }
}
