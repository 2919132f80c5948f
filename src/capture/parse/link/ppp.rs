//! PPP: with or without address and control bytes, with or without a compressed protocol field.

use super::super::ethertype::number;
use super::{Layer, Rest, Skip, c_hdlc};

const ADDRESS_CONTROL: [u8; 2] = [0xff, 0x03];

const IPV4: u16 = 0x0021;
const BRIDGING: u16 = 0x0031;
const IPV6: u16 = 0x0057;
const MPLS_UNICAST: u16 = 0x0281;
const MPLS_MULTICAST: u16 = 0x0283;

/// A frame of a serial line that is said to run PPP; routers also record Cisco HDLC so, which its
/// first byte tells.
pub(super) fn on_a_serial_line(rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
    match rest.u8_at(0) {
        Some(address) if c_hdlc::ADDRESSES.contains(&address) => c_hdlc::next(rest),
        _ => Ok(Layer::Ppp(rest)),
    }
}

/// A frame that begins with the direction it went: in place of the address byte, so that the
/// control byte follows, or before everything.
pub(super) fn behind_direction(mut rest: Rest<'_>, bytes: usize) -> Result<Layer<'_>, Skip> {
    rest.skip(bytes).ok_or(Skip::TruncatedLink)?;
    Ok(Layer::Ppp(rest))
}

/// The layer that the protocol field names.
pub(in super::super) fn next(mut rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
    if rest.chunk_at(0) == Some(ADDRESS_CONTROL) {
        rest.skip(2).ok_or(Skip::TruncatedLink)?;
    }
    let [first] = rest.take::<1>().ok_or(Skip::TruncatedLink)?;
    // Only the last byte of a protocol number is odd, so an odd first byte is the whole of it.
    let protocol = if first & 1 != 0 {
        u16::from(first)
    } else {
        let [last] = rest.take::<1>().ok_or(Skip::TruncatedLink)?;
        u16::from_be_bytes([first, last])
    };
    match protocol {
        IPV4 => Ok(Layer::Ipv4(rest)),
        IPV6 => Ok(Layer::Ipv6(rest)),
        MPLS_UNICAST | MPLS_MULTICAST => Ok(Layer::Mpls(rest)),
        BRIDGING => bridged(rest),
        _ => Err(Skip::NotIp),
    }
}

/// A bridged Ethernet frame (RFC 3518): flags and padding, MAC type 1, then the frame.
fn bridged(mut rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
    let [_flags, mac_type] = rest.take::<2>().ok_or(Skip::TruncatedLink)?;
    match mac_type {
        1 => Ok(Layer::EtherType(number::TRANSPARENT_ETHERNET, rest)),
        _ => Err(Skip::NotIp),
    }
}
