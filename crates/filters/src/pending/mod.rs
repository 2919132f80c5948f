//! The pending table: where flows wait until both of their ends have been heard.
//!
//! # Properties
//!
//! A flow enters the table with its first packet and leaves it for the store when there is
//! [`Evidence`] that both ends take part. So the packets of a flood, most of them from forged
//! addresses, do not reach the store. Flows that have ended linger here as well.
//!
//! * Fixed memory: 42.7 bits per slot, one cache line per lookup. There is nothing to sweep.
//! * A flow lives in the epoch of its last packet and in the next: with epochs of
//!   [`EPOCH_SECONDS`](PendingTable::EPOCH_SECONDS), 30 to 60 seconds after its last packet.
//! * If it is full, the flow that was used least recently among the twelve of its line is lost. A flow
//!   is lost if twelve others of its line had packets since its last one. With S slots, at r new flows
//!   per second and a pause of g seconds between two of its packets, their number is Poisson
//!   distributed with mean 12 r g / S: S = 2.2 r g slots keep 99 %.
//! * An absent flow seems to be there with probability 12 × 2⁻²², 3 in a million, if its line is full.
//!   Two flows that look alike are one until it is admitted or forgotten. Tags and lines are keyed
//!   digests, so nobody can aim for that.
//!
//! # Usage
//!
//! ```
//! use acsm_filters::pending::{End, Evidence, PendingFlow, PendingTable, Segment, Sum};
//! use acsm_filters::{Epoch, FlowId, HashKey, State};
//!
//! let mut table = PendingTable::new(PendingTable::default_slots(1_000_000))?;
//! let id = FlowId(HashKey::from_seed(1).digest([443, 51_234]));
//! let (opening, open) = (State::new(0).unwrap(), State::new(2).unwrap());
//! let now = Epoch(0); // of the table's own
//!
//! // The first packet of a flow.
//! let lookup = table.lookup(id, now);
//! assert_eq!(lookup.flow, None);
//! table.put(&lookup, PendingFlow { state: opening, evidence: Evidence::NONE });
//!
//! // Plain segments of its two ends, the second one after 700 bytes of the first.
//! for (end, sum) in
//!     [(End::Forward, Sum::of(1_001, 9_001)), (End::Backward, Sum::of(9_001, 1_701))]
//! {
//!     let lookup = table.lookup(id, now);
//!     let evidence = lookup.flow.unwrap().evidence.after(Segment::Plain(end, sum));
//!     match evidence.is_complete() {
//!         true => table.admit(&lookup, evidence), // and insert it into the store
//!         false => table.put(&lookup, PendingFlow { state: open, evidence }),
//!     }
//! }
//! assert_eq!((table.stats().admitted, table.stats().used), (1, 0));
//! # Ok::<(), acsm_filters::StoreError>(())
//! ```
//!
//! A flow that the store refuses, or that lingers after its end, is [`put`](PendingTable::put) as well.
//! Where the two directions of a connection are two flows, a [directed](PendingTable::directed) table
//! has both in one slot: they share evidence and lifetime, and the table counts connections.
//!
//! # Implementation
//!
//! | module | subject |
//! |---|---|
//! | `evidence` | which ends were heard, and whether their numbers belong together |
//! | `directions` | a slot with both directions of a connection |
//! | `slots` | a line of 64 bytes: twelve slots in order of use |
//! | `saved` | the table in a snapshot |
//!
//! Why these widths: twelve slots of 40 bits leave 32 bits of a line for the epoch of its last write and
//! two counts, which say what stamps in the slots would say. In a slot, the state takes four bits and
//! the ends noted two; sum and tag share 34. The data in flight that sums tolerate decides how many
//! guesses succeed: 2 MiB in each direction are 1/1024 of all numbers, and with 12 bits a guess agrees
//! in 1/819 of all cases. A wider sum would gain the little between the two, and each bit that the tag
//! loses doubles the false matches. In a directed table, where a second state takes five bits of it, an
//! absent connection seems to be there with probability 12 × 2⁻¹⁷, 1 in 11,000, if its line is full.

mod directions;
mod evidence;
mod saved;
mod slots;

