//! What a filter expression would miss unawares.
//!
//! `tcp` means "TCP right behind an IP header right behind Ethernet": behind a VLAN tag, or behind
//! an IPv6 extension header, the same segment does not match. An expression that looks at such
//! things and lets neither through may be meant so; mostly it is not.

use super::super::BlindSpot;
use crate::capture::{Filter, LinkType};

/// Words that look behind the Ethernet header, where a VLAN tag moves everything.
const BEHIND_ETHERNET: &[&str] =
    &["tcp", "port", "portrange", "host", "net", "ip", "ip6", "src", "dst"];
/// Words that look for TCP where IPv6 extension headers may stand.
const BEHIND_IPV6: &[&str] = &["tcp", "port", "portrange"];

/// What `expression` would miss though its author may not know.
pub fn blind_spots(expression: &str) -> Vec<BlindSpot> {
    let Ok(mut filter) = Filter::new(expression) else { return Vec::new() };
    let mut words: Vec<&str> = expression
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    // `ether host` looks at the Ethernet header itself.
    while let Some(at) = words.windows(2).position(|pair| pair[0] == "ether") {
        words.drain(at..at + 2);
    }
    let says = |asked: &[&str]| asked.iter().any(|word| words.contains(word));
    let mut misses = |frame: &[u8]| !filter.keeps(LinkType::ETHERNET, frame);
    let mut spots = Vec::new();
    if says(BEHIND_ETHERNET) && !says(&["vlan"]) && misses(&tagged()) {
        spots.push(BlindSpot::Vlan);
    }
    let only_ipv4 = words.contains(&"ip") && !words.contains(&"ip6");
    if says(BEHIND_IPV6) && !only_ipv4 && !says(&["protochain"]) && misses(&extended()) {
        spots.push(BlindSpot::Ipv6Extensions);
    }
    spots
}

/// Ethernet, VLAN 5, IPv4, TCP: from port 1024 to port 1024 of nowhere.
fn tagged() -> Vec<u8> {
    let mut frame = vec![0; 12 + 4 + 2 + 20 + 20];
    frame[12..18].copy_from_slice(&[0x81, 0, 0, 5, 8, 0]);
    frame[18] = 0x45;
    frame[18 + 9] = 6;
    frame[38] = 4;
    frame[40] = 4;
    frame
}

/// Ethernet, IPv6, hop-by-hop options, TCP.
fn extended() -> Vec<u8> {
    let mut frame = vec![0; 14 + 40 + 8 + 20];
    frame[12..14].copy_from_slice(&[0x86, 0xdd]);
    frame[14] = 0x60;
    frame[54] = 6;
    frame[62] = 4;
    frame[64] = 4;
    frame
}

#[cfg(test)]
mod tests {
    use super::BlindSpot::{Ipv6Extensions, Vlan};
    use super::*;

    #[test]
    fn what_expressions_miss() {
        for (expression, missed) in [
            ("tcp", &[Vlan, Ipv6Extensions][..]),
            ("tcp port 443", &[Vlan, Ipv6Extensions]),
            ("host 192.0.2.1", &[Vlan]),
            ("ip and tcp", &[Vlan]),
            ("ip6 or tcp or (vlan and tcp)", &[]),
            ("tcp or ip6 protochain 6", &[Vlan]),
            ("ip or ip6", &[Vlan]),
            ("not port 22", &[]),
            ("ether host 00:00:5e:00:53:01", &[]),
            ("no expression", &[]),
        ] {
            assert_eq!(blind_spots(expression), missed, "{expression}");
        }
    }
}
