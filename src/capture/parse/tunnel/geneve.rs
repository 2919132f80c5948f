//! Geneve (RFC 8926).

use super::{Layer, Rest};

pub(super) const PORT: u16 = 6081;

/// What the protocol type names, behind the options: mostly an Ethernet frame.
pub(super) fn next(mut rest: Rest<'_>) -> Option<Layer<'_>> {
    let [version_length, _, protocol0, protocol1, ..] = rest.take::<8>()?;
    if version_length >> 6 != 0 {
        return None;
    }
    rest.skip(4 * usize::from(version_length & 0x3f))?;
    Some(Layer::EtherType(u16::from_be_bytes([protocol0, protocol1]), rest))
}
