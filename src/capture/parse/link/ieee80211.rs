//! IEEE 802.11: data frames, with QoS, four addresses and A-MSDUs.

use super::{Layer, Rest, Skip};

/// Bits of the first frame control byte.
const VERSION: u8 = 0x03;
const TYPE: u8 = 0x0c;
const TYPE_DATA: u8 = 0x08;
const SUBTYPE_NO_DATA: u8 = 0x40;
const SUBTYPE_QOS: u8 = 0x80;

/// Bits of the second frame control byte.
const BOTH_DS: u8 = 0x03;
const PROTECTED: u8 = 0x40;
const HT_CONTROL: u8 = 0x80;

/// Frame control, duration, three addresses and sequence control.
const MIN_HEADER_BYTES: usize = 24;

/// Of QoS control: the payload is an A-MSDU.
const A_MSDU: u8 = 0x80;

/// The payload of a data frame.
pub(super) fn next(rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
    payload(rest, Padding::None)
}

/// Whether the driver padded the header to a multiple of four bytes (radiotap tells).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Padding {
    None,
    ToFourBytes,
}

/// The payload of a data frame whose header may be padded.
pub(super) fn payload(mut rest: Rest<'_>, padding: Padding) -> Result<Layer<'_>, Skip> {
    let [control, flags] = rest.chunk_at(0).ok_or(Skip::TruncatedLink)?;
    if control & VERSION != 0 || control & TYPE != TYPE_DATA || control & SUBTYPE_NO_DATA != 0 {
        return Err(Skip::WlanNoData);
    }
    if flags & PROTECTED != 0 {
        return Err(Skip::WlanProtected);
    }
    let fragment = rest.u8_at(22).ok_or(Skip::TruncatedLink)? & 0x0f;
    if fragment != 0 {
        return Err(Skip::LaterFragment);
    }
    let addresses_bytes = if flags & BOTH_DS == BOTH_DS { 6 } else { 0 };
    let mut header_bytes = MIN_HEADER_BYTES + addresses_bytes;
    let mut is_a_msdu = false;
    if control & SUBTYPE_QOS != 0 {
        is_a_msdu = rest.u8_at(header_bytes).ok_or(Skip::TruncatedLink)? & A_MSDU != 0;
        header_bytes += if flags & HT_CONTROL != 0 { 6 } else { 2 };
    }
    if padding == Padding::ToFourBytes {
        header_bytes = header_bytes.next_multiple_of(4);
    }
    rest.skip(header_bytes).ok_or(Skip::TruncatedLink)?;
    if is_a_msdu { first_subframe(rest) } else { Ok(Layer::Llc(rest)) }
}

/// The first frame of an A-MSDU: addresses and a length before the LLC header. One frame counts
/// as one packet, so the others are left alone.
fn first_subframe(mut rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
    rest.skip(12).ok_or(Skip::TruncatedLink)?;
    let length = rest.take_u16().ok_or(Skip::TruncatedLink)?;
    rest.shorten_to(length.into());
    Ok(Layer::Llc(rest))
}
