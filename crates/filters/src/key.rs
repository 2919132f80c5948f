//! The full identity of a flow, which exact tables compare.

use std::net::{IpAddr, Ipv4Addr};

/// The full identity of a flow. Parts that the kind of key leaves out are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // as in [`Packet`]
pub struct FlowKey {
    pub src: IpAddr,
    pub dst: IpAddr,
    pub src_port: u16,
    pub dst_port: u16,
    pub vlan: [u16; 2],
}

impl FlowKey {
    /// The key of no flow: for those who need none.
    pub const UNSPECIFIED: FlowKey = FlowKey {
        src: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        dst: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        src_port: 0,
        dst_port: 0,
        vlan: [0; 2],
    };

    /// The same flow seen from the other end.
    pub const fn reversed(self) -> FlowKey {
        FlowKey {
            src: self.dst,
            dst: self.src,
            src_port: self.dst_port,
            dst_port: self.src_port,
            vlan: self.vlan,
        }
    }

    /// All but the addresses.
    #[inline]
    pub fn rest_bits(&self) -> u64 {
        u64::from(self.src_port) << 48
            | u64::from(self.dst_port) << 32
            | u64::from(self.vlan[0]) << 16
            | u64::from(self.vlan[1])
    }
}
