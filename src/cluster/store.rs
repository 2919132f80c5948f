//! A store in a cluster: queries, insertions, updates and deletions of many keys at once.

use std::collections::{BTreeMap, HashMap};

use redis::Value;

use super::description::{Description, unreadable};
use super::error::ClusterError;
use super::layout::{Layout, SlabId, description_key, slot_of, values_key};
use super::outbox::{Batch, Operation, Outbox, refusal};
use super::replies::{FilterInfo, answers};
use super::router::{Reply, Request, Router};
use super::values::{Values, wait_for_replica};
use acsm_filters::kv::{Answer, Write};

/// A key as the store knows it: its slab, and the digest that its cells are taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Position {
    /// The slab.
    pub slab: u32,
    /// Under the store's hash key.
    pub digest: u128,
}

/// What is known about a key: the codes that its value can have, and the one filter that can have it.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The codes.
    pub answer: Answer<u32>,
    /// The filter, if it is one.
    pub filter: Option<SlabId>,
}

/// A connection to a store.
pub struct ClusterStore {
    /// Its servers.
    pub router: Router,
    prefix: String,
    description: Description,
    layout: Layout,
    values: Values,
    outbox: Outbox,
    /// Pairs of each filter, as far as is known.
    items: HashMap<SlabId, u64>,
    /// Interruptions of the router up to which the primaries are known to have all batches.
    complete_until: u64,
}

impl ClusterStore {
    /// Makes an empty store.
    pub fn create(
        mut router: Router,
        prefix: &str,
        description: &Description,
    ) -> Result<ClusterStore, ClusterError> {
        let key = description_key(prefix);
        let slot = slot_of(&key);
        match router.run_one(Request::new(slot, redis::cmd("EXISTS").arg(&key)))? {
            Ok(Value::Int(0)) => {}
            Ok(_) => return Err(ClusterError::Exists { prefix: prefix.to_owned() }),
            Err(error) => return Err(ClusterError::Refused { what: key, error }),
        }
        let layout = Layout::new(prefix, description.slabs, description.parameters.hash_key);
        let ids: Vec<SlabId> = description.all_filters().collect();
        let requests: Vec<Request> = ids
            .iter()
            .map(|id| {
                let command = description.create_command(&layout.slab_key(*id));
                Request::new(layout.slot(id.slab), &command)
            })
            .collect();
        for (id, reply) in ids.iter().zip(router.run(&requests)?) {
            reply.map_err(|error| refusal(&layout, *id, error))?;
        }
        // Last, so that a store which is found is complete.
        let saved = router.run_one(Request::new(slot, &description.save_command(prefix)))?;
        saved.map_err(|error| ClusterError::Refused { what: key, error })?;
        for server in 0..router.topology().servers.len() {
            let slots: Option<u16> = router.topology().slots(server).next();
            slots.map_or(Ok(()), |slot| wait_for_replica(&mut router, slot))?;
        }
        ClusterStore::open(router, prefix)
    }

    /// The store with this prefix.
    pub fn open(mut router: Router, prefix: &str) -> Result<ClusterStore, ClusterError> {
        let description = read_description(&mut router, prefix)?;
        let layout = Layout::new(prefix, description.slabs, description.parameters.hash_key);
        let values = Values::new(prefix, description.values_max);
        let (outbox, items, prefix) = (Outbox::default(), HashMap::new(), prefix.to_owned());
        let mut store = ClusterStore {
            complete_until: router.interruptions(),
            router,
            prefix,
            description,
            layout,
            values,
            outbox,
            items,
        };
        store.refresh()?;
        Ok(store)
    }

    /// What it was made with.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Where its parts are.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The values, as last read.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Batches that were sent again after a failover.
    pub fn resent(&self) -> u64 {
        self.outbox.resent
    }

    /// Reads how many values and filters there are now: other clients may have added some.
    pub fn refresh(&mut self) -> Result<(), ClusterError> {
        let requests = [describe_request(&self.prefix), self.values.count_request()];
        let mut replies = self.router.run(&requests)?.into_iter();
        let (Some(fields), Some(count)) = (replies.next(), replies.next()) else {
            return Err(unreadable(&self.prefix));
        };
        self.description = described(&self.prefix, fields)?;
        match count {
            Ok(Value::Int(count)) => self.values.refresh(&mut self.router, count as u32),
            Ok(_) => Err(unreadable(&self.prefix)),
            Err(error) => Err(ClusterError::Refused { what: values_key(&self.prefix), error }),
        }
    }

    /// The position of a key.
    pub fn position(&self, key: &[u8]) -> Position {
        let digest = self.description.parameters.hash_key.digest_bytes(key);
        Position { slab: self.layout.slab_of(key), digest }
    }

