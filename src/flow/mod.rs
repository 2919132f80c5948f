//! Parsed packets, and the flows they belong to.
//!
//! A [`Packet`] holds the fields that the rest of the program reads. A [`Keyer`] makes its [`FlowKey`],
//! by one of several definitions of a flow ([`FlowKeyKind`]), and from that a [`FlowId`]: a keyed
//! 128-bit digest, computed once. Disjoint bits of it give positions, fingerprints and shards to every
//! store. A [`FlowGroup`] computes the digests of several packets at once.

mod key;
mod saved_key;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

pub use acsm_filters::FlowId;
pub use key::{Direction, FlowGroup, FlowKey, FlowKeyKind, Keyer};

use crate::time::Timestamp;

/// The eight flag bits of a TCP header (the reserved bits and AE are left out).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TcpFlags(pub u8);

#[allow(missing_docs)] // named as RFC 9293 names them
impl TcpFlags {
    pub const FIN: TcpFlags = TcpFlags(0x01);
    pub const SYN: TcpFlags = TcpFlags(0x02);
    pub const RST: TcpFlags = TcpFlags(0x04);
    pub const PSH: TcpFlags = TcpFlags(0x08);
    pub const ACK: TcpFlags = TcpFlags(0x10);
    pub const URG: TcpFlags = TcpFlags(0x20);
    pub const ECE: TcpFlags = TcpFlags(0x40);
    pub const CWR: TcpFlags = TcpFlags(0x80);
    /// Every flag with its name, lowest bit first.
    pub const NAMED: [(TcpFlags, &'static str); 8] = [
        (Self::FIN, "FIN"),
        (Self::SYN, "SYN"),
        (Self::RST, "RST"),
        (Self::PSH, "PSH"),
        (Self::ACK, "ACK"),
        (Self::URG, "URG"),
        (Self::ECE, "ECE"),
        (Self::CWR, "CWR"),
    ];
}

impl TcpFlags {
    /// Whether all of `flags` are set.
    pub const fn has(self, flags: TcpFlags) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Both sets together.
    pub const fn with(self, flags: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 | flags.0)
    }

    /// Whether this opens a connection: SYN without ACK.
    pub const fn is_opening(self) -> bool {
        self.0 & (Self::SYN.0 | Self::ACK.0) == Self::SYN.0
    }

    /// The six flags of RFC 793, without ECE and CWR.
    pub const fn low_six(self) -> TcpFlags {
        TcpFlags(self.0 & 0x3f)
    }
}

/// `SYN+ACK`; `none` when no flag is set.
impl fmt::Display for TcpFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (flag, name) in Self::NAMED {
            if self.has(flag) {
                write!(f, "{separator}{name}")?;
                separator = "+";
            }
        }
        if separator.is_empty() { f.write_str("none") } else { Ok(()) }
    }
}

/// The fields of one TCP segment that a flow monitor needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// When it was captured.
    pub time: Timestamp,
    /// Source address of the IP header that carries the TCP header.
    pub src: IpAddr,
    /// Destination address of the same header (never of a routing header).
    pub dst: IpAddr,
    /// TCP source port.
    pub src_port: u16,
    /// TCP destination port.
    pub dst_port: u16,
    /// TCP flags.
    pub flags: TcpFlags,
    /// VLAN ids, outermost first; 0 = no tag (802.1Q gives id 0 that meaning too).
    pub vlan: [u16; 2],
    /// TCP payload bytes according to the IP header: correct in truncated captures too.
    pub payload_bytes: u32,
    /// Length of the whole frame on the wire.
    pub wire_bytes: u32,
    /// Sequence number plus acknowledgement number, modulo 2^32: the same in both directions of a
    /// connection but for data in flight, and unknown to whoever does not see its packets. Without the
    /// ACK flag it means nothing.
    pub sequence_sum: u32,
}

impl Packet {
    /// A placeholder for slots that are filled later.
    pub const UNSPECIFIED: Packet = Packet {
        time: Timestamp::from_nanos(0),
        src: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        dst: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        src_port: 0,
        dst_port: 0,
        flags: TcpFlags(0),
        vlan: [0; 2],
        payload_bytes: 0,
        wire_bytes: 0,
        sequence_sum: 0,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_written_as_names_joined_by_plus() {
        assert_eq!(TcpFlags::SYN.with(TcpFlags::ACK).to_string(), "SYN+ACK");
        assert_eq!(TcpFlags::default().to_string(), "none");
        assert!(TcpFlags(0xc2).is_opening(), "an ECN-setup SYN opens");
        assert!(!TcpFlags(0x12).is_opening());
    }

    #[test]
    fn the_parts_of_an_id_are_disjoint_and_cover_it() {
        let id = FlowId(u128::from_str_radix("123456789abcdef0fedcba9876543210", 16).unwrap());
        let whole = (id.shard() as u128) << 124
            | u128::from(id.fingerprint()) << 92 & ((1 << 124) - 1)
            | u128::from(id.salt()) << 64
            | u128::from(id.position_bits());
        assert_eq!(whole, id.0);
    }
}