use std::ops::AddAssign;

pub use directions::{PendingConnection, Side};
pub use evidence::{End, Evidence, Segment, Sum};
pub use slots::PendingFlow;

use crate::aging::Epoch;
use crate::digest::FlowId;
use crate::error::StoreError;
use crate::line::OwnedLines;
use crate::memory::{Arena, allocate_in, prefetch};
use crate::spec::LINE_BYTES;
use slots::{SLOTS, Usage};

/// One shard of the pending table.
pub struct PendingTable {
    lines: OwnedLines,
    /// Whether flows are the directions of connections.
    is_directed: bool,
    /// The latest epoch so far.
    epoch: Epoch,
    population: Population,
    /// All but `used`.
    stats: PendingStats,
}

/// Counts of one shard; those of shards add up. Every flow inserted is in use, admitted, retired or
/// lost. In a directed table these are connections: one is admitted with the last of its flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PendingStats {
    /// Flows that fit.
    pub slots: u64,
    /// Flows that are there.
    pub used: u64,
    /// Flows that came in.
    pub inserted: u64,
    /// Flows that left for the store.
    pub admitted: u64,
    /// Flows that were silent for too long, or deleted.
    pub retired: u64,
    /// Flows that fell out for others.
    pub lost: u64,
}

/// The flows of all lines, by the epoch of their last packet. It is exact, although stale slots are
/// cleared only when their line is written.
#[derive(Debug, Clone, Copy, Default)]
struct Population {
    /// Of this epoch.
    fresh: u64,
    /// Of the one before.
    previous: u64,
}

/// What the table knows of a flow, and where: until the table changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingLookup {
    /// The flow, if it is pending.
    pub flow: Option<PendingFlow>,
    place: Place,
    slot: Option<u8>,
    /// Of the line.
    usage: Usage,
}

/// Where a flow belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    /// 2³² lines would be 256 GiB.
    line: u32,
    tag: u32,
    /// Which direction of its connection it is, in a directed table.
    side: Option<Side>,
}

/// The width of [`FlowId::salt`].
const SALT_BITS: u32 = 28;
/// One line of each shard.
const LINES_BYTES: u64 = (FlowId::SHARDS * LINE_BYTES) as u64;
/// The fewest slots of all shards by default.
const DEFAULT_SLOTS_MIN: u64 = 1 << 17;

impl PendingTable {
    /// The length of an epoch.
    pub const EPOCH_SECONDS: u64 = 30;

    /// The epoch of a second since 1970.
    pub fn epoch_of(second: u64) -> Epoch {
        Epoch(u32::try_from(second / Self::EPOCH_SECONDS).unwrap_or(u32::MAX))
    }

    /// How many slots all shards should have together, before a store for this many flows.
    pub const fn default_slots(flows: u64) -> u64 {
        let slots = flows / 4;
        if slots > DEFAULT_SLOTS_MIN { slots } else { DEFAULT_SLOTS_MIN }
    }

    /// The most slots that all shards can have together in this many bytes: whole lines, equally many
    /// in each shard.
    pub const fn slots_in(bytes: u64) -> u64 {
        bytes / LINES_BYTES * (FlowId::SHARDS * SLOTS) as u64
    }

    /// The bits that all shards take, with this many slots together.
    pub const fn bits(slots: u64) -> u64 {
        lines_per_shard(slots).saturating_mul(8 * LINES_BYTES)
    }

    /// An empty shard: one of equal parts of `slots`, rounded up to whole lines.
    pub fn new(slots: u64) -> Result<PendingTable, StoreError> {
        PendingTable::new_in(&Arena::default(), slots)
    }

    /// The same in an arena.
    pub fn new_in(arena: &Arena, slots: u64) -> Result<PendingTable, StoreError> {
        let lines = usize::try_from(lines_per_shard(slots)).unwrap_or(usize::MAX);
        let lines = allocate_in(arena, lines, [0; LINE_BYTES])?;
        let stats = PendingStats { slots: (lines.len() * SLOTS) as u64, ..Default::default() };
        let (epoch, population) = (Epoch(0), Population::default());
        Ok(PendingTable { lines, is_directed: false, epoch, population, stats })
    }

