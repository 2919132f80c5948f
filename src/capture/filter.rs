//! Filter expressions as tcpdump takes them: compiled by libpcap, run on any frame.
//!
//! Reading files needs libpcap for this alone. Without the feature `live` there is no filter:
//! [`Filter::new`] returns [`FilterError::NotBuilt`].

#[cfg(not(feature = "live"))]
pub use disabled::{Filter, missed_traffic};
#[cfg(feature = "live")]
pub use enabled::{Filter, missed_traffic};

/// Why an expression cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// libpcap does not understand it.
    #[error("cannot compile the filter `{expression}`: {message}")]
    Expression {
        /// The expression.
        expression: String,
        /// The message of libpcap.
        message: String,
    },
    /// This acsm was built without libpcap.
    #[error("filters need libpcap, which this program was built without")]
    NotBuilt,
}

/// Traffic that a filter expression misses, probably without its author knowing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissedTraffic {
    /// Frames with a VLAN tag.
    Vlan,
    /// IPv6 packets with extension headers before TCP.
    Ipv6Extensions,
}

#[cfg(feature = "live")]
mod enabled {
    use pcap::{BpfProgram, Capture, Linktype};

    use super::{FilterError, MissedTraffic};
    use crate::capture::LinkType;

    /// A filter expression, compiled for each link type that it is used on.
    pub struct Filter {
        expression: String,
        /// `None` for a link type that the expression cannot be compiled for: nothing matches.
        programs: Vec<(LinkType, Option<BpfProgram>)>,
    }

    impl Filter {
        /// Compiles `expression` for Ethernet, as a check; other link types follow when they occur.
        pub fn new(expression: &str) -> Result<Filter, FilterError> {
            let wrong =
                |message| FilterError::Expression { expression: expression.to_owned(), message };
            let ethernet = compile(expression, LinkType::ETHERNET).map_err(wrong)?;
            let programs = vec![(LinkType::ETHERNET, Some(ethernet))];
            Ok(Filter { expression: expression.to_owned(), programs })
        }

        /// Whether the expression matches a frame.
        pub fn matches(&mut self, link_type: LinkType, bytes: &[u8]) -> bool {
            let known = self.programs.iter().position(|(compiled, _)| *compiled == link_type);
            let at = known.unwrap_or_else(|| {
                self.programs.push((link_type, compile(&self.expression, link_type).ok()));
                self.programs.len() - 1
            });
            self.programs[at].1.as_ref().is_some_and(|program| program.filter(bytes))
        }
    }

    fn compile(expression: &str, link_type: LinkType) -> Result<BpfProgram, String> {
        let capture = Capture::dead(dlt(link_type)).map_err(|error| error.to_string())?;
        capture.compile(expression, true).map_err(|error| match error {
            pcap::Error::PcapError(message) => message,
            other => other.to_string(),
        })
    }

    /// libpcap's own number (DLT_) of a link type: the same as in files except for raw IP.
    fn dlt(link_type: LinkType) -> Linktype {
        match link_type {
            LinkType::RAW | LinkType::RAW_OPENBSD => Linktype(i32::from(LinkType::RAW_BSD.0)),
            LinkType(number) => Linktype(i32::from(number)),
        }
    }

    /// Words that refer to headers after Ethernet, which a VLAN tag shifts.
    const AFTER_ETHERNET: &[&str] =
        &["tcp", "port", "portrange", "host", "net", "ip", "ip6", "src", "dst"];
    /// Words that look for TCP directly after IPv6, where extension headers may come first.
    const AFTER_IPV6: &[&str] = &["tcp", "port", "portrange"];

