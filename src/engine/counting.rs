//! Thresholds at work: one of the workers counts the packets of all rounds.

use super::observer::NewRules;
use super::thresholds::{Firing, Losses, PreparedTuple, SketchLimits, Thresholds};
use crate::flow::Packet;
use crate::machine::{RuleSet, Rules};
use crate::time::Timestamp;

/// Packets that are prepared together, before the first of them is counted.
const GROUP: usize = 16;

/// What thresholds found, with the index in its round of the packet that brought it about.
pub type Firings = Vec<(u32, Firing)>;

/// Counts packets against the rules that are shown.
pub struct Counting {
    /// Nothing, if no rule asks for it.
    thresholds: Option<Thresholds>,
    seed: u64,
}

impl Counting {
    /// Counts from nothing. `seed` is that of its sketches.
    pub fn new(rules: &Rules, shown: RuleSet, seed: u64) -> Counting {
        let mut counting = Counting { thresholds: None, seed };
        counting.go_by(rules, shown);
        counting
    }

    /// Goes on under other rules. Thresholds that stay the same keep their counts.
    pub fn follow(&mut self, new: &NewRules) {
        self.go_by(&new.rules, new.shown);
    }

    fn go_by(&mut self, rules: &Rules, shown: RuleSet) {
        let mut wanted = rules.thresholds.clone();
        wanted.retain(|threshold| shown.contains(threshold.rule));
        match &mut self.thresholds {
            Some(thresholds) => thresholds.follow(&wanted),
            None if wanted.is_empty() => {}
            none => *none = Some(Thresholds::new(&wanted, self.seed, SketchLimits::default())),
        }
    }

    /// Whether any rule asks for it.
    pub fn is_needed(rules: &Rules, shown: RuleSet) -> bool {
        rules.thresholds.iter().any(|threshold| shown.contains(threshold.rule))
    }

    /// Counts the packets of a round. Those of a group are counted when all have been looked at: by
    /// then what that needs has come from memory. Says whether there was anything to do.
    pub fn process(&mut self, packets: &[Packet], firings: &mut Firings) -> bool {
        let Some(thresholds) = &mut self.thresholds else { return false };
        let mut tuples = [PreparedTuple::NOTHING; GROUP];
        for (number, group) in packets.chunks(GROUP).enumerate() {
            thresholds.prepare_group(group, &mut tuples);
            let mut fired = |at, firing| firings.push(((number * GROUP + at) as u32, firing));
            thresholds.observe_group(group, &tuples, &mut fired);
        }
        !packets.is_empty()
    }

    /// Lets time pass before the packets of a round: what waited in vain is told.
    pub fn idle(&mut self, now: Timestamp, firings: &mut Firings) {
        if let Some(thresholds) = &mut self.thresholds {
            thresholds.idle(now, &mut |firing| firings.push((0, firing)));
        }
    }

    /// Tells what is still due when no more packets come.
    pub fn finish(&mut self, firings: &mut Firings) {
        if let Some(thresholds) = &mut self.thresholds {
            thresholds.finish(&mut |firing| firings.push((u32::MAX, firing)));
        }
    }

    /// What its bounded memory left out.
    pub fn losses(&self) -> Losses {
        self.thresholds.as_ref().map(Thresholds::losses).unwrap_or_default()
    }
}
