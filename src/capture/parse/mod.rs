//! From a captured frame to the TCP header in it.
//!
//! ```text
//! Frame → link layer → network layer → [ tunnel → link or network layer ]… → TCP → Packet
//! ```
//!
//! [`Parser::parse`] first tries the common shapes (`fast`); everything else goes to the walker,
//! which peels one layer at a time:
//!
//! | where | what |
//! |---|---|
//! | `link/` | one file a link type: Ethernet, 802.11, PPP, … |
//! | `ethertype`, `llc`, `mpls` | what link types share: VLAN tags, SNAP, PPPoE, label stacks |
//! | `ipv4`, `ipv6` | headers, options, extension headers, fragments |
//! | `tunnel/` | one file an encapsulation: GRE, VXLAN, Geneve, GTP-U, Teredo, … |
//! | `tcp` | the header that counts |
//!
//! **What counts.** One TCP header per frame: the one behind the first IP header, from outside in,
//! that carries TCP directly; its flags byte was captured and its data offset is at least 5.
//! Checksums are not verified. A first fragment may count, later ones never do, nor does TCP that
//! an ICMP error quotes. VLAN, MPLS, PPPoE and SNAP are link layer, not tunnels. Whatever does not
//! count has a reason, a [`Skip`].
//!
//! **One walker.** etherparse's lax API knows fewer shapes than captures hold (no 802.11, SLL2,
//! C-HDLC, tunnels by UDP port), so a walker of our own is needed anyway and serves for all. etherparse
//! is the oracle: a property test and a fuzz target hold the two to the same answer wherever it
//! covers the shape.
//!
//! **Truncation.** Lengths in headers say where a header's payload ends, so that the padding of
//! short Ethernet frames is not taken for data; that less was captured than they promise is
//! normal (a snaplen of 64 bytes) and no reason to skip a packet.

mod ethertype;
mod fast;
mod ipv4;
mod ipv6;
mod link;
mod llc;
mod mpls;
mod rest;
mod skip;
mod tcp;
mod tunnel;

use std::net::IpAddr;

pub use skip::{Skip, SkipCounts};

use self::ethertype::VlanTags;
use self::rest::Rest;
use super::Frame;
use crate::flow::Packet;

/// How many headers a frame may nest before it is given up. Real traffic stays below ten.
const MAX_LAYERS: usize = 32;

/// What a [`Parser`] opens.
#[derive(Debug, Default, Clone, Copy)]
pub struct ParseOptions {
    /// Count TCP only if the outermost IP header carries it.
    pub no_tunnels: bool,
}

/// Finds the TCP header in frames of any known link type.
#[derive(Debug, Default, Clone, Copy)]
pub struct Parser {
    options: ParseOptions,
}

/// What comes next in a frame, as the header before it said.
enum Layer<'a> {
    /// An Ethernet header.
    Ethernet(Rest<'a>),
    /// What an EtherType names.
    EtherType(u16, Rest<'a>),
    /// An IEEE 802.2 header.
    Llc(Rest<'a>),
    /// An MPLS label stack.
    Mpls(Rest<'a>),
    /// A PPP frame, with or without address and control bytes.
    Ppp(Rest<'a>),
    /// An IP header of the version that it says.
    Ip(Rest<'a>),
    /// An IPv4 header.
    Ipv4(Rest<'a>),
    /// An IPv6 header.
    Ipv6(Rest<'a>),
    /// What IP carries.
    Transport(Transport<'a>),
}

/// The payload of an IP packet, options and extension headers taken off.
struct Transport<'a> {
    src: IpAddr,
    dst: IpAddr,
    /// The IP protocol number of `rest`.
    protocol: u8,
    rest: Rest<'a>,
}

impl Parser {
    /// A parser with these options.
    pub fn new(options: ParseOptions) -> Self {
        Self { options }
    }

    /// The TCP packet in `frame`, or why there is none to count.
    #[inline(always)]
    pub fn parse(&self, frame: &Frame<'_>) -> Result<Packet, Skip> {
        self.parse_with(frame, |packet| packet)
    }

    /// The same, for `take` to have: inlined for each of the common shapes, so that a packet is
    /// made where it is kept.
    #[inline(always)]
    pub fn parse_with<T>(
        &self,
        frame: &Frame<'_>,
        mut take: impl FnMut(Packet) -> T,
    ) -> Result<T, Skip> {
        match fast::parse(frame, &mut take) {
            Some(taken) => Ok(taken),
            // A copy, so that the frame itself need not lie in memory for the common shapes.
            None => self.walk(&{ *frame }).map(take),
        }
    }

    /// The same answer as [`Parser::parse`], without the fast path: the reference that tests hold
    /// the fast path to.
    #[inline(never)]
    pub fn walk(&self, frame: &Frame<'_>) -> Result<Packet, Skip> {
        let mut vlan_tags = VlanTags::default();
        let mut layer = link::first_layer(frame.link_type, Rest::of_frame(frame))?;
        for _ in 0..MAX_LAYERS {
            layer = match layer {
                Layer::Ethernet(rest) => link::ethernet::next(rest)?,
                Layer::EtherType(number, rest) => ethertype::next(number, rest, &mut vlan_tags)?,
                Layer::Llc(rest) => llc::next(rest)?,
                Layer::Mpls(rest) => mpls::next(rest)?,
                Layer::Ppp(rest) => link::ppp::next(rest)?,
                Layer::Ip(rest) => ip_of_any_version(rest)?,
                Layer::Ipv4(rest) => Layer::Transport(ipv4::next(rest)?),
                Layer::Ipv6(rest) => Layer::Transport(ipv6::next(rest)?),
                Layer::Transport(transport) if transport.protocol == tcp::PROTOCOL => {
                    return tcp::packet(&transport, frame, vlan_tags.outer_ids());
                }
                Layer::Transport(transport) => tunnel::next(transport, self.options)?,
            };
        }
        Err(Skip::TooManyHeaders)
    }
}

/// Reads the version that begins every IP header.
#[inline]
fn ip_of_any_version(rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
    match rest.u8_at(0).ok_or(Skip::TruncatedIp)? >> 4 {
        4 => Ok(Layer::Ipv4(rest)),
        6 => Ok(Layer::Ipv6(rest)),
        _ => Err(Skip::BadIpHeader),
    }
}
