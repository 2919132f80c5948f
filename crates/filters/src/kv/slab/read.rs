//! Operations that only read.

use super::bytes::{self, HEAD_BYTES};
use super::clients::Client;
use super::{CodesCache, SlabError, work};
use crate::kv::{Answer, KbfMap, KbfParameters};
use crate::line::Line;

/// A slab in borrowed bytes.
pub struct Slab<'a> {
    bytes: &'a [u8],
    pub(super) filter: KbfMap<&'a [Line]>,
}

impl<'a> Slab<'a> {
    /// The slab that `bytes` hold.
    pub fn open(bytes: &'a [u8], codes: &mut CodesCache) -> Result<Self, SlabError> {
        let head = bytes::check(bytes)?;
        let (lines, _) = bytes[HEAD_BYTES..][..head.cell_bytes].as_chunks();
        let codes = codes.codes(&head.parameters)?;
        let filter = KbfMap::in_lines(head.parameters, codes, lines, head.counts)?;
        Ok(Slab { bytes, filter })
    }

    /// What it was created with.
    pub fn parameters(&self) -> &KbfParameters {
        self.filter.parameters()
    }

    /// How many items are in it: those inserted and not deleted.
    pub fn items(&self) -> u64 {
        self.filter.pairs()
    }

    /// Counters that have reached their maximum, where they stay.
    pub fn saturations(&self) -> u64 {
        self.filter.counts().saturations
    }

    /// The sequence of a client's last batch; 0 if the client is not known.
    pub fn last_sequence(&self, client: u64) -> Result<u64, SlabError> {
        let clients = bytes::clients(self.bytes)?;
        Ok(if client == 0 { 0 } else { clients.last_sequence(client) })
    }

    /// The clients, the longest idle first, and the highest id of one that was evicted (0 if none was).
    pub fn clients(&self) -> Result<(Vec<Client>, u64), SlabError> {
        let clients = bytes::clients(self.bytes)?;
        Ok((clients.clients(), clients.evicted()))
    }

    /// QUERY: the value of each item, among those below `below`, given by their digests and in their order.
    /// If decoding them may take too long, no answer is given.
    pub fn query(
        &self,
        below: u32,
        digests: &[u128],
        each: impl FnMut(Answer<u32>),
    ) -> Result<(), SlabError> {
        work::check(&self.filter, below, digests.iter().copied())?;
        self.filter.query_many(digests, below, each);
        Ok(())
    }
}
