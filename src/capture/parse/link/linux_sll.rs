//! Linux "cooked" captures, versions 1 and 2: what `-i any` records.

use super::{Layer, Rest, Skip, ieee80211, radiotap};

/// ARPHRD_ values that change what follows.
mod hardware {
    pub const IEEE80211: u16 = 801;
    pub const IEEE80211_RADIOTAP: u16 = 803;
    pub const NETLINK: u16 = 824;
}

/// The protocol number that stands for an 802.2 header.
const PROTOCOL_LLC: u16 = 0x0004;

/// LINKTYPE_LINUX_SLL: 16 bytes, the protocol last.
#[inline]
pub(super) fn version_1(mut rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
    let [_, _, hardware0, hardware1, .., protocol0, protocol1] =
        rest.take::<16>().ok_or(Skip::TruncatedLink)?;
    let hardware = u16::from_be_bytes([hardware0, hardware1]);
    behind(hardware, u16::from_be_bytes([protocol0, protocol1]), rest)
}

/// LINKTYPE_LINUX_SLL2: 20 bytes, the protocol first.
#[inline]
pub(super) fn version_2(mut rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
    let [protocol0, protocol1, _, _, _, _, _, _, hardware0, hardware1, ..] =
        rest.take::<20>().ok_or(Skip::TruncatedLink)?;
    let hardware = u16::from_be_bytes([hardware0, hardware1]);
    behind(hardware, u16::from_be_bytes([protocol0, protocol1]), rest)
}

fn behind(hardware: u16, protocol: u16, rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
    match (hardware, protocol) {
        (hardware::NETLINK, _) => Err(Skip::NotIp),
        (hardware::IEEE80211, _) => ieee80211::next(rest),
        (hardware::IEEE80211_RADIOTAP, _) => radiotap::next(rest),
        (_, PROTOCOL_LLC) => Ok(Layer::Llc(rest)),
        // Small numbers are Linux's own, not lengths as on Ethernet.
        (_, 0..=0x05ff) => Err(Skip::NotIp),
        (_, ethertype) => Ok(Layer::EtherType(ethertype, rest)),
    }
}
