//! GRE: plain (RFC 2784, 2890, 1701), PPTP's version 1 (RFC 2637), and Cisco's ERSPAN in it.

use super::ethertype::number;
use super::{Layer, Rest, Skip};

const CHECKSUM: u16 = 0x8000;
const ROUTING: u16 = 0x4000;
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;
const ACKNOWLEDGEMENT: u16 = 0x0080;
const VERSION: u16 = 0x0007;

/// Protocol types that are no EtherTypes of their own.
const ERSPAN_II: u16 = 0x88be;
const ERSPAN_III: u16 = 0x22eb;
const WCCP: u16 = 0x883e;

/// The layer inside.
pub(super) fn next(mut rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
    let flags = rest.take_u16().ok_or(Skip::TruncatedTunnel)?;
    let protocol = rest.take_u16().ok_or(Skip::TruncatedTunnel)?;
    match flags & VERSION {
        0 => skip_options(flags, &mut rest),
        1 => skip_pptp_options(flags, &mut rest),
        _ => return Err(Skip::OtherProtocol),
    }
    .ok_or(Skip::TruncatedTunnel)?;
    match protocol {
        ERSPAN_II if flags & SEQUENCE == 0 => Ok(Layer::Ethernet(rest)), // type I: no header
        ERSPAN_II | ERSPAN_III => erspan(rest),
        WCCP => wccp(rest),
        0..=0x05ff => Err(Skip::NotIp), // keep-alives and the like, never a length
        ethertype => Ok(Layer::EtherType(ethertype, rest)),
    }
}

fn skip_options(flags: u16, rest: &mut Rest<'_>) -> Option<()> {
    for (flag, bytes) in [(CHECKSUM | ROUTING, 4), (KEY, 4), (SEQUENCE, 4)] {
        if flags & flag != 0 {
            rest.skip(bytes)?;
        }
    }
    if flags & ROUTING != 0 {
        skip_source_routes(rest)?;
    }
    Some(())
}

/// Source route entries (RFC 1701), up to an empty one.
fn skip_source_routes(rest: &mut Rest<'_>) -> Option<()> {
    loop {
        let [family0, family1, _offset, length] = rest.take::<4>()?;
        if [family0, family1, length] == [0; 3] {
            return Some(());
        }
        rest.skip(length.into())?;
    }
}

/// PPTP: the key field is always there, and its first half is the payload's length.
fn skip_pptp_options(flags: u16, rest: &mut Rest<'_>) -> Option<()> {
    let [length0, length1, _, _] = rest.take::<4>()?;
    for flag in [SEQUENCE, ACKNOWLEDGEMENT] {
        if flags & flag != 0 {
            rest.skip(4)?;
        }
    }
    rest.shorten_to(u16::from_be_bytes([length0, length1]).into());
    Some(())
}

/// ERSPAN types II and III: a mirrored Ethernet frame behind 8 or 12 bytes, and 8 more where the
/// type III header says so.
fn erspan(mut rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
    let version = rest.u8_at(0).ok_or(Skip::TruncatedTunnel)? >> 4;
    let header_bytes = match version {
        1 => 8,
        2 if rest.u8_at(11).ok_or(Skip::TruncatedTunnel)? & 1 != 0 => 20,
        2 => 12,
        _ => return Err(Skip::NotIp),
    };
    rest.skip(header_bytes).ok_or(Skip::TruncatedTunnel)?;
    Ok(Layer::Ethernet(rest))
}

/// Web Cache Communication Protocol: version 2 puts four bytes before the IP header.
fn wccp(mut rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
    let is_version_1 = rest.u8_at(0).ok_or(Skip::TruncatedTunnel)? >> 4 == 4;
    if !is_version_1 {
        rest.skip(4).ok_or(Skip::TruncatedTunnel)?;
    }
    Ok(Layer::EtherType(number::IPV4, rest))
}
