//! The stages of a run: thresholds, and the shards with what is checked beside them.

use std::sync::Arc;

use super::active_rules::{ActiveRules, carried_over};
use super::alerts::merge::BatchAlerts;
use super::batch::{Event, Marks, NewSecond, PacketBatch};
use super::build::build_shards;
use super::overload::SecondLoad;
use super::pool::Stage;
use super::sample::Sample;
use super::seconds::SecondOutput;
use super::shadow::{Scope, Shadow, ShadowOutput};
use super::shard::{Answer, Shard, ShardOutput, ShardRules, ShardWork, Wanted};
use super::thresholds::stage::{ThresholdHits, ThresholdStage};
use crate::flow::{FlowId, Keyer};
use crate::seed::Seed;
use acsm_filters::{State, StoreError, StoreSpec};

/// What stages go by beside the rules.
#[derive(Debug, Clone, Copy)]
pub struct StageSettings {
    /// How packets become flows.
    pub keyer: Keyer,
    /// Whether lookups that find nothing touch the cells in use.
    pub touch_absent: bool,
    /// Which packets an exact shadow sees, if there is one.
    pub shadow: Option<Scope>,
    /// How many flows are sampled, if any.
    pub sample: Option<u64>,
    /// Seed of the thresholds' sketches.
    pub seed: Seed,
    /// Nanoseconds on some clock, for the histograms alone.
    pub stopwatch: fn() -> u64,
}

/// One stage of a run.
pub enum RunStage {
    /// Counts packets against thresholds.
    Thresholds(Box<ThresholdStage>),
    /// Drives the flows of one shard.
    Shard(Box<ShardStage>),
}

/// A shard at work in a run.
pub struct ShardStage {
    number: usize,
    /// The shard.
    pub shard: Box<dyn Shard>,
    /// The truth beside it, if asked for.
    pub shadow: Option<Shadow>,
    /// The truth about some flows, if asked for.
    pub sample: Option<Sample>,
    /// The events of sampled flows: a buffer that is reused.
    sampled: Vec<(Event, Answer)>,
    /// The second of packet time.
    second: Option<u64>,
    /// What the shard had to do up to its beginning.
    load: SecondLoad,
    /// Whether the last second brought more new flows than the pending table has slots: then rules about
    /// packets without a session are muted.
    forgets_at_once: bool,
    active: Arc<ActiveRules>,
    half_open: [bool; State::LIMIT],
    held: [bool; State::LIMIT],
    settings: StageSettings,
}

/// What a stage found in one batch.
#[derive(Debug, Default)]
pub struct StageOutput {
    pub shard: ShardOutput,
    pub shadow: ShadowOutput,
    pub hits: ThresholdHits,
    pub seconds: SecondOutput,
}

/// Events of sampled flows that a shard has room for before it first grows: all of a batch, as a rule.
const SAMPLED_EVENTS: usize = 2 * PacketBatch::PACKETS / FlowId::SHARDS;

/// The stages of a run, all empty. The costliest comes first, so that a thread that has time begins
/// with it.
pub fn build_stages(
    store: &StoreSpec,
    active: &Arc<ActiveRules>,
    settings: StageSettings,
) -> Result<Vec<RunStage>, StoreError> {
    let thresholds = RunStage::Thresholds(Box::new(ThresholdStage::new(active, settings.seed)));
    let mut stages = vec![thresholds];
    for (number, shard) in
        build_shards(store, settings.keyer.is_directed())?.into_iter().enumerate()
    {
        let shadow = settings.shadow.map(|scope| Shadow::new(store, scope)).transpose()?;
        stages.push(RunStage::Shard(Box::new(ShardStage {
            number,
            shard,
            shadow,
            sampled: Vec::with_capacity(SAMPLED_EVENTS),
            second: None,
            load: SecondLoad::default(),
            forgets_at_once: false,
            sample: settings.sample.map(|flows| Sample::new(store, flows)),
            active: Arc::clone(active),
            half_open: active.rules.machine.half_open(),
            held: active.rules.machine.half_open_or_over(),
            settings,
        })));
    }
    Ok(stages)
}

impl Stage for RunStage {
    type Batch = PacketBatch;
    type Output = StageOutput;

    fn process(&mut self, batch: &PacketBatch, output: &mut StageOutput) {
        match self {
            RunStage::Shard(stage) => stage.process(batch, output),
            RunStage::Thresholds(stage) => {
                if let Some(idle) = batch.idle {
                    stage.idle(idle.until, &mut output.hits);
                }
                stage.process(batch.packets.as_slice(), &mut output.hits);
            }
        }
    }
}

