//! Why an interface cannot be captured from.

/// Why an interface cannot be captured from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// This acsm was built without libpcap.
    #[error("live capture needs libpcap: build acsm with its default features (`live`)")]
    NotBuilt,
    /// The system does not let this process capture.
    #[error(
        "no permission to capture on {interface}: it takes CAP_NET_RAW. Run as root, or grant it once:\n  \
         sudo setcap cap_net_raw+ep {program}\n\
         or run it as a service that has nothing else: dist/acsm.service (docs/live.md)"
    )]
    NotPermitted {
        /// Which interface.
        interface: String,
        /// The file of this program.
        program: String,
    },
    /// None was asked for.
    #[error("which interface? Say -i with one of: {known}; `acsm interfaces` tells more of them")]
    NoInterface {
        /// Those that there are.
        known: String,
    },
    /// One was asked for twice.
    #[error("-i {interface} is there twice: each of its packets would count as two")]
    Twice {
        /// Which.
        interface: String,
    },
    /// There is no such interface.
    #[error("there is no interface {interface}; there are: {known}")]
    NoSuchInterface {
        /// Which was asked for.
        interface: String,
        /// Those that there are.
        known: String,
    },
    /// The interface is there but down.
    #[error("{interface} is down; bring it up with `ip link set {interface} up`")]
    Down {
        /// Which.
        interface: String,
    },
    /// The filter makes no sense to libpcap.
    #[error("--filter `{expression}`: {message}; write it as for tcpdump, such as `tcp port 443`")]
    Filter {
        /// What was asked for.
        expression: String,
        /// What libpcap says.
        message: String,
    },
    /// The system does not split its packets over several threads.
    #[error(
        "cannot split the packets of {interface} over several threads: {message}; it takes Linux 4.14 \
         or newer (PACKET_FANOUT). Leave --capture-threads out: one thread sees everything too"
    )]
    NotShared {
        /// Which interface.
        interface: String,
        /// What the system says.
        message: String,
    },
    /// Anything else.
    #[error("cannot capture on {interface}: {message}")]
    Interface {
        /// Which interface.
        interface: String,
        /// What libpcap says.
        message: String,
    },
    /// The system would not let us wait.
    #[error("cannot wait for packets: {0}")]
    Wait(String),
    /// A capture thread could not begin, or did not go on.
    #[error("a capture thread ended: {0}")]
    Thread(String),
}

impl LiveError {
    /// Whether it lies in what was asked for, whatever the machine.
    pub fn is_wrong_usage(&self) -> bool {
        matches!(
            self,
            LiveError::NoInterface { .. } | LiveError::Twice { .. } | LiveError::Filter { .. }
        )
    }
}
