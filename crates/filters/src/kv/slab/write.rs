//! Operations that write: all checks first, then the cells, then counts and clients.

use super::bytes::{self, HEAD_BYTES};
use super::clients::{Batch, ClientTable};
use super::read::Slab;
use super::{CodesCache, SlabError, work};
use crate::kv::{KbfMap, KbfParameters, Write};
use crate::line::Line;
use crate::snapshot::COUNT_LIMIT;

/// A slab in borrowed bytes that can be changed.
pub struct SlabMut<'a> {
    /// Everything before the cells.
    head: &'a mut [u8],
    filter: KbfMap<&'a mut [Line]>,
}

/// What became of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written<T> {
    /// It was applied, with this result.
    Applied(T),
    /// The batch was applied before; nothing was written.
    Repeat,
}

impl<'a> SlabMut<'a> {
    /// The slab that `bytes` hold.
    pub fn open(bytes: &'a mut [u8], codes: &mut CodesCache) -> Result<Self, SlabError> {
        let found = bytes::check(bytes)?;
        let codes = codes.codes(&found.parameters)?;
        let (head, rest) = bytes.split_at_mut(HEAD_BYTES);
        let (lines, _) = rest[..found.cell_bytes].as_chunks_mut();
        let filter = KbfMap::in_lines(found.parameters, codes, lines, found.counts)?;
        Ok(SlabMut { head, filter })
    }

    /// What it was created with.
    pub fn parameters(&self) -> &KbfParameters {
        self.filter.parameters()
    }

    /// INSERT: adds pairs of an item's digest and its value. Returns how many.
    pub fn insert(
        &mut self,
        batch: Option<Batch>,
        pairs: &[(u128, u32)],
    ) -> Result<Written<u64>, SlabError> {
        self.check_values(pairs)?;
        self.apply(batch, |filter| {
            filter.insert_many(pairs); // their values were checked
            Ok(pairs.len() as u64)
        })
    }

    /// UPDATE: changes the value of each item, one after another. `each` is told what became of it. The old
    /// value is among those below `below`.
    pub fn update(
        &mut self,
        batch: Option<Batch>,
        below: u32,
        pairs: &[(u128, u32)],
        each: impl FnMut(Write),
    ) -> Result<Written<()>, SlabError> {
        self.check_values(pairs)?;
        self.apply(batch, |filter| {
            work::check(filter, below, pairs.iter().map(|(digest, _)| *digest))?;
            filter.update_many(pairs, below, each); // their values were checked
            Ok(())
        })
    }

    /// DELETE: removes items, as [`update`](Self::update) changes them.
    pub fn delete(
        &mut self,
        batch: Option<Batch>,
        below: u32,
        digests: &[u128],
        each: impl FnMut(Write),
    ) -> Result<Written<()>, SlabError> {
        self.apply(batch, |filter| {
            work::check(filter, below, digests.iter().copied())?;
            filter.delete_many(digests, below, each);
            Ok(())
        })
    }

    /// JOIN: adds all pairs of another slab. Returns how many items there are now.
    pub fn join(
        &mut self,
        batch: Option<Batch>,
        other: &Slab<'_>,
    ) -> Result<Written<u64>, SlabError> {
        self.apply(batch, |filter| {
            // Checked before anything is written, and after a repeat or a gap was found.
            filter.check_joinable(other.parameters())?;
            let items = filter.pairs().saturating_add(other.filter.pairs());
            if items >= COUNT_LIMIT {
                return Err(SlabError::TooManyItems { items });
            }
            filter.join(&other.filter)?;
            Ok(filter.pairs())
        })
    }

    fn check_values(&self, pairs: &[(u128, u32)]) -> Result<(), SlabError> {
        let values = self.parameters().values;
        match pairs.iter().find(|(_, value)| *value >= values) {
            None => Ok(()),
            Some(&(_, value)) => Err(SlabError::Value { value, values }),
        }
    }

    /// Applies a batch, unless it is a repeat.
    fn apply<T>(
        &mut self,
        batch: Option<Batch>,
        write: impl FnOnce(&mut KbfMap<&'a mut [Line]>) -> Result<T, SlabError>,
    ) -> Result<Written<T>, SlabError> {
        let clients = match enter(self.head, batch)? {
            Entered::Repeat => return Ok(Written::Repeat),
            Entered::New(clients) => clients,
        };
        let result = write(&mut self.filter)?;
        bytes::write_counts(self.head, self.filter.counts());
        if let Some(clients) = clients {
            bytes::write_clients(self.head, &clients);
        }
        Ok(Written::Applied(result))
    }
}

/// COMPRESS: the slab with the same items in half of the cells.
pub fn compressed(
    bytes: &[u8],
    batch: Option<Batch>,
    codes: &mut CodesCache,
) -> Result<Written<Vec<u8>>, SlabError> {
    let slab = Slab::open(bytes, codes)?;
    let old = *slab.parameters();
    let known = bytes::clients(bytes)?;
    let clients = match enter(bytes, batch)? {
        Entered::Repeat => return Ok(Written::Repeat),
        Entered::New(clients) => clients.unwrap_or(known),
    };
    let half = slab.filter.compressed()?;
    // Without a computation whose last digits another machine may round otherwise.
    let capacity = (old.capacity / 2).max(1);
    let parameters = KbfParameters { capacity, ..*half.parameters() };
    let mut new = bytes::create(&parameters)?;
    new[HEAD_BYTES..][..half.bytes().len()].copy_from_slice(half.bytes());
    bytes::write_all(&mut new, &parameters, half.counts(), &clients);
    Ok(Written::Applied(new))
}

/// A batch in the table of clients, which has not been written back.
#[allow(clippy::large_enum_variant)] // one per operation, and taken apart at once
enum Entered {
    Repeat,
    /// With the table as it will be, if the batch has a sequence.
    New(Option<ClientTable>),
}

fn enter(head: &[u8], batch: Option<Batch>) -> Result<Entered, SlabError> {
    let Some(batch) = batch else { return Ok(Entered::New(None)) };
    let mut clients = bytes::clients(head)?;
    Ok(match clients.enter(batch)? {
        true => Entered::New(Some(clients)),
        false => Entered::Repeat,
    })
}
