//! MPLS label stacks. Nothing names what they carry: the first bytes have to tell.

use super::ethertype::{self, number};
use super::{Layer, Rest, Skip};

/// The bit of a label that ends the stack.
const BOTTOM_OF_STACK: u8 = 0x01;

/// The control word that may stand before the frame of an Ethernet pseudowire (RFC 4448).
const CONTROL_WORD_BYTES: usize = 4;

/// The layer behind a label stack: IP by its version, or the frame of an Ethernet pseudowire.
pub(super) fn next(mut rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
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

/// Whether a known EtherType stands in its place, and the right IP version behind it.
fn looks_like_ethernet(rest: &Rest<'_>) -> bool {
    let version = rest.u8_at(14).map(|byte| byte >> 4);
    match rest.u16_at(12) {
        Some(number::IPV4) => version == Some(4),
        Some(number::IPV6) => version == Some(6),
        Some(ethertype) => ethertype::is_known(ethertype),
        None => false,
    }
}
