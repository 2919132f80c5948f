//! IEEE 802.2 LLC headers, with or without SNAP.

use super::{Layer, Rest, Skip};

const SAP_IP: u8 = 0x06;
const SAP_SNAP: u8 = 0xaa;

/// Control fields of frames that carry data; the second has the poll bit set.
const UNNUMBERED_INFORMATION: u8 = 0x03;
const UNNUMBERED_INFORMATION_POLL: u8 = 0x13;

/// Organisations whose SNAP protocol ids are EtherTypes: RFC 1042, and 802.1H for bridges.
const ETHERTYPE_OUIS: [[u8; 3]; 2] = [[0x00, 0x00, 0x00], [0x00, 0x00, 0xf8]];

/// The layer behind an LLC header.
#[inline]
pub(super) fn next(mut rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
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
