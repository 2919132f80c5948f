//! Frames from network interfaces, through libpcap.
//!
//! # Properties
//!
//! - Frames come in time order, also from several interfaces and several capture threads: a frame
//!   that an earlier one may still follow is held back for up to a fifth of a second.
//! - Time passes on an idle link, too ([`PacketSource::wait`](super::PacketSource::wait)): flows age
//!   and timeouts end when they are due.
//! - Frames dropped by the kernel are counted ([`LiveCounts`]), beyond the 32 bits of its counters.
//!   No frames are dropped anywhere else.
//! - An interface that goes down and comes up again continues; one that is removed is opened again
//!   when it is back.
//! - Memory is the kernel's buffer and two frames per interface; with several capture threads, this
//!   and about 2 MiB per thread. Nothing is allocated per frame.
//!
//! # Implementation
//!
//! | file | what |
//! |---|---|
//! | `counts` | packets, bytes and drops of each interface |
//! | `enabled/source` | [`LiveSource`]: all interfaces as one source |
//! | `enabled/interface_handle` | a libpcap handle on one interface: opening, reading, reopening |
//! | `enabled/interface_set` | the interfaces that one thread reads: waiting, merging by time |
//! | `enabled/threads` | several capture threads, and merging their frames by time |
//! | `enabled/interfaces` | the list of interfaces, and whether they may be captured from |
//! | `enabled/linux_sockets` | PACKET_FANOUT, and whether offloads merge packets |
//! | `disabled` | the same interface without libpcap: every call is an error |
//!
//! Handles are non-blocking and waited for with `poll`: libpcap's own timeout does not return on an
//! idle link. "Immediate mode" is not used either: it takes the kernel's older ring buffer and wakes
//! up for every packet. So the kernel delivers whole blocks, after a tenth of a second at the
//! latest, or a fiftieth where frames have to be merged with others.

mod counts;
#[cfg(not(all(feature = "live", unix)))]
mod disabled;
#[cfg(all(feature = "live", unix))]
mod enabled;

pub use counts::{InterfaceCounts, LiveCounts};
#[cfg(not(all(feature = "live", unix)))]
pub use disabled::{LiveSource, interfaces};
#[cfg(all(feature = "live", unix))]
pub use enabled::{LiveSource, interfaces};

use std::net::IpAddr;

use crate::time::Timestamp;

/// What to capture, and how.
#[derive(Debug, Clone)]
pub struct LiveOptions {
    /// Names of interfaces; `any` stands for all.
    pub interfaces: Vec<String>,
    /// Whether to ask for frames that are not for this machine.
    pub promiscuous: bool,
    /// The most bytes captured of each frame.
    pub snaplen_bytes: u32,
    /// Size of the kernel's buffer, for each interface and capture thread.
    pub buffer_bytes: u32,
    /// How many threads share every interface; with one, the thread that asks for frames captures.
    pub capture_threads: usize,
    /// A filter expression that the kernel applies.
    pub filter: Option<String>,
    /// The wall clock, which measures how long a link has been idle.
    pub clock: fn() -> Timestamp,
    /// Called when the state of an interface changes.
    pub on_change: fn(Change<'_>),
}

/// A change of the state of an interface.
#[derive(Debug, Clone, Copy)]
pub enum Change<'a> {
    /// It went down or was removed.
    Gone {
        /// Its name.
        interface: &'a str,
        /// The message of libpcap.
        why: &'a str,
    },
    /// It is configured to merge packets as they arrive. Reported once, when it is opened.
    Merging {
        /// Its name.
        interface: &'a str,
        /// The settings, by their names for `ethtool -K`.
        offloads: &'a [&'static str],
    },
    /// It has packets larger than its MTU: the system merges them (GRO, LRO, TSO). Reported once,
    /// unless [`Merging`](Self::Merging) was.
    Merged {
        /// Its name.
        interface: &'a str,
    },
    /// It is open again.
    Back {
        /// Its name.
        interface: &'a str,
    },
}

/// An interface that could be captured from.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Interface {
    /// Its name, as `-i` takes it.
    pub name: String,
    /// A description, where the system has one.
    pub description: Option<String>,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// `up`, `down`, or `no link` (up, but no cable).
    pub state: &'static str,
    /// Whether it is a loopback interface.
    pub loopback: bool,
    /// Whether this process may capture from it.
    pub capture_allowed: bool,
    /// If not, why.
    pub reason: Option<String>,
}
