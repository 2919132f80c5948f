//! Headers that exist in captures only, written by the capturing host: Linux "cooked" (SLL, SLL2, from
//! `-i any`), NFLOG, BSD loopback (NULL, LOOP).

use super::super::ip::ip_of_any_version;
use super::super::layer::{Layer, Unparsed};
use super::super::skip::Skip;
use super::ieee80211::{ieee80211, radiotap};

/// ARPHRD_ values that change what follows an SLL header.
mod hardware {
    pub const IEEE80211: u16 = 801;
    pub const IEEE80211_RADIOTAP: u16 = 803;
    pub const NETLINK: u16 = 824;
}

/// The protocol number of SLL that stands for an 802.2 header.
const PROTOCOL_LLC: u16 = 0x0004;

/// LINKTYPE_LINUX_SLL: 16 bytes, the protocol last.
#[inline]
pub fn linux_sll(mut rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    let [_, _, hardware0, hardware1, .., protocol0, protocol1] =
        rest.take::<16>().ok_or(Skip::TruncatedLink)?;
    let hardware = u16::from_be_bytes([hardware0, hardware1]);
    after_sll(hardware, u16::from_be_bytes([protocol0, protocol1]), rest)
}

/// LINKTYPE_LINUX_SLL2: 20 bytes, the protocol first.
#[inline]
pub fn linux_sll2(mut rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    let [protocol0, protocol1, _, _, _, _, _, _, hardware0, hardware1, ..] =
        rest.take::<20>().ok_or(Skip::TruncatedLink)?;
    let hardware = u16::from_be_bytes([hardware0, hardware1]);
    after_sll(hardware, u16::from_be_bytes([protocol0, protocol1]), rest)
}

fn after_sll(hardware: u16, protocol: u16, rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    match (hardware, protocol) {
        (hardware::NETLINK, _) => Err(Skip::NotIp),
        (hardware::IEEE80211, _) => ieee80211(rest),
        (hardware::IEEE80211_RADIOTAP, _) => radiotap(rest),
        (_, PROTOCOL_LLC) => Ok(Layer::Llc(rest)),
        // Small numbers are protocols of Linux, not lengths as on Ethernet.
        (_, 0..=0x05ff) => Err(Skip::NotIp),
        (_, number) => Ok(Layer::EtherType(number, rest)),
    }
}

/// NFLOG attribute header: length (itself included) and type.
const ATTRIBUTE_HEADER_BYTES: usize = 4;

/// NFULA_PAYLOAD: the packet, from its IP header on.
const NFULA_PAYLOAD: u16 = 9;

/// NFLOG, written by netfilter's log target: a list of attributes, one of which is the packet.
pub fn nflog(mut rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    rest.skip(4).ok_or(Skip::TruncatedLink)?; // family, version, resource id
    loop {
        let header = rest.chunk_at(0).ok_or(Skip::TruncatedLink)?;
        let (length, kind) = nflog_attribute(header);
        let length = usize::from(length);
        if length < ATTRIBUTE_HEADER_BYTES {
            return Err(Skip::NotIp);
        }
        if kind == NFULA_PAYLOAD {
            rest.skip(ATTRIBUTE_HEADER_BYTES).ok_or(Skip::TruncatedLink)?;
            rest.shorten_to(length - ATTRIBUTE_HEADER_BYTES);
            return ip_of_any_version(rest);
        }
        rest.skip(length.next_multiple_of(4)).ok_or(Skip::TruncatedLink)?;
    }
}

/// Length and type, in the byte order of the capturing host: types are small numbers, which reveals
/// the order.
fn nflog_attribute([length0, length1, kind0, kind1]: [u8; 4]) -> (u16, u16) {
    match u16::from_le_bytes([kind0, kind1]) {
        kind if kind <= 0xff => (u16::from_le_bytes([length0, length1]), kind),
        kind => (u16::from_be_bytes([length0, length1]), kind.swap_bytes()),
    }
}

const AF_INET: u32 = 2;

/// AF_INET6 on Linux, NetBSD and OpenBSD, FreeBSD, and macOS.
const AF_INET6: [u32; 4] = [10, 24, 28, 30];

/// Families are small numbers: a larger one was written in the other byte order.
const MAX_ADDRESS_FAMILY: u32 = 0xffff;

/// BSD loopback: the packet after its address family, which NULL writes in the byte order of the
/// capturing host.
pub fn null_or_loop(mut rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    let bytes = rest.take::<4>().ok_or(Skip::TruncatedLink)?;
    let family = match u32::from_be_bytes(bytes) {
        family if family <= MAX_ADDRESS_FAMILY => family,
        _ => u32::from_le_bytes(bytes),
    };
    match family {
        AF_INET => Ok(Layer::Ipv4(rest)),
        family if AF_INET6.contains(&family) => Ok(Layer::Ipv6(rest)),
        _ => Err(Skip::NotIp),
    }
}
