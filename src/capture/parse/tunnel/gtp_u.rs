//! GTP-U: user data of mobile networks (3GPP TS 29.281).

use super::{Layer, Rest};

pub(super) const PORT: u16 = 2152;

/// Version 1 of GTP (not GTP'), and the bits that must be so.
const VERSION_1: u8 = 0x30;
const VERSION_MASK: u8 = 0xf0;

/// The message type of user data.
const G_PDU: u8 = 0xff;

/// Extension header, sequence number or N-PDU number: any of them adds four bytes.
const HAS_OPTIONS: u8 = 0x07;
const HAS_EXTENSION: u8 = 0x04;

/// The IP packet, or PPP frame, of a G-PDU.
pub(super) fn next(mut rest: Rest<'_>) -> Option<Layer<'_>> {
    let [flags, message, length0, length1, ..] = rest.take::<8>()?;
    if flags & VERSION_MASK != VERSION_1 || message != G_PDU {
        return None;
    }
    rest.shorten_to(u16::from_be_bytes([length0, length1]).into());
    if flags & HAS_OPTIONS != 0 {
        let [_, _, _, extension] = rest.take::<4>()?;
        if flags & HAS_EXTENSION != 0 {
            skip_extensions(extension, &mut rest)?;
        }
    }
    match rest.u8_at(0)? >> 4 {
        4 | 6 => Some(Layer::Ip(rest)),
        0xf => Some(Layer::Ppp(rest)),
        _ => None,
    }
}

/// Extension headers: a length in words first, the type of the next one last; type 0 ends them.
fn skip_extensions(mut extension: u8, rest: &mut Rest<'_>) -> Option<()> {
    while extension != 0 {
        let bytes = 4 * usize::from(rest.u8_at(0)?);
        extension = rest.u8_at(bytes.checked_sub(1)?)?;
        rest.skip(bytes)?;
    }
    Some(())
}
