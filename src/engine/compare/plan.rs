//! What a comparison goes by.

use crate::engine::clock::Phase;
use crate::flow::{Direction, Keyer, Packet};
use crate::machine::{Outcome, RuleSet, Rules, Suppressions};
use acsm_filters::Lookup;
use acsm_filters::StoreSpec;
use acsm_filters::digest::HashKey;

/// Whose answer a store goes on from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Feedback {
    /// Its own: errors can lead to others. What a user gets.
    Closed,
    /// The truth: the store is fed the right states. What theory predicts.
    Open,
}

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub struct StoreRun {
    /// Which store, how large.
    pub store: StoreSpec,
    /// The place of its seed among the plan's.
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
    pub seeds: Vec<u64>,
    /// The state machine of each flow, and what its rules are called.
    pub rules: Rules,
    /// The rules whose alerts are shown.
    pub shown: RuleSet,
    /// What the user does not want to see.
    pub suppressions: Suppressions,
    /// How packets become flows; each seed puts its own hash key in.
    pub keyer: Keyer,
    /// The aging clock's phase.
    pub phase: Phase,
    /// Whether flows age.
    pub timed: bool,
    /// How long "no session" rules stay mute at the start.
    pub startup_nanos: u64,
    /// Whether look-ups that find nothing touch the cells they met.
    pub touch_absent: bool,
    /// How many threads the runs are spread over.
    pub threads: usize,
    /// How many flows the exact table has room for before it grows.
    pub flows_expected: usize,
    /// Nanoseconds on some clock, to say how long each run took.
    pub stopwatch: fn() -> u64,
}

impl ComparePlan {
    /// The keyer of a seed, by its place.
    pub(super) fn keyer_of(&self, seed: usize) -> Keyer {
        let seed = self.seeds.get(seed).copied().unwrap_or_default();
        Keyer { hash_key: HashKey::from_seed(seed), ..self.keyer }
    }

    /// What follows from a packet for a flow that was looked up.
    pub(super) fn step(&self, packet: &Packet, lookup: Lookup) -> Outcome {
        self.step_along(packet, self.keyer.key(packet).1, lookup)
    }

    #[inline]
    pub(super) fn step_along(
        &self,
        packet: &Packet,
        direction: Direction,
        lookup: Lookup,
    ) -> Outcome {
        self.rules.machine.step(lookup, direction, packet.flags, packet.payload_bytes > 0)
    }
}
