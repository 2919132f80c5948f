//! What an EtherType names: VLAN tags, IP, MPLS, PPPoE.

use super::{Layer, Rest, Skip};

/// The EtherTypes that acsm opens or names, as IEEE lists them.
pub(super) mod number {
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

/// Below this a type field is a length, and an 802.2 header follows.
const MIN_ETHERTYPE: u16 = 0x0600;

/// The longest payload that a length field may tell.
const MAX_LENGTH: u16 = 1500;

/// The VLAN ids of a frame, as far as a [`Packet`](crate::flow::Packet) keeps them.
#[derive(Default)]
pub(super) struct VlanTags {
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

/// The layer behind a type field, tags taken off.
#[inline]
pub(super) fn next<'a>(
    mut ethertype: u16,
    mut rest: Rest<'a>,
    vlan_tags: &mut VlanTags,
) -> Result<Layer<'a>, Skip> {
    loop {
        match ethertype {
            number::VLAN
            | number::PROVIDER_BRIDGING
            | number::OLD_Q_IN_Q
            | number::OLD_Q_IN_Q_9200
            | number::OLD_Q_IN_Q_9300 => {
                vlan_tags.push(rest.take_u16().ok_or(Skip::TruncatedLink)?);
                ethertype = rest.take_u16().ok_or(Skip::TruncatedLink)?;
            }
            number::VN_TAG | number::HSR => {
                rest.skip(4).ok_or(Skip::TruncatedLink)?;
                ethertype = rest.take_u16().ok_or(Skip::TruncatedLink)?;
            }
            _ => break,
        }
    }
    match ethertype {
        number::IPV4 => Ok(Layer::Ipv4(rest)),
        number::IPV6 => Ok(Layer::Ipv6(rest)),
        number::ARP | number::RARP => Err(Skip::Arp),
        number::MPLS | number::MPLS_MULTICAST => Ok(Layer::Mpls(rest)),
        number::PPPOE_SESSION => pppoe(rest),
        number::PPP => Ok(Layer::Ppp(rest)),
        number::TRANSPARENT_ETHERNET => Ok(Layer::Ethernet(rest)),
        number::BACKBONE_BRIDGING => {
            rest.skip(4).ok_or(Skip::TruncatedLink)?;
            Ok(Layer::Ethernet(rest))
        }
        number::JUMBO_LLC => Ok(Layer::Llc(rest)),
        length if length <= MAX_LENGTH => {
            rest.shorten_to(length.into());
            Ok(Layer::Llc(rest))
        }
        _ => Err(Skip::NotIp),
    }
}

/// Whether `ethertype` is one that [`next`] knows: a hint that bytes are a link header.
pub(super) fn is_known(ethertype: u16) -> bool {
    ethertype >= MIN_ETHERTYPE
        && !matches!(next(ethertype, Rest::EMPTY, &mut VlanTags::default()), Err(Skip::NotIp))
}

/// A PPPoE session header (RFC 2516). The EtherType says enough: version, type and code are not
/// looked at, nor does anybody else.
pub(super) fn pppoe(mut rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
    let [_version_type, _code, _, _, length0, length1] =
        rest.take::<6>().ok_or(Skip::TruncatedLink)?;
    rest.shorten_to(u16::from_be_bytes([length0, length1]).into());
    Ok(Layer::Ppp(rest))
}