impl RunStage {
    pub fn set_rules(&mut self, new: &Arc<ActiveRules>) {
        match self {
            RunStage::Thresholds(stage) => stage.set_rules(new),
            RunStage::Shard(stage) => stage.set_rules(new),
        }
    }
}

impl ShardStage {
    fn process(&mut self, batch: &PacketBatch, output: &mut StageOutput) {
        if let Some(epoch) = batch.idle.and_then(|idle| idle.aged) {
            self.shard.advance_to(epoch);
        }
        let mut events = batch.events.of_shard(self.number);
        for &NewSecond { second, index } in batch.events.seconds() {
            let (earlier, later) = events.split_at(events.partition_point(|e| e.index < index));
            self.process_events(batch, earlier, output);
            self.begin_second(second, &mut output.seconds);
            events = later;
        }
        self.process_events(batch, events, output);
    }

    /// Tells the load of the second that ends.
    pub fn end_second(&mut self, output: &mut SecondOutput) {
        if let Some(second) = self.second {
            let load = match self.shard.pending_stats() {
                Some(pending) => SecondLoad::with_pending(&pending, self.shard.stats().refused),
                None => SecondLoad { refused: self.shard.store_stats().full, ..Default::default() },
            };
            let of_second = load.since(self.load);
            output.loads.push((second, of_second));
            self.load = load;
            self.forgets_at_once = of_second.forgets_at_once();
        }
    }

    fn begin_second(&mut self, second: u64, output: &mut SecondOutput) {
        let follows = self.second.is_some_and(|last| second == last + 1);
        self.end_second(output);
        self.forgets_at_once &= follows;
        self.second = Some(second);
        if let Some(sample) = &mut self.sample {
            let lookups = self.shard.stats().lookups;
            let minute_over = |minute, counts| output.minutes.push((minute, counts));
            sample.begin_second(second, lookups, minute_over);
        }
    }

    fn process_events(&mut self, batch: &PacketBatch, events: &[Event], output: &mut StageOutput) {
        if events.is_empty() {
            return;
        }
        let rules = ShardRules {
            half_open: &self.half_open,
            held: &self.held,
            shown: self.active.shown_by_shards(),
            keyer: self.settings.keyer,
            touch_absent: self.settings.touch_absent,
            stopwatch: Some(self.settings.stopwatch),
        };
        let wanted = match self.shadow {
            Some(_) => Wanted::AlertsAndAnswers,
            None => Wanted::Alerts,
        };
        let packets = batch.packets.as_slice();
        let machine = &self.active.rules.machine;
        let sampled_below = self.sample.as_ref().map_or(0, Sample::threshold);
        let rules = &rules;
        let work =
            ShardWork { events, packets, machine, rules, given: None, wanted, sampled_below };
        std::mem::swap(&mut output.shard.sampled, &mut self.sampled);
        let (alerts, exact_alerts) = (output.shard.alerts.len(), output.shadow.alerts.len());
        self.shard.process(&work, &mut output.shard);
        if let Some(shadow) = &mut self.shadow {
            shadow.check(&work, &output.shard.answers, &mut output.shadow);
            output.shard.answers.clear();
        }
        if let Some(sample) = &mut self.sample {
            sample.check(&work, &mut output.shard.sampled);
        }
        if self.forgets_at_once {
            let exact_alerts = &mut output.shadow.alerts[exact_alerts..];
            for alert in output.shard.alerts[alerts..].iter_mut().chain(exact_alerts) {
                alert.event.marks = alert.event.marks.with(Marks::NO_SESSION_MUTED, true);
            }
        }
        std::mem::swap(&mut output.shard.sampled, &mut self.sampled);
    }

    pub fn set_rules(&mut self, new: &Arc<ActiveRules>) {
        let stats = self.shard.stats();
        stats.only_counted = carried_over(&stats.only_counted, &self.active.rules, &new.rules);
        self.half_open = new.rules.machine.half_open();
        self.held = new.rules.machine.half_open_or_over();
        self.active = Arc::clone(new);
    }
}

impl StageOutput {
    /// Moves what was found to `all`, and is empty again.
    pub fn append_to(&mut self, all: &mut BatchAlerts) {
        all.hits.append(&mut self.hits);
        all.alerts.append(&mut self.shard.alerts);
        all.exact_alerts.append(&mut self.shadow.alerts);
        all.steps.append(&mut self.shadow.steps);
    }
}
