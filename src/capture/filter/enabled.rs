//! The filter proper: one compiled program per link type.

use pcap::{BpfProgram, Capture, Linktype};

use super::FilterError;
use crate::capture::LinkType;

/// Keeps frames that match an expression.
pub struct Filter {
    expression: String,
    /// `None` for a link type on which the expression makes no sense: nothing matches there.
    programs: Vec<(LinkType, Option<BpfProgram>)>,
}

impl Filter {
    /// Compiles `expression`, as a check, for Ethernet; other link types follow as they are met.
    pub fn new(expression: &str) -> Result<Filter, FilterError> {
        let wrong =
            |message| FilterError::Expression { expression: expression.to_owned(), message };
        let ethernet = compile(expression, LinkType::ETHERNET).map_err(wrong)?;
        let programs = vec![(LinkType::ETHERNET, Some(ethernet))];
        Ok(Filter { expression: expression.to_owned(), programs })
    }

    /// Whether the expression matches a frame.
    pub fn keeps(&mut self, link_type: LinkType, bytes: &[u8]) -> bool {
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

/// libpcap's own number of a link type: the same as in files but for raw IP.
fn dlt(link_type: LinkType) -> Linktype {
    match link_type {
        LinkType::RAW | LinkType::RAW_OPENBSD => Linktype(i32::from(LinkType::RAW_BSD.0)),
        LinkType(number) => Linktype(i32::from(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn follows_each_frames_link_type() {
        let ethernet: Vec<u8> = [0; 12].into_iter().chain([8, 0]).chain(PACKET).collect();
        let mut filter = Filter::new("tcp dst port 80").unwrap();
        assert!(filter.keeps(LinkType::RAW, &PACKET));
        assert!(filter.keeps(LinkType::ETHERNET, &ethernet));
        let mut other = Filter::new("tcp dst port 81").unwrap();
        assert!(!other.keeps(LinkType::RAW, &PACKET));
    }

    #[test]
    fn refuses_what_libpcap_refuses() {
        let error = Filter::new("tcp prot 80").err().unwrap().to_string();
        assert!(error.contains("tcp prot 80") && error.contains("tcpdump"), "{error}");
    }
}