    /// The same empty table for flows that are one [direction](FlowId::reverse) of a connection each: a
    /// slot has both of them.
    #[must_use]
    pub fn directed(self) -> PendingTable {
        PendingTable { is_directed: true, ..self }
    }

    /// Starts loading the line of a flow.
    #[inline]
    pub fn prefetch(&self, id: FlowId) {
        prefetch(self.lines.get(self.place(id).line as usize));
    }

    /// What is known of a flow, and where. This does not renew it: if the packet belongs to the flow,
    /// [`put`](Self::put) it back, changed or not.
    #[inline(always)]
    pub fn lookup(&mut self, id: FlowId, now: Epoch) -> PendingLookup {
        self.advance_to(now);
        self.lookup_at(self.place(id))
    }

    /// Puts a flow in front of its line, as it is after a packet. If it was absent and the line is full,
    /// the last flow of the line is lost.
    #[inline(always)]
    pub fn put(&mut self, lookup: &PendingLookup, flow: PendingFlow) {
        let tag = lookup.place.tag;
        let bits = match lookup.place.side {
            None => flow.to_slot(tag),
            Some(side) => {
                let mut connection = self.connection(lookup);
                connection.set(side, Some(flow.state), flow.evidence);
                connection.to_slot(tag)
            }
        };
        if lookup.slot == Some(0) && lookup.usage.fresh > 0 {
            // It stays in front, and the counts stay as they are.
            return slots::set_bits(&mut self.lines[lookup.place.line as usize], 0, bits);
        }
        self.put_front(lookup, bits);
    }

    #[inline(never)]
    fn put_front(&mut self, lookup: &PendingLookup, bits: u64) {
        debug_assert_eq!(*lookup, self.lookup_at(lookup.place), "the table has changed since");
        let PendingLookup { place, slot, mut usage, .. } = *lookup;
        let line = &mut self.lines[place.line as usize];
        let free = match slot {
            Some(slot) => {
                self.population.leave(slot, &mut usage);
                slot
            }
            None => {
                self.stats.inserted += 1;
                if usage.live == SLOTS as u8 {
                    self.stats.lost += 1;
                    self.population.leave(SLOTS as u8 - 1, &mut usage);
                }
                usage.live
            }
        };
        self.population.enter(&mut usage);
        let header = usage.header(self.epoch);
        slots::put_front(line, usize::from(free), bits, header);
    }

    /// Removes a flow that enters the store with this evidence, which its reverse direction keeps if it
    /// is there. That is renewed.
    #[inline]
    pub fn admit(&mut self, lookup: &PendingLookup, evidence: Evidence) {
        if let Some((side, mut rest)) = self.rest(lookup) {
            rest.set(side, None, evidence);
            self.put_front(lookup, rest.to_slot(lookup.place.tag));
        } else {
            self.stats.admitted += u64::from(self.take_out(lookup));
        }
    }

    /// Removes a flow that the machine deletes; not its reverse direction, which is not renewed.
    pub fn delete(&mut self, lookup: &PendingLookup) {
        match (self.rest(lookup), lookup.slot) {
            (Some((_, rest)), Some(slot)) => {
                let Place { line, tag, .. } = lookup.place;
                let line = &mut self.lines[line as usize];
                slots::set_bits(line, usize::from(slot), rest.to_slot(tag));
            }
            _ => self.stats.retired += u64::from(self.take_out(lookup)),
        }
    }

    /// What a flow that is absent begins with: the evidence of its reverse direction, if that is there.
    #[inline]
    pub fn evidence_of_reverse(&self, lookup: &PendingLookup) -> Evidence {
        match lookup.place.side {
            Some(side) => self.connection(lookup).evidence(side),
            None => Evidence::NONE,
        }
    }

    /// The connection of a flow in a directed table: empty if it is absent.
    fn connection(&self, lookup: &PendingLookup) -> PendingConnection {
        let line = &self.lines[lookup.place.line as usize];
        let bits = lookup.slot.map(|slot| slots::bits(line, usize::from(slot)));
        bits.map_or_else(PendingConnection::default, PendingConnection::from_slot)
    }

