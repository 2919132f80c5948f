//! The link layer: one file a link type.

mod c_hdlc;
pub(super) mod ethernet;
mod fddi;
mod frame_relay;
mod ieee80211;
mod linux_sll;
mod nflog;
mod null_loop;
mod ppi;
pub(super) mod ppp;
mod prism_avs;
mod radiotap;

use super::super::LinkType;
use super::{Layer, Rest, Skip, ethertype, ip_of_any_version};

/// The first layer of a frame of this link type, headers that only captures know taken off.
#[inline]
pub(super) fn first_layer(link_type: LinkType, rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
    match link_type {
        LinkType::ETHERNET => Ok(Layer::Ethernet(rest)),
        LinkType::RAW | LinkType::RAW_BSD | LinkType::RAW_OPENBSD => Ok(Layer::Ip(rest)),
        LinkType::IPV4 => Ok(Layer::Ipv4(rest)),
        LinkType::IPV6 => Ok(Layer::Ipv6(rest)),
        LinkType::LINUX_SLL => linux_sll::version_1(rest),
        LinkType::LINUX_SLL2 => linux_sll::version_2(rest),
        LinkType::NULL | LinkType::LOOP => null_loop::next(rest),
        LinkType::PPP | LinkType::PPP_HDLC => ppp::on_a_serial_line(rest),
        LinkType::PPP_ETHER => ethertype::pppoe(rest),
        LinkType::C_HDLC => c_hdlc::next(rest),
        LinkType::IEEE802_11 => ieee80211::next(rest),
        LinkType::IEEE802_11_RADIOTAP => radiotap::next(rest),
        LinkType::IEEE802_11_PRISM => prism_avs::prism(rest),
        LinkType::IEEE802_11_AVS => prism_avs::avs(rest),
        LinkType::PPI => ppi::next(rest),
        LinkType::PPP_PPPD => ppp::behind_direction(rest, 2),
        LinkType::PPP_WITH_DIR => ppp::behind_direction(rest, 1),
        LinkType::FRELAY => frame_relay::next(rest),
        LinkType::FDDI => fddi::next(rest),
        LinkType::NFLOG => nflog::next(rest),
        _ => Err(Skip::UnsupportedLinkType),
    }
}
