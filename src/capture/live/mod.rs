//! Frames from network interfaces, through libpcap.
//!
//! # Properties
//!
//! - Frames come in time order, also from several interfaces and several capture threads: one that
//!   might still be overtaken is held back for up to a fifth of a second.
//! - A silent link gives its time all the same ([`Source::wait`](super::Source::wait)): flows age
//!   and waiting ends when it is due.
//! - What the kernel dropped is counted ([`LiveCounts`]), beyond the 32 bits of its own counters.
//!   Nothing is dropped anywhere else.
//! - An interface that goes down and comes up again goes on; one that is removed is opened again
//!   when it is back.
//! - Memory is the kernel's buffer and two frames an interface, and with several capture threads both
//!   and some 2 MiB for each of them; nothing per frame is allocated.
//!
//! # Implementation
//!
//! | file | what |
//! |---|---|
//! | `enabled/source` | all interfaces as one source |
//! | `enabled/tap` | a handle on one interface: opening, reading, counting, coming back |
//! | `enabled/taps` | the interfaces that one thread reads: waiting, merging |
//! | `enabled/threads`, `enabled/lanes`, `enabled/batch` | several such threads, and merging what they hand over |
//! | `enabled/fanout` | one interface split over several handles by the kernel |
//! | `enabled/interfaces` | which there are, and whether they may be captured from |
//! | `enabled/offloads` | whether the system merges packets before we see them |
//! | `enabled/blind_spots` | what a filter expression would miss unawares |
//! | `disabled` | all of it without libpcap: it says how to get it |
//!
//! Handles are non-blocking and waited for with `poll`: libpcap's own time limit does not return
//! on a silent link. Not in "immediate mode" either, which takes the kernel's older ring buffer and
//! wakes up for every packet; ours hands over whole blocks, after a tenth of a second at the
//! latest, or a fiftieth where frames wait for those of others.

mod counts;
#[cfg(not(all(feature = "live", unix)))]
mod disabled;
#[cfg(all(feature = "live", unix))]
mod enabled;
mod error;

pub use counts::{InterfaceCounts, LiveCounts};
#[cfg(not(all(feature = "live", unix)))]
pub use disabled::{LiveSource, blind_spots, interfaces};
#[cfg(all(feature = "live", unix))]
pub use enabled::{LiveSource, blind_spots, interfaces};
pub use error::LiveError;

use std::net::IpAddr;

use crate::time::Timestamp;

/// What to capture, and how.
#[derive(Debug, Clone)]
pub struct LiveOptions {
    /// Names of interfaces; `any` stands for all.
    pub interfaces: Vec<String>,
    /// Whether to ask for frames that are not for this machine.
    pub promiscuous: bool,
    /// How much of each frame is captured at the most.
    pub snaplen_bytes: u32,
    /// Size of the kernel's buffer, for each interface and capture thread.
    pub buffer_bytes: u32,
    /// How many threads share every interface; with one, whoever asks for frames reads them.
    pub capture_threads: usize,
    /// A filter expression that the kernel applies.
    pub filter: Option<String>,
    /// The wall clock, by which silence is measured.
    pub clock: fn() -> Timestamp,
    /// Is told when an interface goes and comes.
    pub on_change: fn(Change<'_>),
}

/// Something happened to an interface.
#[derive(Debug, Clone, Copy)]
pub enum Change<'a> {
    /// It is gone.
    Gone {
        /// Which.
        interface: &'a str,
        /// What libpcap says.
        why: &'a str,
    },
    /// It is set to merge packets as they arrive. Told once, when it is opened.
    Merging {
        /// Which.
        interface: &'a str,
        /// The settings, by the names that `ethtool -K` takes.
        offloads: &'a [&'static str],
    },
    /// It shows packets larger than it can carry: the system merges them (GRO, LRO, TSO). Told
    /// once, unless it was expected.
    Merged {
        /// Which.
        interface: &'a str,
    },
    /// It is captured from again.
    Back {
        /// Which.
        interface: &'a str,
    },
}

/// An interface that could be captured from.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Interface {
    /// Its name, as `-i` takes it.
    pub name: String,
    /// What it is, where the system says so.
    pub description: Option<String>,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// `up`, `down`, or `no link`: up, but nothing is plugged in.
    pub state: &'static str,
    /// Whether it is the machine talking to itself.
    pub loopback: bool,
    /// Whether this process may capture from it.
    pub capture_allowed: bool,
    /// If not, why.
    pub reason: Option<String>,
}

/// Traffic that a filter expression misses though its author may not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlindSpot {
    /// Frames with a VLAN tag.
    Vlan,
    /// IPv6 packets with extension headers before TCP.
    Ipv6Extensions,
}
