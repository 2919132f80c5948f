//! Radiotap: what a driver tells about an 802.11 frame, before the frame.

use super::{Layer, Rest, Skip, ieee80211};

/// Bits of the first presence word, and the sizes of the fields that they announce.
const HAS_TIMER: u32 = 1 << 0;
const HAS_FLAGS: u32 = 1 << 1;
const MORE_PRESENCE: u32 = 1 << 31;
const TIMER_BYTES: usize = 8;

/// Bits of the flags field.
const FLAG_FCS_AT_END: u8 = 0x10;
const FLAG_DATA_PAD: u8 = 0x20;

const FCS_BYTES: usize = 4;

/// The 802.11 frame behind the radiotap header.
pub(super) fn next(mut rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
    let [version, _, length0, length1] = rest.chunk_at(0).ok_or(Skip::TruncatedLink)?;
    if version != 0 {
        return Err(Skip::NotIp);
    }
    let flags = flags(&rest).unwrap_or(0);
    let header_bytes = u16::from_le_bytes([length0, length1]).into();
    rest.skip(header_bytes).ok_or(Skip::TruncatedLink)?;
    if flags & FLAG_FCS_AT_END != 0 {
        rest.drop_trailer(FCS_BYTES);
    }
    match flags & FLAG_DATA_PAD != 0 {
        true => ieee80211::payload(rest, ieee80211::Padding::ToFourBytes),
        false => ieee80211::payload(rest, ieee80211::Padding::None),
    }
}

/// The flags field, if there is one. Fields are aligned to their size, counted from the header's
/// first byte.
fn flags(rest: &Rest<'_>) -> Option<u8> {
    let present = presence(rest, 4)?;
    let mut offset = 8;
    let mut word = present;
    while word & MORE_PRESENCE != 0 {
        word = presence(rest, offset)?;
        offset += 4;
    }
    if present & HAS_TIMER != 0 {
        offset = offset.next_multiple_of(TIMER_BYTES) + TIMER_BYTES;
    }
    if present & HAS_FLAGS != 0 { rest.u8_at(offset) } else { None }
}

fn presence(rest: &Rest<'_>, offset: usize) -> Option<u32> {
    rest.chunk_at(offset).map(u32::from_le_bytes)
}