    /// The codes of values; new ones get one.
    pub fn codes<'v>(
        &mut self,
        values: impl Iterator<Item = &'v [u8]> + Clone,
    ) -> Result<Vec<u32>, ClusterError> {
        self.values.codes(&mut self.router, values)
    }

    /// QUERY: what is known about keys, in their order, among the values known to this client. All batches
    /// that this client has written are seen, also after a failover.
    pub fn query(&mut self, keys: &[Position]) -> Result<Vec<Found>, ClusterError> {
        loop {
            let found = self.query_once(keys)?;
            let (interruptions, resent) = (self.router.interruptions(), self.outbox.resent);
            if interruptions == self.complete_until {
                return Ok(found);
            }
            // A new primary may lack batches: it has not seen their keys.
            self.outbox.complete_primaries(&mut self.router, &self.layout)?;
            self.complete_until = interruptions;
            if self.outbox.resent == resent {
                return Ok(found);
            }
        }
    }

    fn query_once(&mut self, keys: &[Position]) -> Result<Vec<Found>, ClusterError> {
        let mut by_filter: BTreeMap<SlabId, Vec<usize>> = BTreeMap::new();
        for (at, key) in keys.iter().enumerate() {
            for id in self.description.filters(key.slab) {
                by_filter.entry(id).or_default().push(at);
            }
        }
        let below = self.values.count();
        let requests: Vec<Request> = by_filter
            .iter()
            .map(|(id, numbers)| {
                let records: Vec<u8> =
                    numbers.iter().flat_map(|at| keys[*at].digest.to_le_bytes()).collect();
                let mut command = redis::cmd("KBF.QUERY");
                command.arg(self.layout.slab_key(*id)).arg("BELOW").arg(below);
                command.arg("PACKED").arg(records);
                Request::new(self.layout.slot(id.slab), &command)
            })
            .collect();
        let absent = Found { answer: Answer::Absent, filter: None };
        let mut found = vec![absent; keys.len()];
        for ((id, numbers), reply) in by_filter.iter().zip(self.router.run(&requests)?) {
            let value = reply.map_err(|error| refusal(&self.layout, *id, error))?;
            let answers = answers(value, numbers.len())
                .ok_or_else(|| ClusterError::reply(self.layout.slab_key(*id)))?;
            for (at, answer) in numbers.iter().zip(answers) {
                let before = &mut found[*at];
                match (&before.answer, answer) {
                    (_, Answer::Absent) => {}
                    (Answer::Absent, answer) => *before = Found { answer, filter: Some(*id) },
                    (other, answer) => {
                        *before = Found { answer: other.clone().or(answer), filter: None };
                    }
                }
            }
        }
        Ok(found)
    }

    /// INSERT: adds pairs of keys, which must not be in the store, and codes. Filters that are full are
    /// followed by further ones.
    pub fn insert(&mut self, pairs: &[(Position, u32)]) -> Result<(), ClusterError> {
        if self.items.is_empty() && !pairs.is_empty() {
            for (id, info) in self.info()? {
                self.items.insert(id, info.items);
            }
        }
        // One batch per filter at most.
        pairs.chunks(INSERT_MAX as usize).try_for_each(|pairs| self.insert_chunk(pairs))
    }

    fn insert_chunk(&mut self, pairs: &[(Position, u32)]) -> Result<(), ClusterError> {
        let mut by_slab: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
        for (Position { slab, digest }, code) in pairs {
            let records = by_slab.entry(*slab).or_default();
            records.extend_from_slice(&digest.to_le_bytes());
            records.extend_from_slice(&code.to_le_bytes());
        }
        let mut batches = vec![];
        for (slab, mut records) in by_slab {
            while !records.is_empty() {
                let (id, room) = self.filter_with_room(slab)?;
                let taken = records.len().min(room as usize * INSERT_BYTES);
                let rest = records.split_off(taken);
                *self.items.entry(id).or_default() += (taken / INSERT_BYTES) as u64;
                batches.push((id, Batch { operation: Operation::Insert, records }));
                records = rest;
            }
        }
        self.outbox.write(&mut self.router, &self.layout, batches).map(drop)
    }

    /// UPDATE: changes the values of keys in the filters that have them, as a query has found.
    pub fn update(
        &mut self,
        changes: &[(Position, SlabId, u32)],
    ) -> Result<Vec<Write>, ClusterError> {
        let below = self.values.count();
        let record = |(position, id, code): &(Position, SlabId, u32)| {
            let mut record = position.digest.to_le_bytes().to_vec();
            record.extend_from_slice(&code.to_le_bytes());
            (*id, record)
        };
        self.change(Operation::Update { below }, changes.iter().map(record))
    }

    /// DELETE: removes keys from the filters that have them, as a query has found.
    pub fn delete(&mut self, keys: &[(Position, SlabId)]) -> Result<Vec<Write>, ClusterError> {
        let below = self.values.count();
        let record =
            |(position, id): &(Position, SlabId)| (*id, position.digest.to_le_bytes().to_vec());
        let changes = self.change(Operation::Delete { below }, keys.iter().map(record))?;
        for ((_, id), change) in keys.iter().zip(&changes) {
            if let (Write::Done, Some(items)) = (change, self.items.get_mut(id)) {
                *items = items.saturating_sub(1);
            }
        }
        Ok(changes)
    }

    fn change(
        &mut self,
        operation: Operation,
        records: impl Iterator<Item = (SlabId, Vec<u8>)>,
    ) -> Result<Vec<Write>, ClusterError> {
        let mut by_filter: BTreeMap<SlabId, (Vec<usize>, Vec<u8>)> = BTreeMap::new();
        let mut count = 0;
        for (at, (id, record)) in records.enumerate() {
            let (numbers, all) = by_filter.entry(id).or_default();
            numbers.push(at);
            all.extend(record);
            count = at + 1;
        }
        let mut numbers = vec![];
        let mut batches = vec![];
        for (id, (of_filter, records)) in by_filter {
            numbers.push((id, of_filter));
            batches.push((id, Batch { operation, records }));
        }
        let mut changes = vec![Write::Done; count];
        let replies = self.outbox.write(&mut self.router, &self.layout, batches)?;
        for ((id, numbers), reply) in numbers.into_iter().zip(replies) {
            let results = match reply {
                Value::BulkString(results) if results.len() == numbers.len() => results,
                Value::Nil => continue, // applied before the connection broke: as the query found
                _ => return Err(ClusterError::reply(self.layout.slab_key(id))),
            };
            for (at, result) in numbers.into_iter().zip(results) {
                changes[at] = match result as i8 {
                    1 => Write::Done,
                    0 => Write::Absent,
                    _ => Write::Undecided,
                };
            }
        }
        Ok(changes)
    }

    /// Makes sure that all writes are on the primaries, and waits for the replicas. Returns the number of
    /// batches that no replica has confirmed.
    pub fn finish(&mut self) -> Result<usize, ClusterError> {
        self.outbox.finish(&mut self.router, &self.layout)
    }

    /// Counts of all filters.
    pub fn info(&mut self) -> Result<Vec<(SlabId, FilterInfo)>, ClusterError> {
        let ids: Vec<SlabId> = self.description.all_filters().collect();
        let request = |id: &SlabId| {
            let key = self.layout.slab_key(*id);
            Request::new(self.layout.slot(id.slab), redis::cmd("KBF.INFO").arg(key))
        };
        let requests: Vec<Request> = ids.iter().map(request).collect();
        let replies = self.router.run(&requests)?;
        let read = |(id, reply): (SlabId, Result<Value, _>)| {
            let value = reply.map_err(|error| refusal(&self.layout, id, error))?;
            let info = FilterInfo::read(value);
            info.map(|info| (id, info)).ok_or_else(|| ClusterError::reply(self.layout.slab_key(id)))
        };
        ids.into_iter().zip(replies).map(read).collect()
    }

    /// The first filter of a slab that is not full, and how many pairs it has room for.
    fn filter_with_room(&mut self, slab: u32) -> Result<(SlabId, u64), ClusterError> {
        let capacity = self.description.parameters.capacity;
        for id in self.description.filters(slab) {
            let items = self.items.get(&id).copied().unwrap_or(0);
            if items < capacity {
                return Ok((id, (capacity - items).min(INSERT_MAX)));
            }
        }
        let generation = self.description.generations(slab);
        let id = SlabId { slab, generation };
        let slot = self.layout.slot(slab);
        let command = self.description.create_command(&self.layout.slab_key(id));
        match self.router.run_one(Request::new(slot, &command))? {
            Ok(_) => {}
            // Another client was first.
            Err(error) if error.details() == Some("key already exists") => {}
            Err(error) => return Err(refusal(&self.layout, id, error)),
        }
        wait_for_replica(&mut self.router, slot)?;
        let command = Description::grown_command(&self.prefix, slab, generation + 1);
        let slot = slot_of(&description_key(&self.prefix));
        let noted = self.router.run_one(Request::new(slot, &command))?;
        noted.map_err(|error| refusal(&self.layout, id, error))?;
        wait_for_replica(&mut self.router, slot)?;
        self.description.grown.insert(slab, generation + 1);
        Ok((id, capacity.min(INSERT_MAX)))
    }
}

/// The bytes of a record of an insertion: digest and code.
const INSERT_BYTES: usize = 20;
/// The most pairs of one batch: the module's limit of items per call.
const INSERT_MAX: u64 = 65_536;

fn describe_request(prefix: &str) -> Request {
    let key = description_key(prefix);
    Request::new(slot_of(&key), redis::cmd("HGETALL").arg(&key))
}

fn read_description(router: &mut Router, prefix: &str) -> Result<Description, ClusterError> {
    described(prefix, router.run_one(describe_request(prefix))?)
}

fn described(prefix: &str, fields: Reply) -> Result<Description, ClusterError> {
    let refused = |error| ClusterError::Refused { what: description_key(prefix), error };
    let fields: HashMap<String, String> =
        redis::from_redis_value(fields.map_err(refused)?).map_err(|_| unreadable(prefix))?;
    if fields.is_empty() {
        return Err(ClusterError::NoStore { prefix: prefix.to_owned() });
    }
    Description::from_fields(&fields).ok_or_else(|| unreadable(prefix))
}
