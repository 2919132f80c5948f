//! The last sequence of each client.

use super::SlabError;
use crate::snapshot::{COUNT_LIMIT, Decoder, Encoder, SnapshotError};

/// How many clients a slab remembers.
pub const CLIENTS: usize = 64;

/// Which batch of which client a write is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// The id of the client, not 0.
    pub client: u64,
    /// The number of the batch: 1, 2, 3 … for each slab and client.
    pub sequence: u64,
}

/// An entry of the table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Client {
    /// Its id; 0 if the entry is not used.
    pub id: u64,
    /// The sequence of the last batch that was applied.
    pub sequence: u64,
    /// The number of the write that this batch was, among all writes with a sequence.
    last_write: u64,
}

/// The table: the clients that have written last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClientTable {
    /// Writes with a sequence so far: what idleness is measured in.
    writes: u64,
    /// The highest id that was evicted; 0 if none was.
    evicted: u64,
    entries: [Client; CLIENTS],
}

impl ClientTable {
    pub(super) const BYTES: usize = 8 * (2 + 3 * CLIENTS);
    pub(super) const EMPTY: ClientTable = ClientTable {
        writes: 0,
        evicted: 0,
        entries: [Client { id: 0, sequence: 0, last_write: 0 }; CLIENTS],
    };

    pub(super) fn encode(&self, out: &mut Encoder<'_>) {
        out.u64(self.writes);
        out.u64(self.evicted);
        for Client { id, sequence, last_write } in self.entries {
            [id, sequence, last_write].into_iter().for_each(|number| out.u64(number));
        }
    }

    pub(super) fn decode(input: &mut Decoder<'_>) -> Result<ClientTable, SnapshotError> {
        let writes = input.count("the number of writes")?;
        let mut table = ClientTable { writes, evicted: input.u64()?, ..Self::EMPTY };
        for entry in &mut table.entries {
            let (id, sequence) = (input.u64()?, input.u64()?);
            *entry = Client { id, sequence, last_write: input.u64()? };
        }
        Ok(table)
    }

    /// The highest id that was evicted; 0 if none was.
    pub(super) fn evicted(&self) -> u64 {
        self.evicted
    }

    /// The clients, the longest idle first.
    pub(super) fn clients(&self) -> Vec<Client> {
        let mut used: Vec<Client> =
            self.entries.iter().copied().filter(|client| client.id != 0).collect();
        used.sort_by_key(|client| client.last_write);
        used
    }

    /// The sequence of a client's last batch; 0 if the client is not known.
    pub(super) fn last_sequence(&self, client: u64) -> u64 {
        self.place_of(client).map_or(0, |at| self.entries[at].sequence)
    }

    /// Enters a batch. Returns whether it has to be applied: else it is a repeat.
    pub(super) fn enter(&mut self, batch: Batch) -> Result<bool, SlabError> {
        let Batch { client, sequence } = batch;
        let place = self.place_of(client).filter(|_| client != 0);
        if place.is_none() && client <= self.evicted {
            return Err(SlabError::Evicted { client, highest: self.evicted });
        }
        let last = place.map_or(0, |at| self.entries[at].sequence);
        if sequence <= last {
            return Ok(false);
        }
        let next = last.saturating_add(1);
        if sequence != next {
            return Err(SlabError::Gap { client, next, given: sequence });
        }
        let at = place.unwrap_or_else(|| self.longest_idle());
        let old = self.entries[at];
        if old.id != client {
            self.evicted = self.evicted.max(old.id);
        }
        self.writes = (self.writes + 1).min(COUNT_LIMIT - 1);
        self.entries[at] = Client { id: client, sequence, last_write: self.writes };
        Ok(true)
    }

    fn place_of(&self, client: u64) -> Option<usize> {
        self.entries.iter().position(|entry| entry.id == client)
    }

    /// An entry that is not used, or that of the client that has been idle the longest.
    fn longest_idle(&self) -> usize {
        let idle = self.entries.iter().enumerate().min_by_key(|(_, entry)| match entry.id {
            0 => 0,
            _ => entry.last_write.max(1),
        });
        idle.map_or(0, |(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Random;
    use std::collections::HashMap;

    fn enter(table: &mut ClientTable, client: u64, sequence: u64) -> Result<bool, String> {
        table.enter(Batch { client, sequence }).map_err(|error| error.to_string())
    }

    #[test]
    fn repeats_are_ignored_and_gaps_refused() {
        let table = &mut ClientTable::EMPTY.clone();
        assert_eq!(enter(table, 7, 1), Ok(true));
        assert_eq!(enter(table, 7, 2), Ok(true));
        assert_eq!(enter(table, 7, 2), Ok(false));
        assert_eq!(enter(table, 7, 1), Ok(false));
        assert_eq!(enter(table, 7, 0), Ok(false));
        let before = table.clone();
        assert_eq!(enter(table, 7, 4), Err("3 is the next batch of client 7, not 4".to_owned()));
        assert_eq!(enter(table, 8, 2), Err("1 is the next batch of client 8, not 2".to_owned()));
        assert_eq!(*table, before);
        assert_eq!((table.last_sequence(7), table.last_sequence(8)), (2, 0));
    }

    #[test]
    fn the_longest_idle_is_evicted_and_does_not_come_back() {
        let table = &mut ClientTable::EMPTY.clone();
        for client in 1..=CLIENTS as u64 {
            assert_eq!(enter(table, client, 1), Ok(true));
        }
        assert_eq!(enter(table, 1, 2), Ok(true));
        assert_eq!((table.evicted(), table.clients()[0].id), (0, 2));
        assert_eq!(enter(table, 100, 1), Ok(true));
        assert_eq!((table.evicted(), table.last_sequence(2)), (2, 0));
        for sequence in 1..4 {
            assert!(enter(table, 2, sequence).unwrap_err().starts_with("2 is the highest id"));
        }
        // Those that are known are not concerned, nor are higher ids.
        assert_eq!(enter(table, 1, 3), Ok(true));
        assert_eq!(enter(table, 101, 1), Ok(true));
        assert_eq!(table.evicted(), 3);
    }

    /// Whatever is sent, no batch of a client is applied twice, or before another.
    #[test]
    fn batches_are_applied_once_and_in_order() {
        let mut random = Random::new(3);
        let table = &mut ClientTable::EMPTY.clone();
        let mut applied: HashMap<u64, u64> = HashMap::new();
        let mut evictions = 0;
        for _ in 0..100_000 {
            let client = 1 + random.below(100);
            let last = applied.get(&client).copied().unwrap_or(0);
            let sequence = (last + random.below(4)).saturating_sub(1);
            match table.enter(Batch { client, sequence }) {
                Ok(true) => {
                    assert_eq!(sequence, last + 1);
                    applied.insert(client, sequence);
                }
                Ok(false) => assert!(sequence <= last),
                Err(SlabError::Gap { next, .. }) => assert_eq!(next, last + 1),
                Err(_) => evictions += 1,
            }
        }
        assert!(evictions > 100, "{evictions}");
    }
}
