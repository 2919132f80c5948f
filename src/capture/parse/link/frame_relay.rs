//! Frame Relay: RFC 2427's encapsulation, and Cisco's own with an EtherType.

use super::{Layer, Rest, Skip};

/// The bit of an address byte that ends the address.
const LAST_ADDRESS_BYTE: u8 = 0x01;

/// An information frame without numbers: the control byte of RFC 2427.
const UNNUMBERED_INFORMATION: u8 = 0x03;

/// Network layer protocol ids.
const NLPID_PADDING: u8 = 0x00;
const NLPID_SNAP: u8 = 0x80;
const NLPID_IPV6: u8 = 0x8e;
const NLPID_IPV4: u8 = 0xcc;

/// The layer behind address, control and protocol id.
pub(super) fn next(mut rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
    loop {
        let [address] = rest.take::<1>().ok_or(Skip::TruncatedLink)?;
        if address & LAST_ADDRESS_BYTE != 0 {
            break;
        }
    }
    if rest.u8_at(0) != Some(UNNUMBERED_INFORMATION) {
        let ethertype = rest.take_u16().ok_or(Skip::TruncatedLink)?;
        return Ok(Layer::EtherType(ethertype, rest));
    }
    rest.skip(1).ok_or(Skip::TruncatedLink)?;
    let [mut protocol] = rest.take::<1>().ok_or(Skip::TruncatedLink)?;
    if protocol == NLPID_PADDING {
        [protocol] = rest.take::<1>().ok_or(Skip::TruncatedLink)?;
    }
    match protocol {
        NLPID_IPV4 => Ok(Layer::Ipv4(rest)),
        NLPID_IPV6 => Ok(Layer::Ipv6(rest)),
        NLPID_SNAP => snap(rest),
        _ => Err(Skip::NotIp),
    }
}

/// A SNAP header: an EtherType, or a bridged Ethernet frame with (1) or without (7) its FCS.
fn snap(mut rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
    let [oui @ .., protocol0, protocol1] = rest.take::<5>().ok_or(Skip::TruncatedLink)?;
    match (oui, u16::from_be_bytes([protocol0, protocol1])) {
        ([0x00, 0x00, 0x00], ethertype) => Ok(Layer::EtherType(ethertype, rest)),
        ([0x00, 0x80, 0xc2], 1 | 7) => Ok(Layer::Ethernet(rest)),
        _ => Err(Skip::NotIp),
    }
}
