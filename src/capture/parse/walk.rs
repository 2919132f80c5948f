//! The general parser: one header at a time, from the link layer inwards.

use super::layer::{Layer, Unparsed};
use super::link::{self, VlanTags};
use super::skip::Skip;
use super::{ParseOptions, ip, tcp, tunnel};
use crate::capture::Frame;
use crate::flow::Packet;

/// How many headers a frame may nest. Real traffic stays below ten.
const MAX_LAYERS: usize = 32;

/// The TCP packet in `frame`, or why it is skipped.
#[inline(never)]
pub(super) fn walk(frame: &Frame<'_>, options: ParseOptions) -> Result<Packet, Skip> {
    let mut vlan_tags = VlanTags::default();
    let mut layer = link::first_layer(frame.link_type, Unparsed::of_frame(frame))?;
    for _ in 0..MAX_LAYERS {
        layer = match layer {
            Layer::Ethernet(rest) => link::ethernet(rest)?,
            Layer::EtherType(number, rest) => link::after_type(number, rest, &mut vlan_tags)?,
            Layer::Llc(rest) => link::llc(rest)?,
            Layer::Mpls(rest) => link::mpls(rest)?,
            Layer::Ppp(rest) => link::ppp(rest)?,
            Layer::Ip(rest) => ip::ip_of_any_version(rest)?,
            Layer::Ipv4(rest) => Layer::Transport(ip::ipv4(rest)?),
            Layer::Ipv6(rest) => Layer::Transport(ip::ipv6(rest)?),
            Layer::Transport(transport) if transport.protocol == tcp::PROTOCOL => {
                return tcp::packet(&transport, frame, vlan_tags.outer_ids());
            }
            Layer::Transport(transport) => tunnel::open(transport, options)?,
        };
    }
    Err(Skip::TooManyHeaders)
}
