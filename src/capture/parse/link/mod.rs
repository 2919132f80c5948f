//! The link layer: which header a link type begins with.
//!
//! | file | link types |
//! |---|---|
//! | `ethernet` | Ethernet, VLAN tags, LLC and SNAP, PPPoE, FDDI |
//! | `mpls` | MPLS label stacks |
//! | `ieee80211` | Wi-Fi: 802.11, radiotap, Prism, AVS, PPI |
//! | `serial` | PPP, Cisco HDLC, Frame Relay |
//! | `pseudo` | headers of captures only: Linux cooked (SLL), NFLOG, BSD loopback |
//!
//! To add a link type: its number in `capture/frame.rs`, a function in one of these files, and a
//! line in [`first_layer`].

mod ethernet;
mod ieee80211;
mod mpls;
mod pseudo;
mod serial;

pub(super) use ethernet::{VlanTags, after_type, ethernet, ethertype, llc};
pub(super) use mpls::mpls;
pub(super) use serial::ppp;

use super::layer::{Layer, Unparsed};
use super::skip::Skip;
use crate::capture::LinkType;

/// The first layer of a frame of this link type, after headers that exist in captures only.
#[inline]
pub(super) fn first_layer(link_type: LinkType, rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    match link_type {
        LinkType::ETHERNET => Ok(Layer::Ethernet(rest)),
        LinkType::RAW | LinkType::RAW_BSD | LinkType::RAW_OPENBSD => Ok(Layer::Ip(rest)),
        LinkType::IPV4 => Ok(Layer::Ipv4(rest)),
        LinkType::IPV6 => Ok(Layer::Ipv6(rest)),
        LinkType::LINUX_SLL => pseudo::linux_sll(rest),
        LinkType::LINUX_SLL2 => pseudo::linux_sll2(rest),
        LinkType::NULL | LinkType::LOOP => pseudo::null_or_loop(rest),
        LinkType::PPP | LinkType::PPP_HDLC => serial::ppp_or_c_hdlc(rest),
        LinkType::PPP_ETHER => ethernet::pppoe(rest),
        LinkType::C_HDLC => serial::c_hdlc(rest),
        LinkType::IEEE802_11 => ieee80211::ieee80211(rest),
        LinkType::IEEE802_11_RADIOTAP => ieee80211::radiotap(rest),
        LinkType::IEEE802_11_PRISM => ieee80211::prism(rest),
        LinkType::IEEE802_11_AVS => ieee80211::avs(rest),
        LinkType::PPI => ieee80211::ppi(rest),
        LinkType::PPP_PPPD => serial::ppp_with_direction(rest, 2),
        LinkType::PPP_WITH_DIR => serial::ppp_with_direction(rest, 1),
        LinkType::FRELAY => serial::frame_relay(rest),
        LinkType::FDDI => ethernet::fddi(rest),
        LinkType::NFLOG => pseudo::nflog(rest),
        _ => Err(Skip::UnsupportedLinkType),
    }
}
