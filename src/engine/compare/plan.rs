//! What a comparison goes by.

use std::sync::Arc;

use crate::engine::active_rules::ActiveRules;
use crate::engine::clock::Phase;
use crate::engine::dispatch::DispatchPlan;
use crate::engine::shard::{NONE_HELD, ShardRules};
use crate::flow::Keyer;
use crate::seed::Seed;
use acsm_filters::{State, StoreSpec};

/// Whose answer a store goes on from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Feedback {
    /// Its own: errors can lead to others. What a user gets.
    Closed,
    /// The truth: the store is fed the right states. What theory predicts.
    Open,
}

/// One store to run.
#[derive(Debug, Clone, PartialEq)]
pub struct StoreRun {
    /// Which store, how large.
    pub store: StoreSpec,
    /// The index of its seed among the plan's.
    pub seed: usize,
    /// Whose answer it goes on from.
    pub feedback: Feedback,
}

/// Everything that a comparison goes by.
#[derive(Debug, Clone)]
pub struct ComparePlan {
    /// What to run.
    pub runs: Vec<StoreRun>,
    /// Seeds of the digests, at least one.
    pub seeds: Vec<Seed>,
    /// The rules.
    pub active: Arc<ActiveRules>,
    /// How packets become flows; each seed replaces the hash key.
    pub keyer: Keyer,
    /// The aging clock's phase.
    pub phase: Phase,
    /// Whether flows age.
    pub timed: bool,
    /// How long "no session" rules stay muted at the start.
    pub startup_nanos: u64,
    /// Whether lookups that find nothing touch the cells in use.
    pub touch_absent: bool,
    /// How many epochs at the start drive the stores and are not counted.
    pub warm_up_epochs: u32,
    /// How many threads the runs are spread over, the one that reads among them.
    pub threads: usize,
    /// How many flows the exact table has room for before it grows.
    pub flows_expected: usize,
    /// Nanoseconds on some clock, to say how long each run took.
    pub stopwatch: fn() -> u64,
}

impl ComparePlan {
    /// The keyer of a seed, by its index.
    pub(super) fn keyer_of(&self, seed: usize) -> Keyer {
        let seed = self.seeds.get(seed).copied().unwrap_or_default();
        Keyer { hash_key: seed.hash_key(), ..self.keyer }
    }

    /// What the dispatcher of a seed goes by.
    pub(super) fn dispatch(&self, seed: usize) -> DispatchPlan {
        DispatchPlan {
            keyer: self.keyer_of(seed),
            phase: self.phase,
            startup_nanos: self.startup_nanos,
            watch: None,
            top_talkers: false,
        }
    }

    /// How events are judged.
    pub(super) fn shard_rules<'a>(
        &'a self,
        keyer: Keyer,
        half_open: &'a [bool; State::LIMIT],
    ) -> ShardRules<'a> {
        ShardRules {
            half_open,
            held: &NONE_HELD,
            shown: self.active.shown_by_shards(),
            keyer,
            touch_absent: self.touch_absent,
            stopwatch: None,
        }
    }
}
