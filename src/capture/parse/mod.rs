//! From a captured frame to the TCP header in it.
//!
//! ```text
//! Frame → link layer → network layer → [ tunnel → link or network layer ]… → TCP → Packet
//! ```
//!
//! | file | what |
//! |---|---|
//! | `parser` | [`Parser`], with the fast path for the common headers; [`PacketSlots`], [`FrameCounts`] |
//! | `walk` | the general parser, one header at a time |
//! | `layer` | the layers that `walk` goes through, and the bytes not parsed yet |
//! | `link/` | link types: Ethernet and VLAN tags, MPLS, 802.11, PPP, Linux cooked, … |
//! | `ip` | IPv4 and IPv6: options, extension headers, fragments |
//! | `tunnel` | GRE, VXLAN, Geneve, GTP-U, Teredo, … |
//! | `tcp` | the TCP header |
//! | `skip` | the reasons why a frame is skipped |
//!
//! **What is a packet.** At most one TCP header per frame: that of the outermost IP header which
//! carries TCP directly, if its flags byte was captured and its data offset is at least 5. Checksums
//! are not verified. A first fragment may be a packet, later ones never are, nor is TCP quoted by an
//! ICMP error. VLAN, MPLS, PPPoE and SNAP are link layer, not tunnels. Every other frame has a reason
//! why it is skipped, a [`Skip`].
//!
//! **Why not etherparse.** Its lax API knows fewer headers than captures contain (no 802.11, SLL2,
//! C-HDLC, tunnels by UDP port). It is the oracle of the tests: a property test and a fuzz target
//! check for the same result wherever etherparse knows the headers.
//!
//! **Truncation.** Length fields say where the payload of a header ends, so that the padding of
//! short Ethernet frames is not taken for data. That fewer bytes were captured is normal (a snaplen
//! of 64 bytes) and no reason to skip a packet.

mod ip;
mod layer;
mod link;
mod parser;
mod skip;
mod tcp;
mod tunnel;
mod walk;

pub use parser::{FrameCounts, PacketSlots, Parser};
pub use skip::{Skip, SkipCounts};

/// What a [`Parser`] parses.
#[derive(Debug, Default, Clone, Copy)]
pub struct ParseOptions {
    /// Do not open tunnels: only TCP carried by the outermost IP header is a packet.
    pub no_tunnels: bool,
}
