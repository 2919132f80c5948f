//! IPv6: the fixed header and every extension header.

use std::net::Ipv6Addr;

use super::{Rest, Skip, Transport};

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

/// The largest length that the fixed header can tell.
const MAX_PAYLOAD_BYTES: usize = 0xffff;

/// What an IPv6 packet carries, extension headers skipped. The addresses are those of the fixed
/// header, whatever a routing header says.
#[inline]
pub(super) fn next(mut rest: Rest<'_>) -> Result<Transport<'_>, Skip> {
    let [version, _, _, _, length0, length1, mut protocol, _] =
        rest.take::<8>().ok_or(Skip::TruncatedIp)?;
    if version >> 4 != 6 {
        return Err(Skip::BadIpHeader);
    }
    let src: [u8; 16] = rest.take().ok_or(Skip::TruncatedIp)?;
    let dst: [u8; 16] = rest.take().ok_or(Skip::TruncatedIp)?;
    match u16::from_be_bytes([length0, length1]) {
        0 => take_jumbo_length(protocol, &mut rest),
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

/// The protocol behind any authentication headers (RFC 4302), which protect without hiding.
pub(super) fn skip_authentication(mut protocol: u8, rest: &mut Rest<'_>) -> Result<u8, Skip> {
    while protocol == AUTHENTICATION {
        let [next, words] = rest.chunk_at(0).ok_or(Skip::TruncatedIp)?;
        rest.skip(4 * (usize::from(words) + 2)).ok_or(Skip::TruncatedIp)?;
        protocol = next;
    }
    Ok(protocol)
}

/// A payload length of 0 is true, but for jumbograms, whose length is an option of the hop-by-hop
/// header, and for segments of more than 64 KiB captured before the network card cut them: those
/// the frame's length gives away.
fn take_jumbo_length(protocol: u8, rest: &mut Rest<'_>) {
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
