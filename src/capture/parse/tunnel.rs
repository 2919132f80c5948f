//! Tunnels, opened by IP protocol number or UDP port: IP in IP, GRE (with ERSPAN and WCCP), EtherIP,
//! MPLS in IP, VXLAN, Geneve, GTP-U, Teredo. Everything else that IP carries has a skip reason.

use super::ParseOptions;
use super::layer::{Layer, Transport, Unparsed};
use super::link::ethertype;
use super::skip::Skip;
use super::tcp;

/// IP protocol numbers, as IANA names them.
mod protocol {
    pub const ICMP: u8 = 1;
    pub const IPV4: u8 = 4;
    pub const UDP: u8 = 17;
    pub const IPV6: u8 = 41;
    pub const GRE: u8 = 47;
    pub const ESP: u8 = 50;
    pub const IPV6_ICMP: u8 = 58;
    pub const ETHERIP: u8 = 97;
    pub const MPLS_IN_IP: u8 = 137;
}

/// The first layer inside a tunnel, or why the packet is skipped.
pub(super) fn open(transport: Transport<'_>, options: ParseOptions) -> Result<Layer<'_>, Skip> {
    let Transport { protocol, mut rest, .. } = transport;
    match protocol {
        protocol::ICMP => Err(tcp::icmp_reason(rest)),
        protocol::IPV6_ICMP => Err(tcp::icmpv6_reason(rest)),
        protocol::ESP => Err(Skip::Esp),
        protocol::UDP if options.no_tunnels => Err(Skip::Udp),
        protocol::UDP => udp(rest),
        protocol::IPV4
        | protocol::IPV6
        | protocol::GRE
        | protocol::ETHERIP
        | protocol::MPLS_IN_IP
            if options.no_tunnels =>
        {
            Err(Skip::Tunnel)
        }
        protocol::IPV4 => Ok(Layer::Ipv4(rest)),
        protocol::IPV6 => Ok(Layer::Ipv6(rest)),
        protocol::GRE => gre(rest),
        protocol::ETHERIP => {
            rest.skip(2).ok_or(Skip::TruncatedTunnel)?;
            Ok(Layer::Ethernet(rest))
        }
        protocol::MPLS_IN_IP => Ok(Layer::Mpls(rest)),
        _ => Err(Skip::OtherProtocol),
    }
}

const GRE_CHECKSUM: u16 = 0x8000;
const GRE_ROUTING: u16 = 0x4000;
const GRE_KEY: u16 = 0x2000;
const GRE_SEQUENCE: u16 = 0x1000;
const GRE_ACKNOWLEDGEMENT: u16 = 0x0080;
const GRE_VERSION: u16 = 0x0007;

/// Protocol types that are not EtherTypes.
const ERSPAN_II: u16 = 0x88be;
const ERSPAN_III: u16 = 0x22eb;
const WCCP: u16 = 0x883e;

/// GRE: plain (RFC 2784, 2890, 1701) and the version 1 of PPTP (RFC 2637).
fn gre(mut rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    let flags = rest.take_u16().ok_or(Skip::TruncatedTunnel)?;
    let protocol = rest.take_u16().ok_or(Skip::TruncatedTunnel)?;
    match flags & GRE_VERSION {
        0 => skip_gre_options(flags, &mut rest),
        1 => skip_pptp_options(flags, &mut rest),
        _ => return Err(Skip::OtherProtocol),
    }
    .ok_or(Skip::TruncatedTunnel)?;
    match protocol {
        ERSPAN_II if flags & GRE_SEQUENCE == 0 => Ok(Layer::Ethernet(rest)), // type I: no header
        ERSPAN_II | ERSPAN_III => erspan(rest),
        WCCP => wccp(rest),
        0..=0x05ff => Err(Skip::NotIp), // keep-alives and the like, never a length
        ethertype => Ok(Layer::EtherType(ethertype, rest)),
    }
}

fn skip_gre_options(flags: u16, rest: &mut Unparsed<'_>) -> Option<()> {
    for (flag, bytes) in [(GRE_CHECKSUM | GRE_ROUTING, 4), (GRE_KEY, 4), (GRE_SEQUENCE, 4)] {
        if flags & flag != 0 {
            rest.skip(bytes)?;
        }
    }
    if flags & GRE_ROUTING != 0 {
        skip_source_routes(rest)?;
    }
    Some(())
}

/// Source route entries (RFC 1701), up to an empty one.
fn skip_source_routes(rest: &mut Unparsed<'_>) -> Option<()> {
    loop {
        let [family0, family1, _offset, length] = rest.take::<4>()?;
        if [family0, family1, length] == [0; 3] {
            return Some(());
        }
        rest.skip(length.into())?;
    }
}

/// PPTP: the key field is always there, and its first half is the payload's length.
fn skip_pptp_options(flags: u16, rest: &mut Unparsed<'_>) -> Option<()> {
    let [length0, length1, _, _] = rest.take::<4>()?;
    for flag in [GRE_SEQUENCE, GRE_ACKNOWLEDGEMENT] {
        if flags & flag != 0 {
            rest.skip(4)?;
        }
    }
    rest.shorten_to(u16::from_be_bytes([length0, length1]).into());
    Some(())
}

/// ERSPAN types II and III: a mirrored Ethernet frame after 8 or 12 bytes, and 8 more where the
/// type III header says so.
fn erspan(mut rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
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
fn wccp(mut rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    let is_version_1 = rest.u8_at(0).ok_or(Skip::TruncatedTunnel)? >> 4 == 4;
    if !is_version_1 {
        rest.skip(4).ok_or(Skip::TruncatedTunnel)?;
    }
    Ok(Layer::EtherType(ethertype::IPV4, rest))
}

/// UDP ports of tunnels.
mod port {
    pub const GTP_U: u16 = 2152;
    pub const TEREDO: u16 = 3544;
    pub const VXLAN: u16 = 4789;
    pub const VXLAN_GPE: u16 = 4790;
    pub const GENEVE: u16 = 6081;
    /// Used by Linux before IANA assigned a port.
    pub const VXLAN_OLD_LINUX: u16 = 8472;
}

const UDP_HEADER_BYTES: u16 = 8;

/// The layer inside a UDP tunnel; [`Skip::Udp`] if this is something else.
fn udp(mut rest: Unparsed<'_>) -> Result<Layer<'_>, Skip> {
    let [src_port, dst_port, length] = ports_and_length(&mut rest).ok_or(Skip::Udp)?;
    if let Some(payload_bytes) = length.checked_sub(UDP_HEADER_BYTES) {
        rest.shorten_to(payload_bytes.into());
    }
    // Packets go to a tunnel's port; those of Teredo servers and relays come from it.
    at_port(dst_port, rest).or_else(|| at_port(src_port, rest)).ok_or(Skip::Udp)
}

fn ports_and_length(rest: &mut Unparsed<'_>) -> Option<[u16; 3]> {
    let [s0, s1, d0, d1, l0, l1, _, _] = rest.take::<8>()?;
    Some([[s0, s1], [d0, d1], [l0, l1]].map(u16::from_be_bytes))
}

/// Opens the tunnel of `port`; `None` if there is none, or if the payload is not one of its packets
/// (any program may use a port).
fn at_port(port: u16, rest: Unparsed<'_>) -> Option<Layer<'_>> {
    match port {
        port::VXLAN | port::VXLAN_OLD_LINUX => vxlan(rest),
        port::VXLAN_GPE => vxlan_gpe(rest),
        port::GENEVE => geneve(rest),
        port::GTP_U => gtp_u(rest),
        port::TEREDO => teredo(rest),
        _ => None,
    }
}

/// Flag of every VXLAN data packet: the network identifier is valid.
const VXLAN_VALID_VNI: u8 = 0x08;

/// VXLAN (RFC 7348): an Ethernet frame.
fn vxlan(mut rest: Unparsed<'_>) -> Option<Layer<'_>> {
    let [flags, ..] = rest.take::<8>()?;
    (flags & VXLAN_VALID_VNI != 0).then_some(Layer::Ethernet(rest))
}

/// VXLAN generic protocol extension: the protocol that its next-protocol byte names.
fn vxlan_gpe(mut rest: Unparsed<'_>) -> Option<Layer<'_>> {
    const VALID_PROTOCOL: u8 = 0x04;
    let [flags, _, _, protocol, ..] = rest.take::<8>()?;
    if flags & VALID_PROTOCOL == 0 {
        return (flags & VXLAN_VALID_VNI != 0).then_some(Layer::Ethernet(rest));
    }
    match protocol {
        1 => Some(Layer::Ipv4(rest)),
        2 => Some(Layer::Ipv6(rest)),
        3 => Some(Layer::Ethernet(rest)),
        5 => Some(Layer::Mpls(rest)),
        _ => None,
    }
}

/// Geneve (RFC 8926): the protocol that its type names, after the options; mostly Ethernet.
fn geneve(mut rest: Unparsed<'_>) -> Option<Layer<'_>> {
    let [version_length, _, protocol0, protocol1, ..] = rest.take::<8>()?;
    if version_length >> 6 != 0 {
        return None;
    }
    rest.skip(4 * usize::from(version_length & 0x3f))?;
    Some(Layer::EtherType(u16::from_be_bytes([protocol0, protocol1]), rest))
}

/// Version 1 of GTP (not GTP'), and the bits that hold it.
const GTP_VERSION_1: u8 = 0x30;
const GTP_VERSION_MASK: u8 = 0xf0;

/// The GTP message type of user data.
const GTP_G_PDU: u8 = 0xff;

/// Extension header, sequence number or N-PDU number: any of them adds four bytes.
const GTP_HAS_OPTIONS: u8 = 0x07;
const GTP_HAS_EXTENSION: u8 = 0x04;

/// GTP-U, user data of mobile networks (3GPP TS 29.281): the IP packet or PPP frame of a G-PDU.
fn gtp_u(mut rest: Unparsed<'_>) -> Option<Layer<'_>> {
    let [flags, message, length0, length1, ..] = rest.take::<8>()?;
    if flags & GTP_VERSION_MASK != GTP_VERSION_1 || message != GTP_G_PDU {
        return None;
    }
    rest.shorten_to(u16::from_be_bytes([length0, length1]).into());
    if flags & GTP_HAS_OPTIONS != 0 {
        let [_, _, _, extension] = rest.take::<4>()?;
        if flags & GTP_HAS_EXTENSION != 0 {
            skip_gtp_extensions(extension, &mut rest)?;
        }
    }
    match rest.u8_at(0)? >> 4 {
        4 | 6 => Some(Layer::Ip(rest)),
        0xf => Some(Layer::Ppp(rest)),
        _ => None,
    }
}

/// Extension headers: a length in words first, the type of the next one last; type 0 ends them.
fn skip_gtp_extensions(mut extension: u8, rest: &mut Unparsed<'_>) -> Option<()> {
    while extension != 0 {
        let bytes = 4 * usize::from(rest.u8_at(0)?);
        extension = rest.u8_at(bytes.checked_sub(1)?)?;
        rest.skip(bytes)?;
    }
    Some(())
}

const TEREDO_AUTHENTICATION: [u8; 2] = [0, 1];
const TEREDO_ORIGIN: [u8; 2] = [0, 0];

/// Indicator, obfuscated port and address.
const TEREDO_ORIGIN_BYTES: usize = 8;

/// Nonce and confirmation, which end the authentication header.
const TEREDO_NONCE_BYTES: usize = 9;

/// Teredo (RFC 4380): the IPv6 packet after the authentication and origin headers.
fn teredo(mut rest: Unparsed<'_>) -> Option<Layer<'_>> {
    if rest.chunk_at(0)? == TEREDO_AUTHENTICATION {
        let [_, _, id_bytes, authentication_bytes] = rest.take::<4>()?;
        rest.skip(usize::from(id_bytes) + usize::from(authentication_bytes) + TEREDO_NONCE_BYTES)?;
    }
    if rest.chunk_at(0)? == TEREDO_ORIGIN {
        rest.skip(TEREDO_ORIGIN_BYTES)?;
    }
    (rest.u8_at(0)? >> 4 == 6).then_some(Layer::Ipv6(rest))
}
