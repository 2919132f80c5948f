//! A captured frame, and the link type that says which header its bytes begin with.

use std::fmt;

use crate::time::Timestamp;

/// One captured frame, borrowed from the buffer of its source until the next one is read.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// Capture time.
    pub time: Timestamp,
    /// The header that `bytes` begin with.
    pub link_type: LinkType,
    /// Length on the wire, at least `bytes.len()`.
    pub wire_bytes: u32,
    /// The captured bytes: all of the frame, or its beginning (snaplen).
    pub bytes: &'a [u8],
}

/// A `LINKTYPE_` value of a capture file: the header that its frames begin with.
///
/// Only the low 16 bits of the field in the file are the type; readers mask the others off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkType(pub u16);

/// Declares every link type that acsm parses, once: constant, number, name in the registry of
/// <https://www.tcpdump.org/linktypes.html>. Its header is parsed in `parse/link/`.
macro_rules! link_types {
    ($($constant:ident = $number:literal, $name:literal;)*) => {
        #[allow(missing_docs)] // named as the LINKTYPE registry names them
        impl LinkType {
            $(pub const $constant: LinkType = LinkType($number);)*

            /// The registry's name without `LINKTYPE_`, if it is one that acsm knows.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some($name),)*
                    _ => None,
                }
            }
        }
    };
}

link_types! {
    NULL = 0, "NULL";
    ETHERNET = 1, "ETHERNET";
    PPP = 9, "PPP";
    FDDI = 10, "FDDI";
    RAW_BSD = 12, "RAW";
    RAW_OPENBSD = 14, "RAW";
    PPP_HDLC = 50, "PPP_HDLC";
    PPP_ETHER = 51, "PPP_ETHER";
    RAW = 101, "RAW";
    C_HDLC = 104, "C_HDLC";
    IEEE802_11 = 105, "IEEE802_11";
    FRELAY = 107, "FRELAY";
    LOOP = 108, "LOOP";
    LINUX_SLL = 113, "LINUX_SLL";
    IEEE802_11_PRISM = 119, "IEEE802_11_PRISM";
    IEEE802_11_RADIOTAP = 127, "IEEE802_11_RADIOTAP";
    IEEE802_11_AVS = 163, "IEEE802_11_AVS";
    PPP_PPPD = 166, "PPP_PPPD";
    PPI = 192, "PPI";
    PPP_WITH_DIR = 204, "PPP_WITH_DIR";
    IPV4 = 228, "IPV4";
    IPV6 = 229, "IPV6";
    NFLOG = 239, "NFLOG";
    LINUX_SLL2 = 276, "LINUX_SLL2";
}

/// The registry's name, or `LINKTYPE_147` for a type that acsm does not know.
impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "LINKTYPE_{}", self.0),
        }
    }
}
