//! Keeping what a source hands out: pcap files, as a ring by size, of all frames or of those that
//! belong to flows with alerts.
//!
//! | file | what |
//! |---|---|
//! | `pcap_ring` | pcap files with nanoseconds, one after the other |
//! | `delay_line` | frames that wait to see whether their flow raises an alert |
//! | `recorder` | which frames are written |
//! | `source` | a source whose frames are recorded as they pass |
//!
//! A disk that is full ends the recording, not the run: [`Recorder::failure`] says so.

mod delay_line;
mod pcap_ring;
mod recorder;
mod source;

pub use pcap_ring::{PcapRing, RingOptions};
pub use recorder::{Recorder, Wanted};
pub use source::Recorded;
