//! BSD loopback, LINKTYPE_NULL and LINKTYPE_LOOP: an address family before the packet.

use super::{Layer, Rest, Skip};

const AF_INET: u32 = 2;

/// AF_INET6 on Linux, NetBSD and OpenBSD, FreeBSD, and macOS.
const AF_INET6: [u32; 4] = [10, 24, 28, 30];

/// Families are small numbers: a larger one was written in the other byte order.
const MAX_FAMILY: u32 = 0xffff;

/// The packet behind the family, which NULL writes in the capturing host's byte order.
pub(super) fn next(mut rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
    let bytes = rest.take::<4>().ok_or(Skip::TruncatedLink)?;
    let family = match u32::from_be_bytes(bytes) {
        family if family <= MAX_FAMILY => family,
        _ => u32::from_le_bytes(bytes),
    };
    match family {
        AF_INET => Ok(Layer::Ipv4(rest)),
        family if AF_INET6.contains(&family) => Ok(Layer::Ipv6(rest)),
        _ => Err(Skip::NotIp),
    }
}
