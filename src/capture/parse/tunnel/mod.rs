//! What IP carries other than TCP: tunnels to open, or the reason to stop.

mod geneve;
mod gre;
mod gtp_u;
mod icmp;
mod teredo;
mod udp;
mod vxlan;

use super::{Layer, ParseOptions, Rest, Skip, Transport, ethertype};

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

/// The first layer inside a tunnel, or why this is none to open.
pub(super) fn next(transport: Transport<'_>, options: ParseOptions) -> Result<Layer<'_>, Skip> {
    let Transport { protocol, mut rest, .. } = transport;
    match protocol {
        protocol::ICMP => Err(icmp::reason(rest)),
        protocol::IPV6_ICMP => Err(icmp::reason_v6(rest)),
        protocol::ESP => Err(Skip::Esp),
        protocol::UDP if options.no_tunnels => Err(Skip::Udp),
        protocol::UDP => udp::next(rest),
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
        protocol::GRE => gre::next(rest),
        protocol::ETHERIP => {
            rest.skip(2).ok_or(Skip::TruncatedTunnel)?;
            Ok(Layer::Ethernet(rest))
        }
        protocol::MPLS_IN_IP => Ok(Layer::Mpls(rest)),
        _ => Err(Skip::OtherProtocol),
    }
}
