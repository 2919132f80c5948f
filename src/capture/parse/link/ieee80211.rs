//! IEEE 802.11 (Wi-Fi) data frames, and the radio headers that captures put before them: radiotap,
//! Prism, AVS, PPI.

use super::super::layer::{Layer, Unparsed};
use super::super::skip::Skip;
use crate::capture::LinkType;

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
pub fn ieee80211(rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    payload(rest, Padding::None)
}

/// Whether the driver padded the header to a multiple of four bytes (a radiotap flag).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Padding {
    None,
    ToFourBytes,
}

/// The payload of a data frame whose header may be padded.
fn payload(mut rest: Unparsed<'_>, padding: Padding) -> Result<Layer<'_>, Skip> {
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
/// as one packet, so the others are ignored.
fn first_subframe(mut rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    rest.skip(12).ok_or(Skip::TruncatedLink)?;
    let length = rest.take_u16().ok_or(Skip::TruncatedLink)?;
    rest.shorten_to(length.into());
    Ok(Layer::Llc(rest))
}

/// Bits of the first radiotap presence word, and the sizes of the fields that they announce.
const HAS_TIMER: u32 = 1 << 0;
const HAS_FLAGS: u32 = 1 << 1;
const MORE_PRESENCE: u32 = 1 << 31;
const TIMER_BYTES: usize = 8;

/// Bits of the radiotap flags field.
const FLAG_FCS_AT_END: u8 = 0x10;
const FLAG_DATA_PAD: u8 = 0x20;

const FCS_BYTES: usize = 4;

/// The 802.11 frame after a radiotap header.
pub fn radiotap(mut rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    let [version, _, length0, length1] = rest.chunk_at(0).ok_or(Skip::TruncatedLink)?;
    if version != 0 {
        return Err(Skip::NotIp);
    }
    let flags = radiotap_flags(&rest).unwrap_or(0);
    let header_bytes = u16::from_le_bytes([length0, length1]).into();
    rest.skip(header_bytes).ok_or(Skip::TruncatedLink)?;
    if flags & FLAG_FCS_AT_END != 0 {
        rest.drop_trailer(FCS_BYTES);
    }
    match flags & FLAG_DATA_PAD != 0 {
        true => payload(rest, Padding::ToFourBytes),
        false => payload(rest, Padding::None),
    }
}

/// The flags field, if there is one. Fields are aligned to their size, counted from the header's
/// first byte.
fn radiotap_flags(rest: &Unparsed<'_>) -> Option<u8> {
    let present = radiotap_presence(rest, 4)?;
    let mut offset = 8;
    let mut word = present;
    while word & MORE_PRESENCE != 0 {
        word = radiotap_presence(rest, offset)?;
        offset += 4;
    }
    if present & HAS_TIMER != 0 {
        offset = offset.next_multiple_of(TIMER_BYTES) + TIMER_BYTES;
    }
    if present & HAS_FLAGS != 0 { rest.u8_at(offset) } else { None }
}

fn radiotap_presence(rest: &Unparsed<'_>, offset: usize) -> Option<u32> {
    rest.chunk_at(offset).map(u32::from_le_bytes)
}

/// An AVS header begins with this and its version.
const AVS_MAGIC: [u8; 3] = [0x80, 0x21, 0x10];

/// The frame after a Prism header; drivers also write AVS headers under its link type.
pub fn prism(rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    let [code, _, _, _, length @ ..] = rest.chunk_at::<8>(0).ok_or(Skip::TruncatedLink)?;
    if rest.chunk_at(0) == Some(AVS_MAGIC) {
        return avs(rest);
    }
    // The message code is a small number in the byte order of the driver, which reveals that order.
    match code {
        0 => after_radio_header(rest, u32::from_be_bytes(length)),
        _ => after_radio_header(rest, u32::from_le_bytes(length)),
    }
}

/// The frame after an AVS header.
pub fn avs(rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    let length = rest.chunk_at(4).ok_or(Skip::TruncatedLink)?;
    after_radio_header(rest, u32::from_be_bytes(length))
}

fn after_radio_header(mut rest: Unparsed<'_>, header_bytes: u32) -> Result<Layer<'_>, Skip> {
    let header_bytes = usize::try_from(header_bytes).unwrap_or(usize::MAX);
    rest.skip(header_bytes).ok_or(Skip::TruncatedLink)?;
    ieee80211(rest)
}

/// The frame after a PPI header (AirPcap, Kismet), which contains its link type. Only the link types
/// that occur in practice are parsed: a PPI header that names PPI again must not be followed.
pub fn ppi(mut rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    let [_version, _flags, length0, length1, link_type0, link_type1, _, _] =
        rest.chunk_at(0).ok_or(Skip::TruncatedLink)?;
    let header_bytes = u16::from_le_bytes([length0, length1]).into();
    rest.skip(header_bytes).ok_or(Skip::TruncatedLink)?;
    match LinkType(u16::from_le_bytes([link_type0, link_type1])) {
        LinkType::IEEE802_11 => ieee80211(rest),
        LinkType::ETHERNET => Ok(Layer::Ethernet(rest)),
        _ => Err(Skip::UnsupportedLinkType),
    }
}
