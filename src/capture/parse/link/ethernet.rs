//! IEEE 802 links: Ethernet, EtherTypes, VLAN tags, LLC and SNAP, PPPoE, FDDI.

use super::super::layer::{Layer, Unparsed};
use super::super::skip::Skip;

/// The EtherTypes that acsm parses or names, as IEEE lists them.
pub mod ethertype {
    pub const IPV4: u16 = 0x0800;
    pub const ARP: u16 = 0x0806;
    pub const TRANSPARENT_ETHERNET: u16 = 0x6558;
    pub const RARP: u16 = 0x8035;
    pub const VLAN: u16 = 0x8100;
    pub const IPV6: u16 = 0x86dd;
    pub const PPP: u16 = 0x880b;
    pub const MPLS: u16 = 0x8847;
    pub const MPLS_MULTICAST: u16 = 0x8848;
    pub const PPPOE_SESSION: u16 = 0x8864;
    pub const JUMBO_LLC: u16 = 0x8870;
    pub const PROVIDER_BRIDGING: u16 = 0x88a8;
    pub const BACKBONE_BRIDGING: u16 = 0x88e7;
    pub const VN_TAG: u16 = 0x8926;
    pub const HSR: u16 = 0x892f;
    pub const OLD_Q_IN_Q: u16 = 0x9100;
    pub const OLD_Q_IN_Q_9200: u16 = 0x9200;
    pub const OLD_Q_IN_Q_9300: u16 = 0x9300;
}

/// Destination and source address.
const ADDRESS_BYTES: usize = 12;

/// An Ethernet header: the layer that its type or length field names.
#[inline]
pub fn ethernet(mut rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    rest.skip(ADDRESS_BYTES).ok_or(Skip::TruncatedLink)?;
    let number = rest.take_u16().ok_or(Skip::TruncatedLink)?;
    Ok(Layer::EtherType(number, rest))
}

/// Below this a type field is a length, and an 802.2 LLC header follows.
const MIN_ETHERTYPE: u16 = 0x0600;

/// The largest value of a length field.
const MAX_LENGTH: u16 = 1500;

/// The VLAN ids of a frame that a [`Packet`](crate::flow::Packet) keeps: the two outermost.
#[derive(Default)]
pub struct VlanTags {
    ids: [u16; 2],
    seen: usize,
}

impl VlanTags {
    /// The two outermost ids.
    pub fn outer_ids(&self) -> [u16; 2] {
        self.ids
    }

    fn push(&mut self, tag: u16) {
        if let Some(id) = self.ids.get_mut(self.seen) {
            *id = tag & 0x0fff;
        }
        self.seen += 1;
    }
}

/// The layer after a type field and any VLAN tags.
#[inline]
pub fn after_type<'a>(
    mut number: u16,
    mut rest: Unparsed<'a>,
    vlan_tags: &mut VlanTags,
) -> Result<Layer<'a>, Skip> {
    loop {
        match number {
            ethertype::VLAN
            | ethertype::PROVIDER_BRIDGING
            | ethertype::OLD_Q_IN_Q
            | ethertype::OLD_Q_IN_Q_9200
            | ethertype::OLD_Q_IN_Q_9300 => {
                vlan_tags.push(rest.take_u16().ok_or(Skip::TruncatedLink)?);
                number = rest.take_u16().ok_or(Skip::TruncatedLink)?;
            }
            ethertype::VN_TAG | ethertype::HSR => {
                rest.skip(4).ok_or(Skip::TruncatedLink)?;
                number = rest.take_u16().ok_or(Skip::TruncatedLink)?;
            }
            _ => break,
        }
    }
    match number {
        ethertype::IPV4 => Ok(Layer::Ipv4(rest)),
        ethertype::IPV6 => Ok(Layer::Ipv6(rest)),
        ethertype::ARP | ethertype::RARP => Err(Skip::Arp),
        ethertype::MPLS | ethertype::MPLS_MULTICAST => Ok(Layer::Mpls(rest)),
        ethertype::PPPOE_SESSION => pppoe(rest),
        ethertype::PPP => Ok(Layer::Ppp(rest)),
        ethertype::TRANSPARENT_ETHERNET => Ok(Layer::Ethernet(rest)),
        ethertype::BACKBONE_BRIDGING => {
            rest.skip(4).ok_or(Skip::TruncatedLink)?;
            Ok(Layer::Ethernet(rest))
        }
        ethertype::JUMBO_LLC => Ok(Layer::Llc(rest)),
        length if length <= MAX_LENGTH => {
            rest.shorten_to(length.into());
            Ok(Layer::Llc(rest))
        }
        _ => Err(Skip::NotIp),
    }
}