    /// What stays in the slot of a flow that leaves: its connection, if the other direction is there.
    #[inline]
    fn rest(&self, lookup: &PendingLookup) -> Option<(Side, PendingConnection)> {
        let side = lookup.place.side?;
        let mut connection = self.connection(lookup);
        connection.remove(side);
        (!connection.is_empty()).then_some((side, connection))
    }

    /// Moves on to a later epoch: what is stale then is retired. Every lookup does this.
    #[inline]
    pub fn advance_to(&mut self, now: Epoch) {
        if now > self.epoch {
            self.begin(now);
        }
    }

    /// Counts, as of the latest epoch of a lookup.
    pub fn stats(&self) -> PendingStats {
        PendingStats { used: self.population.fresh + self.population.previous, ..self.stats }
    }

    #[cold]
    fn begin(&mut self, now: Epoch) {
        let Population { fresh, previous } = self.population;
        if self.epoch.is_forgotten_at(now) {
            // After a whole epoch of silence. Marks are 24 bits of an epoch: none is left from before
            // a leap in time.
            self.lines.fill([0; LINE_BYTES]);
            self.population = Population::default();
            self.stats.retired += fresh + previous;
        } else {
            self.population = Population { fresh: 0, previous: fresh };
            self.stats.retired += previous;
        }
        self.epoch = now;
    }

    #[inline(always)]
    fn lookup_at(&self, place: Place) -> PendingLookup {
        let line = &self.lines[place.line as usize];
        let usage = Usage::of(line, self.epoch);
        let mask = if place.side.is_some() { directions::TAG_MASK } else { slots::TAG_MASK };
        let slot = slots::find(line, place.tag, mask, usage.live);
        let flow = slot.and_then(|slot| {
            let bits = slots::bits(line, usize::from(slot));
            match place.side {
                None => Some(PendingFlow::from_slot(bits)),
                Some(side) => PendingConnection::from_slot(bits).flow(side),
            }
        });
        PendingLookup { flow, place, slot, usage }
    }

    /// Empties the slot of a flow. Returns whether there is one.
    #[inline]
    fn take_out(&mut self, lookup: &PendingLookup) -> bool {
        debug_assert_eq!(*lookup, self.lookup_at(lookup.place), "the table has changed since");
        let PendingLookup { place, slot, mut usage, .. } = *lookup;
        let Some(slot) = slot else { return false };
        self.population.leave(slot, &mut usage);
        let line = &mut self.lines[place.line as usize];
        slots::take_out(line, usize::from(slot), usage.header(self.epoch));
        true
    }

    /// The two directions of a connection have their salt in common, which chooses the line.
    #[inline]
    fn place(&self, id: FlowId) -> Place {
        let line = ((u64::from(id.salt()) * self.lines.len() as u64) >> SALT_BITS) as u32;
        if self.is_directed {
            let (connection, side) = Side::of(id);
            let tag = connection.position_bits() as u32 & directions::TAG_MASK;
            return Place { line, tag, side: Some(side) };
        }
        Place { line, tag: id.position_bits() as u32 & slots::TAG_MASK, side: None }
    }
}

impl Population {
    /// A flow comes in front of a line.
    #[inline]
    fn enter(&mut self, usage: &mut Usage) {
        usage.fresh += 1;
        usage.live += 1;
        self.fresh += 1;
    }

    /// The flow in this slot of a line leaves it.
    #[inline]
    fn leave(&mut self, slot: u8, usage: &mut Usage) {
        usage.live -= 1;
        if slot < usage.fresh {
            usage.fresh -= 1;
            self.fresh -= 1;
        } else {
            self.previous -= 1;
        }
    }
}

impl AddAssign for PendingStats {
    fn add_assign(&mut self, other: PendingStats) {
        self.slots += other.slots;
        self.used += other.used;
        self.inserted += other.inserted;
        self.admitted += other.admitted;
        self.retired += other.retired;
        self.lost += other.lost;
    }
}

/// At least one line.
const fn lines_per_shard(slots: u64) -> u64 {
    let lines = slots.div_ceil((FlowId::SHARDS * SLOTS) as u64);
    if lines == 0 { 1 } else { lines }
}
