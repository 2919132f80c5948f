//! Snapshots: a container of typed sections in which structures are saved.
//!
//! # Properties
//!
//! * A snapshot is a header, sections and an end. A section has a [kind](SectionKind), a length and a
//!   checksum (CRC-32C); numbers are little-endian. The container knows nothing of what is in sections:
//!   each structure [encodes and decodes](Persist) its own.
//! * Loading checks everything: every byte that was changed, left out or added is found, by a checksum or
//!   because the snapshot does not end where it should. A [`SnapshotError`] says what is wrong, and at
//!   which byte.
//! * A length in a header is a claim: memory is taken for bytes that were read, not for bytes that are
//!   announced.
//! * Content with a right checksum may still have been made by an attacker. It is decoded into a structure
//!   that the caller has made, by its own specification; values that would break it are refused.
//! * No files here: a snapshot is written to any [`Write`](std::io::Write) and read from any
//!   [`Read`](std::io::Read), such as `&[u8]`.
//!
//! # Usage
//!
//! ```
//! use acsm_filters::snapshot::{SectionKind, SnapshotReader, SnapshotWriter};
//! use acsm_filters::{Backend, Epoch, Fcf, FlowId, HashKey, Lookup, State, Store, StoreSpec};
//!
//! let spec = StoreSpec { flows: 1000, ..StoreSpec::new(Backend::Fcf, 6) };
//! let make = || Fcf::<true>::new(spec.states, &spec.sizing()?);
//! let mut shard = make()?;
//! let place = shard.locate(FlowId(HashKey::from_seed(1).digest([443])), ());
//! shard.insert(&place, State::FIRST, Epoch(0).stamp());
//!
//! let mut out = SnapshotWriter::new(vec![])?;
//! spec.save(&mut out)?;
//! out.save(SectionKind::STORE, &shard)?;
//! let saved = out.finish()?;
//!
//! // Into a store of the same specification: another one is refused.
//! let mut input = SnapshotReader::new(&saved[..])?;
//! spec.check_saved(&mut input)?;
//! let mut loaded = input.load(SectionKind::STORE, make()?)?;
//! input.finish()?;
//! assert_eq!(loaded.lookup(&place, Epoch(1)).answer, Lookup::Known(State::FIRST));
//!
//! let mut damaged = saved;
//! damaged[100] ^= 1;
//! let mut input = SnapshotReader::new(&damaged[..])?;
//! let error = spec.check_saved(&mut input).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "the content of section SPEC that begins at byte 40 is damaged: its checksum does not match"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Implementation
//!
//! | module | subject |
//! |---|---|
//! | `format`, `kind` | the two headers, as bytes; kinds of sections |
//! | `writer`, `reader` | sections one after another |
//! | `fields` | the numbers in a section |
//! | `in_place` | sections of a snapshot in memory, rewritten where they are |
//! | `crc32c` | the checksum |
//! | `error` | why a snapshot cannot be loaded |
//!
//! The format as a table is in `docs/snapshot.md`.

mod crc32c;
mod error;
mod fields;
mod format;
pub(crate) mod in_place;
mod kind;
mod reader;
mod writer;

pub use crc32c::crc32c;
pub use error::{Part, SnapshotError};
pub(crate) use fields::COUNT_LIMIT;
pub use fields::{Decoder, Encoder};
pub use kind::SectionKind;
pub use reader::{Section, SnapshotReader};
pub use writer::SnapshotWriter;

/// A structure that can be saved in a section of a snapshot, and loaded from it.
///
/// A structure that was saved and loaded answers as the one that was saved, now and after any further
/// operations.
pub trait Persist {
    /// Writes the content of the structure. What follows from its specification is left out.
    fn encode<'a>(&'a self, out: &mut Encoder<'a>);

    /// Replaces the content of the structure, which was made by the specification of the one that was
    /// saved. Content that it cannot have is refused; the structure is not to be used then.
    fn decode(&mut self, input: &mut Decoder<'_>) -> Result<(), SnapshotError>;
}

macro_rules! numbers {
    ($($number:ident)*) => {
        $(impl Persist for $number {
            fn encode<'a>(&'a self, out: &mut Encoder<'a>) {
                out.$number(*self);
            }

            fn decode(&mut self, input: &mut Decoder<'_>) -> Result<(), SnapshotError> {
                *self = input.$number()?;
                Ok(())
            }
        })*
    };
}

// Keys of exact tables.
numbers!(u16 u32 u64);
