//! Prism and AVS: radio headers of old drivers, before an 802.11 frame.

use super::{Layer, Rest, Skip, ieee80211};

/// An AVS header begins with this and its version.
const AVS_MAGIC: [u8; 3] = [0x80, 0x21, 0x10];

/// The frame behind a Prism header; drivers also record AVS headers under its link type.
pub(super) fn prism(rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
    let [code, _, _, _, length @ ..] = rest.chunk_at::<8>(0).ok_or(Skip::TruncatedLink)?;
    if rest.chunk_at(0) == Some(AVS_MAGIC) {
        return avs(rest);
    }
    // The message code is a small number in the driver's byte order, which tells that order.
    match code {
        0 => behind(rest, u32::from_be_bytes(length)),
        _ => behind(rest, u32::from_le_bytes(length)),
    }
}

/// The frame behind an AVS header.
pub(super) fn avs(rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
    let length = rest.chunk_at(4).ok_or(Skip::TruncatedLink)?;
    behind(rest, u32::from_be_bytes(length))
}

fn behind(mut rest: Rest<'_>, header_bytes: u32) -> Result<Layer<'_>, Skip> {
    let header_bytes = usize::try_from(header_bytes).unwrap_or(usize::MAX);
    rest.skip(header_bytes).ok_or(Skip::TruncatedLink)?;
    ieee80211::next(rest)
}
