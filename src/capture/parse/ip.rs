//! IP headers. IPv4: options, fragments, and lengths that offloading left at 0. IPv6: the fixed
//! header and every extension header.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::layer::{Layer, Transport, Unparsed};
use super::skip::Skip;

/// The length of an IPv4 header without options.
const MIN_IPV4_HEADER_BYTES: usize = 20;

/// The offset in the IPv4 fragment field.
const FRAGMENT_OFFSET: u16 = 0x1fff;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;
const MOBILITY: u8 = 135;
const HOST_IDENTITY: u8 = 139;
const SHIM6: u8 = 140;

/// The option in a hop-by-hop header that holds the true length of a jumbogram (RFC 2675).
const JUMBO_PAYLOAD: [u8; 2] = [0xc2, 4];

/// The largest length that the fixed header can hold.
const MAX_PAYLOAD_BYTES: usize = 0xffff;

/// An IP header of the version that its first byte states.
#[inline]
pub(super) fn ip_of_any_version(rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    match rest.u8_at(0).ok_or(Skip::TruncatedIp)? >> 4 {
        4 => Ok(Layer::Ipv4(rest)),
        6 => Ok(Layer::Ipv6(rest)),
        _ => Err(Skip::BadIpHeader),
    }
}

/// The payload of an IPv4 packet, after options and authentication headers.
#[inline]
pub(super) fn ipv4(mut rest: Unparsed<'_>) -> Result<Transport<'_>, Skip> {
    let header: [u8; MIN_IPV4_HEADER_BYTES] = rest.chunk_at(0).ok_or(Skip::TruncatedIp)?;
    #[rustfmt::skip]
    let [version_ihl, _, length0, length1, _, _, fragment0, fragment1, _, protocol, _, _,
         s0, s1, s2, s3, d0, d1, d2, d3] = header;
    let header_bytes = 4 * usize::from(version_ihl & 0x0f);
    if version_ihl >> 4 != 4 || header_bytes < MIN_IPV4_HEADER_BYTES {
        return Err(Skip::BadIpHeader);
    }
    match usize::from(u16::from_be_bytes([length0, length1])) {
        0 => {} // larger than 64 KiB, or captured before the network card segmented it (TSO)
        length if length < header_bytes => return Err(Skip::BadIpHeader),
        length => rest.set_wire_bytes(length),
    }
    rest.skip(header_bytes).ok_or(Skip::TruncatedIp)?;
    if u16::from_be_bytes([fragment0, fragment1]) & FRAGMENT_OFFSET != 0 {
        return Err(Skip::LaterFragment);
    }
    let protocol = skip_authentication(protocol, &mut rest)?;
    Ok(Transport {
        src: Ipv4Addr::new(s0, s1, s2, s3).into(),
        dst: Ipv4Addr::new(d0, d1, d2, d3).into(),
        protocol,
        rest,
    })
}

/// The payload of an IPv6 packet, after extension headers. The addresses are those of the fixed
/// header, whatever a routing header says.
#[inline]
pub(super) fn ipv6(mut rest: Unparsed<'_>) -> Result<Transport<'_>, Skip> {
    let [version, _, _, _, length0, length1, mut protocol, _] =
        rest.take::<8>().ok_or(Skip::TruncatedIp)?;
    if version >> 4 != 6 {
        return Err(Skip::BadIpHeader);
    }
    let src: [u8; 16] = rest.take().ok_or(Skip::TruncatedIp)?;
    let dst: [u8; 16] = rest.take().ok_or(Skip::TruncatedIp)?;
    match u16::from_be_bytes([length0, length1]) {
        0 => set_jumbo_length(protocol, &mut rest),
        length => rest.set_wire_bytes(length.into()),
    }
    loop {
        match protocol {
            HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS | MOBILITY | HOST_IDENTITY | SHIM6 => {
                let [next, words] = rest.chunk_at(0).ok_or(Skip::TruncatedIp)?;
                rest.skip(8 * (usize::from(words) + 1)).ok_or(Skip::TruncatedIp)?;
                protocol = next;
            }
            FRAGMENT => {
                let [next, _, offset0, offset1, ..] = rest.take::<8>().ok_or(Skip::TruncatedIp)?;
                if u16::from_be_bytes([offset0, offset1]) & !0x7 != 0 {
                    return Err(Skip::LaterFragment);
                }
                protocol = next;
            }
            AUTHENTICATION => protocol = skip_authentication(protocol, &mut rest)?,
            _ => break,
        }
    }
    Ok(Transport {
        src: Ipv6Addr::from(src).into(),
        dst: Ipv6Addr::from(dst).into(),
        protocol,
        rest,
    })
}

/// Skips authentication headers (RFC 4302), which do not encrypt; returns the protocol after them.
fn skip_authentication(mut protocol: u8, rest: &mut Unparsed<'_>) -> Result<u8, Skip> {
    while protocol == AUTHENTICATION {
        let [next, words] = rest.chunk_at(0).ok_or(Skip::TruncatedIp)?;
        rest.skip(4 * (usize::from(words) + 2)).ok_or(Skip::TruncatedIp)?;
        protocol = next;
    }
    Ok(protocol)
}

/// Sets the length of a packet whose length field is 0: a jumbogram, whose length is an option of the
/// hop-by-hop header; a segment of more than 64 KiB captured before the network card segmented it,
/// recognised by the length of the frame; otherwise it is 0.
fn set_jumbo_length(protocol: u8, rest: &mut Unparsed<'_>) {
    let option = rest.chunk_at::<6>(2).filter(|_| protocol == HOP_BY_HOP);
    if let Some([kind, length, b0, b1, b2, b3]) = option
        && [kind, length] == JUMBO_PAYLOAD
        && let Ok(wire_bytes) = usize::try_from(u32::from_be_bytes([b0, b1, b2, b3]))
    {
        rest.set_wire_bytes(wire_bytes);
    } else if rest.wire_bytes() <= MAX_PAYLOAD_BYTES {
        rest.set_wire_bytes(0);
    }
}
