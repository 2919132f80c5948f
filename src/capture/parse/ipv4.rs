//! IPv4: options, fragments, and lengths that offloading left at 0.

use std::net::Ipv4Addr;

use super::{Rest, Skip, Transport, ipv6};

/// The least header length.
const MIN_HEADER_BYTES: usize = 20;

/// The offset part of the fragment field.
const FRAGMENT_OFFSET: u16 = 0x1fff;

/// What an IPv4 packet carries, authentication headers skipped.
#[inline]
pub(super) fn next(mut rest: Rest<'_>) -> Result<Transport<'_>, Skip> {
    let header: [u8; MIN_HEADER_BYTES] = rest.chunk_at(0).ok_or(Skip::TruncatedIp)?;
    #[rustfmt::skip]
    let [version_ihl, _, length0, length1, _, _, fragment0, fragment1, _, protocol, _, _,
         s0, s1, s2, s3, d0, d1, d2, d3] = header;
    let header_bytes = 4 * usize::from(version_ihl & 0x0f);
    if version_ihl >> 4 != 4 || header_bytes < MIN_HEADER_BYTES {
        return Err(Skip::BadIpHeader);
    }
    match usize::from(u16::from_be_bytes([length0, length1])) {
        0 => {} // a segment larger than 64 KiB, or captured before the network card cut it
        length if length < header_bytes => return Err(Skip::BadIpHeader),
        length => rest.set_wire_bytes(length),
    }
    rest.skip(header_bytes).ok_or(Skip::TruncatedIp)?;
    if u16::from_be_bytes([fragment0, fragment1]) & FRAGMENT_OFFSET != 0 {
        return Err(Skip::LaterFragment);
    }
    let protocol = ipv6::skip_authentication(protocol, &mut rest)?;
    Ok(Transport {
        src: Ipv4Addr::new(s0, s1, s2, s3).into(),
        dst: Ipv4Addr::new(d0, d1, d2, d3).into(),
        protocol,
        rest,
    })
}
