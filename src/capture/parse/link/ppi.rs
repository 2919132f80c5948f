//! PPI: per-packet information of AirPcap and Kismet, before an 802.11 or Ethernet frame.

use super::{Layer, LinkType, Rest, Skip, ieee80211};

/// The frame behind the PPI header, which names its link type. Only those are opened that are met
/// in practice: a header that names PPI again must not be followed.
pub(super) fn next(mut rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
    let [_version, _flags, length0, length1, link_type0, link_type1, _, _] =
        rest.chunk_at(0).ok_or(Skip::TruncatedLink)?;
    let header_bytes = u16::from_le_bytes([length0, length1]).into();
    rest.skip(header_bytes).ok_or(Skip::TruncatedLink)?;
    match LinkType(u16::from_le_bytes([link_type0, link_type1])) {
        LinkType::IEEE802_11 => ieee80211::next(rest),
        LinkType::ETHERNET => Ok(Layer::Ethernet(rest)),
        _ => Err(Skip::UnsupportedLinkType),
    }
}
