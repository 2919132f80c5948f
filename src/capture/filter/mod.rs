//! Filter expressions as tcpdump takes them: compiled by libpcap, run on any frame.
//!
//! libpcap is needed for this alone when files are read; without the feature `live` the filter
//! says how to get it.

#[cfg(not(feature = "live"))]
mod disabled;
#[cfg(feature = "live")]
mod enabled;

#[cfg(not(feature = "live"))]
pub use disabled::Filter;
#[cfg(feature = "live")]
pub use enabled::Filter;

/// Why an expression cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// libpcap does not understand it.
    #[error("--filter `{expression}`: {message}; write it as for tcpdump, such as `tcp port 443`")]
    Expression {
        /// What was asked for.
        expression: String,
        /// What libpcap says.
        message: String,
    },
    /// This acsm was built without libpcap.
    #[error("--filter needs libpcap: build acsm with its default features (`live`)")]
    NotBuilt,
}
