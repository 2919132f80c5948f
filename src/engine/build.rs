//! From the specification of a store to its shards: the one place where a kind of store becomes a
//! type.

use std::cell::OnceCell;

use super::admission::Pending;
use super::shard::{PacketKey, Shard};
use super::shard_loop::StoreShard;
use crate::flow::{FlowId, FlowKey};
use acsm_filters::memory::Arena;
use acsm_filters::pending::PendingTable;
use acsm_filters::{
    Backend, Bhbf, BhbfRule, Budget, Dbf, Erase, Exact, Expire, Fcf, HALVES, Kbf, KbfRule,
    Recycling, STAMPS, Sbf, SbfRule, Sizing, Store, StoreError, StoreSpec, StoredStates, UNTIMED,
};

/// The shards of a store, all empty.
/// `directed`: flows are the directions of connections.
pub fn build_shards(spec: &StoreSpec, directed: bool) -> Result<Vec<Box<dyn Shard>>, StoreError> {
    let sizing = spec.sizing()?;
    let arena = Arena::with_capacity((sizing.bits / 8) as usize);
    let builder = Builder { spec, directed, sizing, arena, kbf_rule: OnceCell::new() };
    (0..FlowId::SHARDS).map(|_| builder.shard()).collect()
}

/// Bits that the lookup caches of a store take, whatever its size: they are part of the program, not of the
/// structure.
pub fn lookup_cache_bits(spec: &StoreSpec) -> Result<u64, StoreError> {
    let smallest = StoreSpec { flows: 1, budget: Budget::FpRate(0.5), ..spec.clone() };
    let shards = build_shards(&smallest, true)?;
    Ok(8 * shards.iter().map(|shard| shard.cache_bytes()).sum::<u64>())
}

/// What the shards of a store are made from.
struct Builder<'a> {
    spec: &'a StoreSpec,
    directed: bool,
    sizing: Sizing,
    /// The cells of all shards lie together.
    arena: Arena,
    /// The rule of a `kbf`: its tables are the same for all shards.
    kbf_rule: OnceCell<KbfRule>,
}

type BuiltShard = Result<Box<dyn Shard>, StoreError>;

impl Builder<'_> {
    fn shard(&self) -> BuiltShard {
        let Builder { spec, sizing, arena, .. } = self;
        let timed = spec.expire.is_timed();
        match (spec.backend, sizing.cell_bits) {
            (Backend::Exact, _) => {
                let table: Exact<FlowKey> = match spec.budget {
                    Budget::MemoryBytes(_) => Exact::capped(sizing, timed)?,
                    Budget::FpRate(_) => Exact::growing(sizing, timed)?,
                };
                self.with(table)
            }
            (Backend::Sbf, 8) => self.sbf::<8>(),
            (Backend::Sbf, 16) => self.sbf::<16>(),
            (Backend::Sbf, _) => self.sbf::<32>(),
            (Backend::Kbf, 8) => self.kbf::<8>(),
            (Backend::Kbf, 16) => self.kbf::<16>(),
            (Backend::Kbf, _) => self.kbf::<32>(),
            (Backend::Bhbf, _) => self.bhbf(),
            (Backend::Dbf, 4) => self.dbf::<4>(),
            (Backend::Dbf, 2) => self.dbf::<2>(),
            (Backend::Dbf, _) => self.dbf::<1>(),
            (Backend::Fcf, _) if timed => {
                self.filter(Fcf::<true>::new_in(arena, spec.stored_states(), sizing)?)
            }
            (Backend::Fcf, _) => {
                self.filter(Fcf::<false>::new_in(arena, spec.stored_states(), sizing)?)
            }
        }
    }

    fn sbf<const BITS: u32>(&self) -> BuiltShard {
        let rule = SbfRule::<BITS>::for_spec(self.spec);
        match self.spec.expire {
            Expire::Timer => {
                self.filter(Sbf::<BITS, HALVES>::new_in(&self.arena, rule, &self.sizing)?)
            }
            Expire::Stamps => {
                self.filter(Sbf::<BITS, STAMPS>::new_in(&self.arena, rule, &self.sizing)?)
            }
            _ => self.recycling(|| Sbf::<BITS, UNTIMED>::new_in(&self.arena, rule, &self.sizing)),
        }
    }

    fn kbf<const BITS: u32>(&self) -> BuiltShard {
        let shared = || self.kbf_rule.get_or_init(|| KbfRule::for_spec(self.spec, BITS));
        let rule = || shared().clone();
        match self.spec.expire {
            Expire::Timer => {
                self.filter(Kbf::<BITS, HALVES>::new_in(&self.arena, rule(), &self.sizing)?)
            }
            Expire::Stamps => {
                self.filter(Kbf::<BITS, STAMPS>::new_in(&self.arena, rule(), &self.sizing)?)
            }
            _ => self.recycling(|| Kbf::<BITS, UNTIMED>::new_in(&self.arena, rule(), &self.sizing)),
        }
    }

    fn bhbf(&self) -> BuiltShard {
        let rule = BhbfRule::new(self.spec.stored_states());
        match self.spec.expire {
            Expire::Timer => self.filter(Bhbf::<HALVES>::new_in(&self.arena, rule, &self.sizing)?),
            Expire::Stamps => self.filter(Bhbf::<STAMPS>::new_in(&self.arena, rule, &self.sizing)?),
            _ => self.recycling(|| Bhbf::<UNTIMED>::new_in(&self.arena, rule, &self.sizing)),
        }
    }

    fn dbf<const BITS: u32>(&self) -> BuiltShard {
        let Builder { sizing, arena, .. } = self;
        let states = self.spec.stored_states();
        match self.spec.expire {
            Expire::Timer => self.filter(Dbf::<BITS, HALVES>::new_in(arena, states, sizing)?),
            Expire::Stamps => self.filter(Dbf::<BITS, STAMPS>::new_in(arena, states, sizing)?),
            _ => self.recycling(|| Dbf::<BITS, UNTIMED>::new_in(arena, states, sizing)),
        }
    }

    /// A store that empties itself when it is full, or never.
    fn recycling<S>(&self, make: impl Fn() -> Result<S, StoreError>) -> BuiltShard
    where
        S: Store<Key = ()> + Erase + 'static,
    {
        self.filter(Recycling::new(&self.sizing, make)?)
    }

    /// A shard with this filter, which has no room for states that are never stored.
    fn filter<S>(&self, filter: S) -> BuiltShard
    where
        S: Store<Key = ()> + 'static,
    {
        self.with(StoredStates::new(filter, self.spec))
    }

    /// A shard with this store, behind a pending table if there is to be one.
    fn with<S>(&self, store: S) -> BuiltShard
    where
        S: Store<Key: PacketKey> + 'static,
    {
        let table = self.spec.pending.map(PendingTable::new).transpose()?;
        let pending = table.map(|table| {
            let table = if self.directed { table.directed() } else { table };
            Pending::Table(Box::new(table))
        });
        Ok(Box::new(StoreShard::new(store).with_pending(pending, self.spec.expire)))
    }
}
