//! Captures on disk and on standard input: pcap and pcapng, plain or compressed.
//!
//! ```text
//! inputs → open: bytes → [decoder] → [thread] → BlockBuffer → PcapReader | PcapngReader → FileSource
//! ```
//!
//! - `inputs` turns what the user named (files, directories, `-`) into a list to read in order.
//! - `open` recognises each by content, never by name; `looks_like` says what a stranger is.
//! - `read_ahead` reads large blocks on a thread of its own: pipes, and what `compression` and
//!   `decoder` undo (gzip, zstd, xz, lz4). Plain files are read where they are parsed, in blocks, not
//!   by a memory map: a file that shrinks under one kills the process.
//! - `block_buffer` hands out windows into the blocks.
//! - `pcap`, `pcapng` (with `interface`) find the records.
//! - `source` chains all inputs into one [`FileSource`].
//!
//! Memory is bounded whatever a file claims: a record above [`MAX_CAPTURED_BYTES`] is damage, and
//! a decoder that would need a window above 128 MiB is refused.

mod block_buffer;
mod byte_order;
mod compression;
mod decoder;
mod inputs;
mod interface;
mod looks_like;
mod open;
mod pcap;
mod pcapng;
mod progress;
mod read_ahead;
mod record;
mod source;
mod time_window;
mod zstd_frame;

pub use progress::ReadProgress;
pub use record::MAX_CAPTURED_BYTES;
pub use source::FileSource;
pub use time_window::TimeWindow;
