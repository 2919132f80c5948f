//! The TCP header: ports and flags.

use super::super::Frame;
use super::{Skip, Transport};
use crate::flow::{Packet, TcpFlags};

/// TCP's IP protocol number.
pub(super) const PROTOCOL: u8 = 6;

/// The least data offset: a header without options, in words of four bytes.
pub(super) const MIN_DATA_OFFSET: u8 = 5;

/// The packet that a TCP header and the IP header before it tell of. Only the bytes up to the
/// flags are needed; a data offset beyond the packet's end leaves no payload.
#[inline]
pub(super) fn packet(
    transport: &Transport<'_>,
    frame: &Frame<'_>,
    vlan: [u16; 2],
) -> Result<Packet, Skip> {
    let [src0, src1, dst0, dst1, _, _, _, _, _, _, _, _, offset, flags] =
        transport.rest.chunk_at::<14>(0).ok_or(Skip::TruncatedTcp)?;
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
    })
}
