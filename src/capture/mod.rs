//! Where packets come from: captures on disk, standard input, network interfaces.
//!
//! ```text
//! file | live → Frame → [filter] → parse → Packet, or the reason why the frame is skipped
//! ```
//!
//! A [`PacketSource`] reads [`Frame`]s, borrowed from its own buffer, and parses them into slots that
//! the caller provides: nothing is copied or allocated per packet.
//!
//! | where | what |
//! |---|---|
//! | `source` | [`PacketSource`], which files and interfaces implement |
//! | `frame` | [`Frame`], [`LinkType`] |
//! | [`mod@file`] | reading pcap and pcapng: decompression, directories, time windows |
//! | [`parse`] | from a frame to its TCP header: link types, IP, tunnels |
//! | [`live`] | capturing from network interfaces with libpcap |
//! | `filter` | BPF expressions, compiled by libpcap |
//! | [`record`] | recording frames as they are read |
//! | `pcap_writer` | writing pcap files: one, or a ring of them |
//! | `error` | [`CaptureError`], [`LiveError`], [`Damage`] |

mod error;
pub mod file;
mod filter;
mod frame;
pub mod live;
pub mod parse;
mod pcap_writer;
pub mod record;
mod source;

pub use error::{CaptureError, Damage, LiveError};
pub use file::{FileSource, TimeWindow};
pub use filter::{Filter, FilterError, MissedTraffic, missed_traffic};
pub use frame::{Frame, LinkType};
pub use live::{LiveOptions, LiveSource};
pub use parse::{FrameCounts, PacketSlots};
pub use pcap_writer::{PcapHeader, PcapRing, PcapWriter, Precision, RingOptions};
pub use source::PacketSource;
