//! Serial lines: PPP, Cisco HDLC, Frame Relay.

use super::super::layer::{Layer, Unparsed};
use super::super::skip::Skip;
use super::ethernet::ethertype;

const PPP_ADDRESS_CONTROL: [u8; 2] = [0xff, 0x03];

/// Numbers of the PPP protocol field.
mod ppp_protocol {
    pub const IPV4: u16 = 0x0021;
    pub const BRIDGING: u16 = 0x0031;
    pub const IPV6: u16 = 0x0057;
    pub const MPLS_UNICAST: u16 = 0x0281;
    pub const MPLS_MULTICAST: u16 = 0x0283;
}

/// A frame of LINKTYPE_PPP; routers also write Cisco HDLC under this link type, recognised by its
/// first byte.
pub fn ppp_or_c_hdlc(rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    match rest.u8_at(0) {
        Some(address) if C_HDLC_ADDRESSES.contains(&address) => c_hdlc(rest),
        _ => Ok(Layer::Ppp(rest)),
    }
}

/// A PPP frame after `direction_bytes` that state its direction: before the frame (1 byte), or in
/// place of its address byte, so that the control byte is skipped, too (2 bytes).
pub fn ppp_with_direction(
    mut rest: Unparsed<'_>,
    direction_bytes: usize,
) -> Result<Layer<'_>, Skip> {
    rest.skip(direction_bytes).ok_or(Skip::TruncatedLink)?;
    Ok(Layer::Ppp(rest))
}

/// PPP, with or without address and control bytes, with or without a compressed protocol field.
pub fn ppp(mut rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    if rest.chunk_at(0) == Some(PPP_ADDRESS_CONTROL) {
        rest.skip(2).ok_or(Skip::TruncatedLink)?;
    }
    let [first] = rest.take::<1>().ok_or(Skip::TruncatedLink)?;
    // Only the last byte of a protocol number is odd: an odd first byte is all of it (compressed).
    let protocol = if first & 1 != 0 {
        u16::from(first)
    } else {
        let [last] = rest.take::<1>().ok_or(Skip::TruncatedLink)?;
        u16::from_be_bytes([first, last])
    };
    match protocol {
        ppp_protocol::IPV4 => Ok(Layer::Ipv4(rest)),
        ppp_protocol::IPV6 => Ok(Layer::Ipv6(rest)),
        ppp_protocol::MPLS_UNICAST | ppp_protocol::MPLS_MULTICAST => Ok(Layer::Mpls(rest)),
        ppp_protocol::BRIDGING => ppp_bridged(rest),
        _ => Err(Skip::NotIp),
    }
}

/// A bridged Ethernet frame (RFC 3518): flags and padding, MAC type 1, then the frame.
fn ppp_bridged(mut rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    let [_flags, mac_type] = rest.take::<2>().ok_or(Skip::TruncatedLink)?;
    match mac_type {
        1 => Ok(Layer::EtherType(ethertype::TRANSPARENT_ETHERNET, rest)),
        _ => Err(Skip::NotIp),
    }
}

/// The addresses a Cisco HDLC frame can begin with: unicast and multicast.
const C_HDLC_ADDRESSES: [u8; 2] = [0x0f, 0x8f];

/// Cisco HDLC: the layer after address, control and EtherType.
pub fn c_hdlc(mut rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    rest.skip(2).ok_or(Skip::TruncatedLink)?;
    let number = rest.take_u16().ok_or(Skip::TruncatedLink)?;
    Ok(Layer::EtherType(number, rest))
}

/// The bit of a Frame Relay address byte that ends the address.
const LAST_ADDRESS_BYTE: u8 = 0x01;

/// The control byte of RFC 2427: an unnumbered information frame.
const UNNUMBERED_INFORMATION: u8 = 0x03;

/// Network layer protocol ids.
const NLPID_PADDING: u8 = 0x00;
const NLPID_SNAP: u8 = 0x80;
const NLPID_IPV6: u8 = 0x8e;
const NLPID_IPV4: u8 = 0xcc;

/// Frame Relay: RFC 2427's encapsulation, and Cisco's own with an EtherType.
pub fn frame_relay(mut rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    loop {
        let [address] = rest.take::<1>().ok_or(Skip::TruncatedLink)?;
        if address & LAST_ADDRESS_BYTE != 0 {
            break;
        }
    }
    if rest.u8_at(0) != Some(UNNUMBERED_INFORMATION) {
        let number = rest.take_u16().ok_or(Skip::TruncatedLink)?;
        return Ok(Layer::EtherType(number, rest));
    }
    rest.skip(1).ok_or(Skip::TruncatedLink)?;
    let [mut protocol] = rest.take::<1>().ok_or(Skip::TruncatedLink)?;
    if protocol == NLPID_PADDING {
        [protocol] = rest.take::<1>().ok_or(Skip::TruncatedLink)?;
    }
    match protocol {
        NLPID_IPV4 => Ok(Layer::Ipv4(rest)),
        NLPID_IPV6 => Ok(Layer::Ipv6(rest)),
        NLPID_SNAP => frame_relay_snap(rest),
        _ => Err(Skip::NotIp),
    }
}

/// A SNAP header: an EtherType, or a bridged Ethernet frame with (1) or without (7) its FCS.
fn frame_relay_snap(mut rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    let [oui @ .., protocol0, protocol1] = rest.take::<5>().ok_or(Skip::TruncatedLink)?;
    match (oui, u16::from_be_bytes([protocol0, protocol1])) {
        ([0x00, 0x00, 0x00], number) => Ok(Layer::EtherType(number, rest)),
        ([0x00, 0x80, 0xc2], 1 | 7) => Ok(Layer::Ethernet(rest)),
        _ => Err(Skip::NotIp),
    }
}
