//! MPLS label stacks. No field names what they carry: it is recognised by its first bytes.

use super::super::layer::{Layer, Unparsed};
use super::super::skip::Skip;
use super::ethernet::{ethertype, is_known};

/// The bit of a label that ends the stack.
const BOTTOM_OF_STACK: u8 = 0x01;

/// The control word that may come before the frame of an Ethernet pseudowire (RFC 4448).
const CONTROL_WORD_BYTES: usize = 4;

/// The layer after a label stack: IP by its version, or the frame of an Ethernet pseudowire.
pub fn mpls(mut rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    loop {
        let [_, _, bottom, _] = rest.take::<4>().ok_or(Skip::TruncatedLink)?;
        if bottom & BOTTOM_OF_STACK != 0 {
            break;
        }
    }
    match rest.u8_at(0).ok_or(Skip::TruncatedLink)? >> 4 {
        4 => Ok(Layer::Ipv4(rest)),
        6 => Ok(Layer::Ipv6(rest)),
        _ if looks_like_ethernet(&rest) => Ok(Layer::Ethernet(rest)),
        0 => {
            rest.skip(CONTROL_WORD_BYTES).ok_or(Skip::TruncatedLink)?;
            match looks_like_ethernet(&rest) {
                true => Ok(Layer::Ethernet(rest)),
                false => Err(Skip::NotIp),
            }
        }
        _ => Err(Skip::NotIp),
    }
}

/// Whether there is a known EtherType at its offset, and the right IP version after it.
fn looks_like_ethernet(rest: &Unparsed<'_>) -> bool {
    let version = rest.u8_at(14).map(|byte| byte >> 4);
    match rest.u16_at(12) {
        Some(ethertype::IPV4) => version == Some(4),
        Some(ethertype::IPV6) => version == Some(6),
        Some(number) => is_known(number),
        None => false,
    }
}
