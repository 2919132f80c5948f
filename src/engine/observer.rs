//! What a run shows of itself while it goes on, and what may be changed meanwhile.
//!
//! After every round, and at every tick of silence, the engine asks its [`Observer`] what it
//! wants. A [`Snapshot`] costs a hand-over to each worker and a copy of its counts: once a second
//! it is not felt. Rounds under way are brought to their end first, so its figures agree with each
//! other.

use super::hygiene::LeftOut;
use super::tally::Tally;
use super::thresholds::Losses;
use super::top::TopTalkers;
use crate::capture::FrameTally;
use crate::machine::{RuleSet, Rules, StateInfo, Suppressions};
use crate::time::Timestamp;
use acsm_filters::StoreStats;

/// What an observer wants after a round.
#[derive(Debug, Clone, Copy)]
pub enum Wish<'a> {
    /// Nothing: go on.
    GoOn,
    /// A [`Snapshot`].
    Snapshot,
    /// Other rules from here on.
    Rules(&'a NewRules),
}

/// Watches a run from the thread that reads. A plain `FnMut(u64)` is one that wants nothing.
pub trait Observer<'a> {
    /// A round is done, or a tick of silence is over; so many frames were seen so far.
    fn round(&mut self, frames: u64) -> Wish<'a>;

    /// The snapshot that was wished for.
    fn snapshot(&mut self, _snapshot: Snapshot) {}
}

impl<'a, F: FnMut(u64)> Observer<'a> for F {
    #[inline]
    fn round(&mut self, frames: u64) -> Wish<'a> {
        self(frames);
        Wish::GoOn
    }
}

/// Rules that take the place of those a run began with. Its machine must have the same states, for
/// those are what stores hold.
#[derive(Debug, Clone)]
pub struct NewRules {
    /// The rules.
    pub rules: Rules,
    /// Those whose alerts are shown.
    pub shown: RuleSet,
    /// What the user does not want to see.
    pub suppressions: Suppressions,
}

impl NewRules {
    /// Whether a run under `old` rules can go on under these; if not, why.
    pub fn can_follow(&self, old: &Rules) -> Result<(), String> {
        let names = |rules: &Rules| -> Vec<String> {
            rules.machine.states().iter().map(described).collect()
        };
        let (old_states, new_states) = (names(old), names(&self.rules));
        if old_states == new_states {
            return Ok(());
        }
        Err(format!(
            "the states of the machine would change from {} to {}, and the store holds states by \
             number: start acsm anew",
            old_states.join(", "),
            new_states.join(", ")
        ))
    }
}

/// What stores and their aging depend on.
fn described(state: &StateInfo) -> String {
    let end = state.end.map_or(String::new(), |end| format!(" ({end:?})"));
    let half_open = if state.half_open { " (half-open)" } else { "" };
    format!("{}{end}{half_open}", state.name)
}

/// A run at one moment. Counts are totals since the start: who wants rates compares two.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The latest time told by a packet or by silence.
    pub time: Timestamp,
    /// Frames, and why some were skipped.
    pub frames: FrameTally,
    /// Lookups by answer, entries into states, times. No errors: those come at the end.
    pub tally: Tally,
    /// What the stores say about themselves; `live` is an estimate where `live_estimated`.
    pub stats: StoreStats,
    /// Alerts shown, by rule.
    pub shown: [u64; RuleSet::LIMIT],
    /// Alerts left out, by reason.
    pub left_out: LeftOut,
    /// What the thresholds' bounded memory left out.
    pub losses: Losses,
    /// Whether the capture seems to show one direction of its flows only.
    pub one_way: bool,
    /// Whether "no session" rules are mute at this moment.
    pub no_session_muted: bool,
    /// The busiest sources and destinations, if they were asked for.
    pub top: Option<TopTalkers>,
}

/// Counts by rule, carried over to another rule book by the rules' names. A rule that is gone
/// takes its count along.
pub(super) fn carried_over(
    counts: &[u64; RuleSet::LIMIT],
    old: &Rules,
    new: &Rules,
) -> [u64; RuleSet::LIMIT] {
    let mut carried = [0; RuleSet::LIMIT];
    for rule in old.list.iter() {
        let place = new.list.iter().find(|other| other.name == rule.name);
        let count = counts.get(usize::from(rule.id.0));
        if let (Some(place), Some(count)) = (place, count)
            && let Some(carried) = carried.get_mut(usize::from(place.id.0))
        {
            *carried = *count;
        }
    }
    carried
}
