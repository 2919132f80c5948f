//! The stage of a run that counts the packets of every batch against the thresholds.

use super::{Losses, PreparedTuple, SketchLimits, ThresholdHit, Thresholds};
use crate::engine::active_rules::ActiveRules;
use crate::flow::Packet;
use crate::machine::{OddFlags, RuleKind};
use crate::seed::Seed;
use crate::time::Timestamp;

/// Packets that are prepared together, before the first of them is counted.
const GROUP: usize = 16;

/// Thresholds that were reached, each with the index of its packet in the batch.
pub type ThresholdHits = Vec<(u32, ThresholdHit)>;

/// Counts packets against the rules that are shown.
pub struct ThresholdStage {
    /// `None` if no rule counts packets.
    thresholds: Option<Thresholds>,
    seed: Seed,
}

impl ThresholdStage {
    /// Empty counters. `seed` is that of its sketches.
    pub fn new(active: &ActiveRules, seed: Seed) -> ThresholdStage {
        let mut stage = ThresholdStage { thresholds: None, seed };
        stage.set_rules(active);
        stage
    }

    /// Replaces the rules. Thresholds that stay the same keep their counts.
    pub fn set_rules(&mut self, active: &ActiveRules) {
        let mut wanted = active.rules.thresholds.clone();
        wanted.retain(|threshold| active.shown.contains(threshold.rule));
        let mut decided = active.rules.decided.clone();
        decided.retain(|decided| active.shown.contains(decided.rule));
        match &mut self.thresholds {
            Some(thresholds) => thresholds.set_rules(&wanted),
            None if wanted.is_empty() && decided.is_empty() => {}
            none => *none = Some(Thresholds::new(&wanted, self.seed, SketchLimits::default())),
        }
        if let Some(thresholds) = &mut self.thresholds {
            let rules = &active.rules;
            let of_flags = rules.list.of_kind(RuleKind::Flag).intersection(active.shown);
            thresholds.set_decided(&decided);
            thresholds.set_odd_flags(OddFlags::new(&rules.machine, of_flags));
        }
    }

    /// Counts the packets of a batch. The packets of a group are counted after all of them have been
    /// prepared, so that the memory they need has been loaded.
    pub fn process(&mut self, packets: &[Packet], hits: &mut ThresholdHits) {
        let Some(thresholds) = &mut self.thresholds else { return };
        let mut tuples = [PreparedTuple::NOTHING; GROUP];
        for (number, group) in packets.chunks(GROUP).enumerate() {
            thresholds.prepare_group(group, &mut tuples);
            let mut hit = |at, hit| hits.push(((number * GROUP + at) as u32, hit));
            thresholds.observe_group(group, &tuples, &mut hit);
        }
    }

    /// Handles deadlines up to `now` without a packet.
    pub fn idle(&mut self, now: Timestamp, hits: &mut ThresholdHits) {
        if let Some(thresholds) = &mut self.thresholds {
            thresholds.idle(now, &mut |hit| hits.push((0, hit)));
        }
    }

    /// Counts what is still pending when no more packets come.
    pub fn finish(&mut self, hits: &mut ThresholdHits) {
        if let Some(thresholds) = &mut self.thresholds {
            thresholds.finish(&mut |hit| hits.push((u32::MAX, hit)));
        }
    }

    /// What was not counted or not reported so far.
    pub fn losses(&self) -> Losses {
        self.thresholds.as_ref().map(Thresholds::losses).unwrap_or_default()
    }
}
