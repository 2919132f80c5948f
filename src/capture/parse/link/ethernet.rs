//! Ethernet II and IEEE 802.3.

use super::super::{Layer, Rest, Skip};

/// Destination and source address.
const ADDRESS_BYTES: usize = 12;

/// The layer that the type or length field names.
#[inline]
pub(in super::super) fn next(mut rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
    rest.skip(ADDRESS_BYTES).ok_or(Skip::TruncatedLink)?;
    let ethertype = rest.take_u16().ok_or(Skip::TruncatedLink)?;
    Ok(Layer::EtherType(ethertype, rest))
}
