//! Handmade frames, built from the inside out: `ethernet(IPV4, &ipv4(TCP, &tcp()))`.
//!
//! The IP header that carries TCP goes from 10.1.1.1 to 10.2.2.2, or from fd00::1 to fd00::2;
//! those of tunnels are others, so that a test sees which one was taken.

pub const ETHERTYPE_IPV4: u16 = 0x0800;
pub const ETHERTYPE_IPV6: u16 = 0x86dd;
pub const TCP: u8 = 6;
pub const UDP: u8 = 17;

pub const SRC_PORT: u16 = 4321;
pub const DST_PORT: u16 = 80;
/// SYN and ECE.
pub const FLAGS: u8 = 0x42;
pub const PAYLOAD: &[u8] = b"payload";
pub const SEQUENCE: u32 = 0xffff_fff0;
pub const ACKNOWLEDGEMENT: u32 = 0x0001_0203;

/// Where in a frame that ends with [`tcp`]'s segment the flags byte lies, from the end.
pub const FLAGS_FROM_END: usize = PAYLOAD.len() + 20 - 13;

pub fn concat(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// A TCP segment without options.
pub fn tcp() -> Vec<u8> {
    tcp_with(5, FLAGS)
}

pub fn tcp_with(data_offset: u8, flags: u8) -> Vec<u8> {
    let (src_port, dst_port) = (SRC_PORT.to_be_bytes(), DST_PORT.to_be_bytes());
    let options = vec![1; usize::from(data_offset).saturating_sub(5) * 4];
    let numbers = [SEQUENCE, ACKNOWLEDGEMENT].map(u32::to_be_bytes);
    let fixed = [data_offset << 4, flags, 2, 0, 0, 0, 0, 0];
    concat(&[&src_port, &dst_port, numbers.as_flattened(), &fixed, &options, PAYLOAD])
}

pub fn udp(src_port: u16, dst_port: u16, payload: &[u8]) -> Vec<u8> {
    let length = (8 + payload.len()) as u16;
    let fields = [src_port, dst_port, length, 0].map(u16::to_be_bytes);
    concat(&[fields.as_flattened(), payload])
}

/// The fields of an IPv4 header that tests vary.
#[derive(Debug, Clone)]
pub struct Ipv4 {
    pub protocol: u8,
    pub src: [u8; 4],
    pub dst: [u8; 4],
    /// Flags and fragment offset.
    pub fragment: u16,
    /// A multiple of four bytes.
    pub options: Vec<u8>,
    /// The right one if `None`.
    pub total_length: Option<u16>,
}

impl Ipv4 {
    pub fn new(protocol: u8) -> Self {
        let (src, dst) = ([10, 1, 1, 1], [10, 2, 2, 2]);
        Ipv4 { protocol, src, dst, fragment: 0, options: Vec::new(), total_length: None }
    }

    pub fn build(&self, payload: &[u8]) -> Vec<u8> {
        let header_bytes = 20 + self.options.len();
        let length = self.total_length.unwrap_or((header_bytes + payload.len()) as u16);
        let ([l0, l1], [f0, f1]) = (length.to_be_bytes(), self.fragment.to_be_bytes());
        let version_ihl = 0x40 | (header_bytes / 4) as u8;
        let fixed = [version_ihl, 0, l0, l1, 0, 7, f0, f1, 64, self.protocol, 0, 0];
        concat(&[&fixed, &self.src, &self.dst, &self.options, payload])
    }
}

pub fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    Ipv4::new(protocol).build(payload)
}

/// The IPv4 header of a tunnel.
pub fn outer_ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let header = Ipv4 { src: [192, 0, 2, 1], dst: [192, 0, 2, 2], ..Ipv4::new(protocol) };
    header.build(payload)
}

pub fn ipv6(next_header: u8, payload: &[u8]) -> Vec<u8> {
    ipv6_of_length(next_header, payload.len() as u16, payload)
}

pub fn ipv6_of_length(next_header: u8, length: u16, payload: &[u8]) -> Vec<u8> {
    let [l0, l1] = length.to_be_bytes();
    let address = |last| [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
    let fixed = [0x60, 0, 0, 0, l0, l1, next_header, 64];
    concat(&[&fixed, &address(1), &address(2), payload])
}

/// The IPv6 header of a tunnel.
pub fn outer_ipv6(next_header: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = ipv6(next_header, payload);
    packet[8] = 0x20;
    packet[24] = 0x20;
    packet
}

/// An extension header of 8 · (`words` + 1) bytes, as most of them are.
pub fn extension(next_header: u8, words: u8, payload: &[u8]) -> Vec<u8> {
    let padding = vec![0; 6 + 8 * usize::from(words)];
    concat(&[&[next_header, words], &padding, payload])
}

pub fn fragment_header(next_header: u8, offset_and_more: u16, payload: &[u8]) -> Vec<u8> {
    concat(&[&[next_header, 0], &offset_and_more.to_be_bytes(), &[0, 0, 0, 9], payload])
}

/// An authentication header with a digest of twelve bytes.
pub fn authentication(next_header: u8, payload: &[u8]) -> Vec<u8> {
    concat(&[&[next_header, 4, 0, 0], &[5; 20], payload])
}

pub fn ethernet(ethertype: u16, payload: &[u8]) -> Vec<u8> {
    concat(&[&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2], &ethertype.to_be_bytes(), payload])
}

/// A VLAN tag: what follows the EtherType that announces it.
pub fn vlan(id: u16, ethertype: u16, payload: &[u8]) -> Vec<u8> {
    concat(&[&(0xe000 | id).to_be_bytes(), &ethertype.to_be_bytes(), payload])
}

/// An 802.2 SNAP header with an EtherType.
pub fn snap(ethertype: u16, payload: &[u8]) -> Vec<u8> {
    concat(&[&[0xaa, 0xaa, 3, 0, 0, 0], &ethertype.to_be_bytes(), payload])
}

/// A whole IPv4 packet with TCP.
pub fn ipv4_tcp() -> Vec<u8> {
    ipv4(TCP, &tcp())
}

/// A whole IPv6 packet with TCP.
pub fn ipv6_tcp() -> Vec<u8> {
    ipv6(TCP, &tcp())
}

/// A whole Ethernet frame with IPv4 and TCP.
pub fn ethernet_tcp() -> Vec<u8> {
    ethernet(ETHERTYPE_IPV4, &ipv4_tcp())
}
