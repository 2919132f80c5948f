//! FDDI: frame control and addresses before an 802.2 header.

use super::{Layer, Rest, Skip};

const ADDRESS_BYTES: usize = 12;

/// The bits of frame control that tell LLC frames, synchronous or not, from ring management.
const FORMAT: u8 = 0x70;
const FORMAT_LLC: u8 = 0x50;

/// The LLC header of a data frame.
pub(super) fn next(mut rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
    let [frame_control] = rest.take::<1>().ok_or(Skip::TruncatedLink)?;
    rest.skip(ADDRESS_BYTES).ok_or(Skip::TruncatedLink)?;
    match frame_control & FORMAT {
        FORMAT_LLC => Ok(Layer::Llc(rest)),
        _ => Err(Skip::NotIp),
    }
}
