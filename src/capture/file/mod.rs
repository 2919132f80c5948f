//! Captures on disk and on standard input: pcap and pcapng, plain or compressed.
//!
//! ```text
//! inputs → open: bytes → [pipe thread] → [decoder thread] → BlockBuffer → PcapReader | PcapngReader → FileSource
//! ```
//!
//! - `inputs` turns what the user named (files, directories, `-`) into a list to read in order.
//! - `open` recognises each by content, never by name; `looks_like` says what a stranger is.
//! - `compression` and `decoder_thread` undo gzip, zstd, xz and lz4 beside the reading thread.
//! - `pipe_thread` waits for the bytes of pipes, so that the reading thread can give up waiting.
//! - `block_buffer` reads large blocks and hands out windows into them. No memory map: a file that
//!   shrinks under one kills the process.
//! - `pcap`, `pcapng` (with `interface`) find the records.
//! - `source` chains all inputs into one [`FileSource`].
//!
//! Memory is bounded whatever a file claims: a record above [`MAX_CAPTURED_BYTES`] is damage, and
//! a decoder that would need a window above 128 MiB is refused.

mod block_buffer;
mod byte_order;
mod compression;
mod decoder_thread;
mod inputs;
mod interface;
mod looks_like;
mod open;
mod pcap;
mod pcapng;
mod pipe_thread;
mod progress;
mod record;
mod source;
mod time_window;
mod zstd_frame;

pub use progress::ReadProgress;
pub use record::MAX_CAPTURED_BYTES;
pub use source::FileSource;
pub use time_window::TimeWindow;
