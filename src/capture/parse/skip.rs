//! Why a frame is not counted as a TCP packet.

/// Declares every reason once: variant, stable name, one line for people.
macro_rules! skips {
    ($($variant:ident, $name:literal, $explanation:literal;)*) => {
        /// Why a frame is not counted as a TCP packet. With tunnels opened, the reason is that of
        /// the innermost header reached.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Skip {
            $(#[doc = $explanation] $variant,)*
        }

        impl Skip {
            /// Every reason, from the link layer inwards.
            pub const ALL: [Skip; [$($name),*].len()] = [$(Skip::$variant),*];

            /// The reason's stable name: a key in JSON, a label of metrics.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Skip::$variant => $name,)*
                }
            }

            /// The reason in one line, for people.
            pub const fn explain(self) -> &'static str {
                match self {
                    $(Skip::$variant => $explanation,)*
                }
            }
        }
    };
}

skips! {
    UnsupportedLinkType, "unsupported_link_type", "a link type that acsm does not parse";
    TruncatedLink, "truncated_link", "the capture ends within the link-layer headers";
    WlanNoData, "wlan_no_data", "an 802.11 management, control or null frame";
    WlanProtected, "wlan_protected", "an encrypted 802.11 frame";
    Arp, "arp", "ARP or RARP";
    NotIp, "not_ip", "a network protocol other than IP and ARP";
    TruncatedIp, "truncated_ip", "the capture ends within the IP headers";
    BadIpHeader, "bad_ip_header", "an IP header with a wrong version or an impossible length";
    LaterFragment, "later_fragment", "an IP fragment after the first: it holds no TCP header";
    Udp, "udp", "UDP that is no opened tunnel";
    Icmp, "icmp", "ICMP or ICMPv6";
    TcpInIcmp, "tcp_in_icmp", "an ICMP error that quotes a TCP packet";
    Esp, "esp", "IPsec ESP: encrypted";
    OtherProtocol, "other_protocol", "an IP protocol other than TCP, UDP, ICMP, ESP and tunnels";
    Tunnel, "tunnel", "a tunnel, left closed by --no-tunnels";
    TruncatedTunnel, "truncated_tunnel", "the capture ends within the headers of a tunnel";
    TooManyHeaders, "too_many_headers", "headers nested deeper than any real traffic";
    TruncatedTcp, "truncated_tcp", "the packet or the capture ends before the TCP flags";
    BadTcpHeader, "bad_tcp_header", "a TCP header whose data offset is below 5";
}

/// How often each reason occurred.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct SkipCounts([u64; Skip::ALL.len()]);

impl SkipCounts {
    /// Counts one frame.
    #[inline]
    pub fn add(&mut self, skip: Skip) {
        if let Some(count) = self.0.get_mut(skip as usize) {
            *count += 1;
        }
    }

    /// How often `skip` occurred.
    pub fn count(&self, skip: Skip) -> u64 {
        self.0.get(skip as usize).copied().unwrap_or(0)
    }

    /// The reasons that occurred, in the order of [`Skip::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Skip, u64)> {
        Skip::ALL.into_iter().zip(self.0).filter(|&(_, count)| count > 0)
    }

    /// All frames counted.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Adds the counts of another part of the capture.
    pub fn merge(&mut self, other: &SkipCounts) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_come_back_under_their_reason() {
        let mut counts = SkipCounts::default();
        assert_eq!(counts.iter().next(), None);
        for (times, skip) in Skip::ALL.into_iter().enumerate() {
            (0..times).for_each(|_| counts.add(skip));
        }
        let mut twice = counts;
        twice.merge(&counts);
        for (times, skip) in Skip::ALL.into_iter().enumerate() {
            assert_eq!(twice.count(skip), 2 * times as u64, "{}", skip.name());
        }
        assert_eq!(counts.iter().count(), Skip::ALL.len() - 1, "the first was never counted");
        assert_eq!(twice.total(), 2 * counts.total());
    }

    #[test]
    fn names_are_distinct_snake_case() {
        let names: std::collections::BTreeSet<_> = Skip::ALL.iter().map(|s| s.name()).collect();
        assert_eq!(names.len(), Skip::ALL.len());
        let is_snake = |name: &str| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        assert!(names.iter().all(|name| is_snake(name)));
    }
}