/// Whether `number` is an EtherType that acsm knows: a hint that bytes are an Ethernet header.
pub fn is_known(number: u16) -> bool {
    number >= MIN_ETHERTYPE
        && !matches!(
            after_type(number, Unparsed::EMPTY, &mut VlanTags::default()),
            Err(Skip::NotIp)
        )
}

/// A PPPoE session header (RFC 2516). Version, type and code are not checked, as in other parsers.
pub fn pppoe(mut rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    let [_version_type, _code, _, _, length0, length1] =
        rest.take::<6>().ok_or(Skip::TruncatedLink)?;
    rest.shorten_to(u16::from_be_bytes([length0, length1]).into());
    Ok(Layer::Ppp(rest))
}

const SAP_IP: u8 = 0x06;
const SAP_SNAP: u8 = 0xaa;

/// Control fields of frames that carry data; the second has the poll bit set.
const UNNUMBERED_INFORMATION: u8 = 0x03;
const UNNUMBERED_INFORMATION_POLL: u8 = 0x13;

/// Organisations whose SNAP protocol ids are EtherTypes: RFC 1042, and 802.1H for bridges.
const ETHERTYPE_OUIS: [[u8; 3]; 2] = [[0x00, 0x00, 0x00], [0x00, 0x00, 0xf8]];

/// The layer after an LLC header, with or without SNAP.
#[inline]
pub fn llc(mut rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    let [destination, source, control] = rest.take::<3>().ok_or(Skip::TruncatedLink)?;
    match control {
        UNNUMBERED_INFORMATION | UNNUMBERED_INFORMATION_POLL => {}
        // Numbered information frames have a second control byte.
        control if control & 0x01 == 0 => rest.skip(1).ok_or(Skip::TruncatedLink)?,
        _ => return Err(Skip::NotIp), // commands, which carry nothing
    }
    match [destination & 0xfe, source & 0xfe] {
        [SAP_SNAP, SAP_SNAP] => {
            let oui: [u8; 3] = rest.take().ok_or(Skip::TruncatedLink)?;
            let protocol = rest.take_u16().ok_or(Skip::TruncatedLink)?;
            match ETHERTYPE_OUIS.contains(&oui) {
                true => Ok(Layer::EtherType(protocol, rest)),
                false => Err(Skip::NotIp),
            }
        }
        [SAP_IP, _] => Ok(Layer::Ip(rest)),
        _ => Err(Skip::NotIp),
    }
}

/// The bits of FDDI frame control that distinguish LLC frames from ring management.
const FDDI_FORMAT: u8 = 0x70;
const FDDI_FORMAT_LLC: u8 = 0x50;

/// FDDI: the LLC header of a data frame.
pub fn fddi(mut rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    let [frame_control] = rest.take::<1>().ok_or(Skip::TruncatedLink)?;
    rest.skip(ADDRESS_BYTES).ok_or(Skip::TruncatedLink)?;
    match frame_control & FDDI_FORMAT {
        FDDI_FORMAT_LLC => Ok(Layer::Llc(rest)),
        _ => Err(Skip::NotIp),
    }
}
