//! Teredo (RFC 4380): IPv6 through IPv4 address translation.

use super::{Layer, Rest};

pub(super) const PORT: u16 = 3544;

const AUTHENTICATION: [u8; 2] = [0, 1];
const ORIGIN: [u8; 2] = [0, 0];

/// Indicator, obfuscated port and address.
const ORIGIN_BYTES: usize = 8;

/// Nonce and confirmation, which end the authentication header.
const NONCE_BYTES: usize = 9;

/// The IPv6 packet behind the authentication and origin headers.
pub(super) fn next(mut rest: Rest<'_>) -> Option<Layer<'_>> {
    if rest.chunk_at(0)? == AUTHENTICATION {
        let [_, _, id_bytes, authentication_bytes] = rest.take::<4>()?;
        rest.skip(usize::from(id_bytes) + usize::from(authentication_bytes) + NONCE_BYTES)?;
    }
    if rest.chunk_at(0)? == ORIGIN {
        rest.skip(ORIGIN_BYTES)?;
    }
    (rest.u8_at(0)? >> 4 == 6).then_some(Layer::Ipv6(rest))
}
