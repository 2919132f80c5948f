//! Captures on disk and on standard input: pcap and pcapng, plain or compressed.
//!
//! ```text
//! inputs → open: bytes → [compression] → [read_ahead] → buffer → pcap | pcapng → FileSource
//! ```
//!
//! | file | what |
//! |---|---|
//! | `source` | [`FileSource`]: all inputs, one after the other, as one source |
//! | `inputs` | the list of inputs: files, directories, standard input |
//! | `open` | recognises an input by its first bytes, never by its name |
//! | `unknown_format` | what a file that is not a capture looks like, for the error message |
//! | `compression` | gzip, zstd, xz, lz4 |
//! | `read_ahead` | reading on a separate thread: pipes and compressed files; progress |
//! | `buffer` | the bytes of a capture in large blocks; records, byte order |
//! | `pcap`, `pcapng`, `pcapng_interface` | the formats |
//!
//! Plain files are read by the thread that parses them, in blocks. Memory maps are not used: a file
//! that is truncated while it is mapped kills the process.
//!
//! Memory is bounded whatever a file claims: a record above [`MAX_CAPTURED_BYTES`] is damage, and
//! a compressed file that needs a window above 128 MiB is refused.

mod buffer;
mod compression;
mod inputs;
mod open;
mod pcap;
mod pcapng;
mod pcapng_interface;
mod read_ahead;
mod source;
mod unknown_format;

pub use buffer::MAX_CAPTURED_BYTES;
pub(crate) use read_ahead::CountedInput;
pub use read_ahead::ReadProgress;
pub use source::{FileSource, TimeWindow};
