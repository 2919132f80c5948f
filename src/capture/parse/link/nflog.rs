//! NFLOG: what netfilter's log target records, a list of attributes with the packet as one.

use super::{Layer, Rest, Skip, ip_of_any_version};

/// Attribute header: length (itself included) and type.
const ATTRIBUTE_HEADER_BYTES: usize = 4;

/// NFULA_PAYLOAD: the packet, from its IP header on.
const PAYLOAD: u16 = 9;

/// The packet among the attributes.
pub(super) fn next(mut rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
    rest.skip(4).ok_or(Skip::TruncatedLink)?; // family, version, resource id
    loop {
        let header = rest.chunk_at(0).ok_or(Skip::TruncatedLink)?;
        let (length, kind) = attribute(header);
        let length = usize::from(length);
        if length < ATTRIBUTE_HEADER_BYTES {
            return Err(Skip::NotIp);
        }
        if kind == PAYLOAD {
            rest.skip(ATTRIBUTE_HEADER_BYTES).ok_or(Skip::TruncatedLink)?;
            rest.shorten_to(length - ATTRIBUTE_HEADER_BYTES);
            return ip_of_any_version(rest);
        }
        rest.skip(length.next_multiple_of(4)).ok_or(Skip::TruncatedLink)?;
    }
}

/// Length and type, in the byte order of the capturing host: types are small numbers, which
/// tells the order.
fn attribute([length0, length1, kind0, kind1]: [u8; 4]) -> (u16, u16) {
    match u16::from_le_bytes([kind0, kind1]) {
        kind if kind <= 0xff => (u16::from_le_bytes([length0, length1]), kind),
        kind => (u16::from_be_bytes([length0, length1]), kind.swap_bytes()),
    }
}