    /// The traffic that `expression` misses, probably without its author knowing.
    ///
    /// `tcp` means "TCP directly after an IP header directly after Ethernet": after a VLAN tag, or
    /// after an IPv6 extension header, the same segment does not match. An expression that looks for
    /// such headers and matches neither case may be meant so; mostly it is not.
    pub fn missed_traffic(expression: &str) -> Vec<MissedTraffic> {
        let Ok(mut filter) = Filter::new(expression) else { return Vec::new() };
        let mut words: Vec<&str> = expression
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        // `ether host` is about the Ethernet header itself.
        while let Some(at) = words.windows(2).position(|pair| pair[0] == "ether") {
            words.drain(at..at + 2);
        }
        let has_any = |asked: &[&str]| asked.iter().any(|word| words.contains(word));
        let mut misses = |frame: &[u8]| !filter.matches(LinkType::ETHERNET, frame);
        let mut missed = Vec::new();
        if has_any(AFTER_ETHERNET) && !has_any(&["vlan"]) && misses(&tagged_frame()) {
            missed.push(MissedTraffic::Vlan);
        }
        let only_ipv4 = words.contains(&"ip") && !words.contains(&"ip6");
        if has_any(AFTER_IPV6)
            && !only_ipv4
            && !has_any(&["protochain"])
            && misses(&frame_with_extension())
        {
            missed.push(MissedTraffic::Ipv6Extensions);
        }
        missed
    }

    /// Ethernet, VLAN 5, IPv4, TCP from port 1024 to port 1024, all addresses 0.
    fn tagged_frame() -> Vec<u8> {
        let mut frame = vec![0; 12 + 4 + 2 + 20 + 20];
        frame[12..18].copy_from_slice(&[0x81, 0, 0, 5, 8, 0]);
        frame[18] = 0x45;
        frame[18 + 9] = 6;
        frame[38] = 4;
        frame[40] = 4;
        frame
    }

    /// Ethernet, IPv6, hop-by-hop options, TCP.
    fn frame_with_extension() -> Vec<u8> {
        let mut frame = vec![0; 14 + 40 + 8 + 20];
        frame[12..14].copy_from_slice(&[0x86, 0xdd]);
        frame[14] = 0x60;
        frame[54] = 6;
        frame[62] = 4;
        frame[64] = 4;
        frame
    }
}

#[cfg(not(feature = "live"))]
mod disabled {
    use super::{FilterError, MissedTraffic};
    use crate::capture::LinkType;

    /// The filter of a build without libpcap: there can be none.
    #[derive(Debug)]
    pub struct Filter(std::convert::Infallible);

    impl Filter {
        /// Always an error: this acsm has no libpcap.
        pub fn new(_expression: &str) -> Result<Filter, FilterError> {
            Err(FilterError::NotBuilt)
        }

        /// Never called: there is no filter to call it on.
        pub fn matches(&mut self, _link_type: LinkType, _bytes: &[u8]) -> bool {
            match self.0 {}
        }
    }

    /// Nothing is known of expressions without libpcap.
    pub fn missed_traffic(_expression: &str) -> Vec<MissedTraffic> {
        Vec::new()
    }
}

#[cfg(test)]
#[cfg(feature = "live")]
mod tests {
    use super::MissedTraffic::{Ipv6Extensions, Vlan};
    use super::*;
    use crate::capture::LinkType;

    /// IPv4, TCP, from port 1000 to port 80.
    const PACKET: [u8; 40] = {
        let mut packet = [0; 40];
        packet[0] = 0x45;
        packet[3] = 40;
        packet[9] = 6;
        [packet[20], packet[21], packet[22], packet[23]] = [3, 232, 0, 80];
        packet[32] = 0x50;
        packet
    };

    #[test]
    fn uses_the_link_type_of_each_frame() {
        let ethernet: Vec<u8> = [0; 12].into_iter().chain([8, 0]).chain(PACKET).collect();
        let mut filter = Filter::new("tcp dst port 80").unwrap();
        assert!(filter.matches(LinkType::RAW, &PACKET));
        assert!(filter.matches(LinkType::ETHERNET, &ethernet));
        let mut other = Filter::new("tcp dst port 81").unwrap();
        assert!(!other.matches(LinkType::RAW, &PACKET));
    }

    #[test]
    fn refuses_what_libpcap_refuses() {
        let error = Filter::new("tcp prot 80").err().unwrap().to_string();
        assert!(error.starts_with("cannot compile the filter `tcp prot 80`: "), "{error}");
    }

    #[test]
    fn traffic_that_expressions_miss() {
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
            assert_eq!(missed_traffic(expression), missed, "{expression}");
        }
    }
}
