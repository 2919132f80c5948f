//! Wrong usage that clap cannot see: it exits with 2, like what clap sees.

/// An error in what the user asked for.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Usage(anyhow::Error);

impl Usage {
    /// Says that `error` is the user's to mend.
    pub fn new(error: impl Into<anyhow::Error>) -> Usage {
        Usage(error.into())
    }
}
