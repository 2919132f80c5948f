//! VXLAN (RFC 7348) and its generic protocol extension.

use super::{Layer, Rest};

pub(super) const PORT: u16 = 4789;
pub(super) const GPE_PORT: u16 = 4790;
/// What Linux took before IANA assigned a port.
pub(super) const OLD_LINUX_PORT: u16 = 8472;

/// The flag that every data packet has: the network identifier is valid.
const VALID_VNI: u8 = 0x08;

/// The Ethernet frame inside.
pub(super) fn next(mut rest: Rest<'_>) -> Option<Layer<'_>> {
    let [flags, ..] = rest.take::<8>()?;
    (flags & VALID_VNI != 0).then_some(Layer::Ethernet(rest))
}

/// What the next-protocol byte of the generic protocol extension names.
pub(super) fn next_gpe(mut rest: Rest<'_>) -> Option<Layer<'_>> {
    const VALID_PROTOCOL: u8 = 0x04;
    let [flags, _, _, protocol, ..] = rest.take::<8>()?;
    if flags & VALID_PROTOCOL == 0 {
        return (flags & VALID_VNI != 0).then_some(Layer::Ethernet(rest));
    }
    match protocol {
        1 => Some(Layer::Ipv4(rest)),
        2 => Some(Layer::Ipv6(rest)),
        3 => Some(Layer::Ethernet(rest)),
        5 => Some(Layer::Mpls(rest)),
        _ => None,
    }
}
