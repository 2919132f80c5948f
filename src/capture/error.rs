//! What can go wrong while frames are read.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::live::LiveError;

/// Why a capture could not be read at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file could not be opened or read.
    #[error("cannot read {path}", path = path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is no capture.
    #[error(
        "{path} is not a capture: it looks like {looks_like}; acsm reads pcap and pcapng, plain or compressed with gzip, zstd, xz or lz4",
        path = path.display()
    )]
    NotACapture {
        /// Which file.
        path: PathBuf,
        /// What its first bytes suggest.
        looks_like: String,
    },
    /// The file is compressed and cannot be decompressed.
    #[error("cannot decompress {path}", path = path.display())]
    Undecodable {
        /// Which file.
        path: PathBuf,
        /// What the decoder said.
        source: io::Error,
    },
    /// Two inputs are standard input.
    #[error("standard input (-) can be read only once")]
    StandardInputTwice,
    /// A directory without captures.
    #[error("{path} holds no capture (pcap or pcapng, plain or compressed)", path = path.display())]
    EmptyDirectory {
        /// Which directory.
        path: PathBuf,
    },
    /// An interface, not a file.
    #[error(transparent)]
    Live(#[from] LiveError),
}

/// Where a capture stopped making sense. All frames before it were handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Which file.
    pub path: PathBuf,
    /// Byte offset in the (decompressed) capture.
    pub offset: u64,
    /// What was found there.
    pub what: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, at byte {}", self.path.display(), self.what, self.offset)
    }
}
