//! Errors with their codes: the first word of an error reply.

use acsm_filters::kv::KvError;
use acsm_filters::kv::slab::SlabError;
use thiserror::Error;
use valkey_module::ValkeyError;

/// Why a command is refused. Nothing was written.
#[derive(Debug, Error)]
pub enum CommandError {
    #[error("ERR syntax error: {0}")]
    Syntax(String),
    #[error("ERR {0}")]
    Invalid(String),
    #[error("ERR no such key")]
    NoKey,
    #[error("ERR key already exists")]
    KeyExists,
    #[error("WRONGTYPE Operation against a key holding the wrong kind of value")]
    WrongType,
    #[error("KBFNOTSLAB {what} is not a slab: {error}")]
    NotASlab { what: &'static str, error: SlabError },
    #[error("{} {error}", code(.error))]
    Slab { error: SlabError },
    #[error("ERR the server refused: {0}")]
    Server(String),
}

impl CommandError {
    /// The error reply. (The library's conversion of errors would put a further `ERR` in front.)
    pub fn reply(self) -> ValkeyError {
        // The library makes one byte of each character.
        ValkeyError::String(self.to_string().replace(|c: char| !c.is_ascii(), "?"))
    }

    /// An error about the bytes of a slab: those of the key, or those that were given.
    pub fn about(what: &'static str) -> impl Fn(SlabError) -> CommandError {
        move |error| match error {
            // In a slab that exists.
            SlabError::NotASlab(_)
            | SlabError::Parameters
            | SlabError::TooLarge { .. }
            | SlabError::TooManyValues { .. } => CommandError::NotASlab { what, error },
            error => CommandError::Slab { error },
        }
    }
}

impl From<SlabError> for CommandError {
    fn from(error: SlabError) -> CommandError {
        CommandError::Slab { error }
    }
}

impl From<KvError> for CommandError {
    fn from(error: KvError) -> CommandError {
        CommandError::Slab { error: error.into() }
    }
}

impl From<ValkeyError> for CommandError {
    fn from(error: ValkeyError) -> CommandError {
        CommandError::Server(error.to_string())
    }
}

const fn code(error: &SlabError) -> &'static str {
    match error {
        SlabError::Gap { .. } => "KBFGAP",
        SlabError::Evicted { .. } => "KBFEVICTED",
        SlabError::NotASlab(_) | SlabError::Parameters => "KBFNOTSLAB",
        SlabError::TooMuchWork { .. } => "KBFTOOMUCH",
        _ => "ERR",
    }
}
