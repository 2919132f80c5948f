//! What can go wrong while frames are read from files or captured from interfaces.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::filter::FilterError;

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
    /// The file is not a capture.
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

/// Where a capture is damaged. All frames before that place were read.
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

/// Why an interface cannot be captured from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// This acsm was built without libpcap.
    #[error("live capture needs libpcap: build acsm with its default features (`live`)")]
    NotBuilt,
    /// The system does not let this process capture.
    #[error("no permission to capture on {interface}: it takes CAP_NET_RAW")]
    NotPermitted {
        /// Its name.
        interface: String,
    },
    /// No interface was given.
    #[error("no interface is given; there are: {known}")]
    NoInterface {
        /// The interfaces of this machine.
        known: String,
    },
    /// An interface was given twice.
    #[error("the interface {interface} is given twice")]
    Twice {
        /// Its name.
        interface: String,
    },
    /// There is no such interface.
    #[error("there is no interface {interface}; there are: {known}")]
    NoSuchInterface {
        /// The name that was given.
        interface: String,
        /// The interfaces of this machine.
        known: String,
    },
    /// The interface is down.
    #[error("{interface} is down; bring it up with `ip link set {interface} up`")]
    Down {
        /// Its name.
        interface: String,
    },
    /// The filter expression cannot be used.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// The system does not split the packets of an interface over several threads.
    #[error("cannot split the packets of {interface} over several threads: {message}")]
    NotShared {
        /// Its name.
        interface: String,
        /// The message of the system.
        message: String,
    },
    /// Anything else.
    #[error("cannot capture on {interface}: {message}")]
    Interface {
        /// Its name.
        interface: String,
        /// The message of libpcap.
        message: String,
    },
    /// Waiting for packets failed.
    #[error("cannot wait for packets: {0}")]
    Wait(String),
    /// A capture thread could not be started, or ended.
    #[error("a capture thread ended: {0}")]
    Thread(String),
}

impl LiveError {
    /// Whether the options are at fault, on any machine.
    pub fn is_wrong_usage(&self) -> bool {
        matches!(
            self,
            LiveError::NoInterface { .. } | LiveError::Twice { .. } | LiveError::Filter(_)
        )
    }
}
