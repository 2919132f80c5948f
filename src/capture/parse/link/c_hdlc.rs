//! Cisco HDLC: a frame address, and an EtherType for the rest.

use super::{Layer, Rest, Skip};

/// The addresses a Cisco HDLC frame can begin with: unicast and multicast.
pub(super) const ADDRESSES: [u8; 2] = [0x0f, 0x8f];

/// The layer behind address, control and protocol.
pub(super) fn next(mut rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
    rest.skip(2).ok_or(Skip::TruncatedLink)?;
    let ethertype = rest.take_u16().ok_or(Skip::TruncatedLink)?;
    Ok(Layer::EtherType(ethertype, rest))
}
