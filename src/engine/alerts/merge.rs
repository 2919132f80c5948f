//! Merges the alerts of all shards in packet order, applies the limits and passes them on.

use std::collections::HashMap;
use std::io;
use std::slice;
use std::sync::Arc;

use super::confirm::{Confirmations, Decision};
use super::limits::{Admission, AlertLimits, Suppressed};
use super::order::{Indexed, Merge, RawAlert, in_order};
use super::{Sink, WatchStep};
use crate::engine::active_rules::ActiveRules;
use crate::engine::incidents::{Incident, IncidentTracker, Incidents, PastSyns};
use crate::engine::overload::OverloadEvent;
use crate::engine::thresholds::ThresholdHit;
use crate::flow::{FlowKey, Keyer, Packet};
use crate::machine::{RuleId, RuleSet, Rules};
use crate::time::Timestamp;

/// Where the alerts of all shards come together. One per run, in the thread that reads.
pub struct AlertMerger<'a> {
    sink: &'a mut dyn Sink,
    keyer: Keyer,
    rules: Arc<Rules>,
    limits: AlertLimits,
    incidents: IncidentTracker,
    exact: Option<ExactAlerts>,
    confirmations: Confirmations,
    /// Alerts shown that belong to no incident, marks aside.
    alone: u64,
    /// The order of a batch's alerts: a buffer that is reused.
    order: Vec<u64>,
}

/// What would have been shown had the store been exact.
struct ExactAlerts {
    limits: AlertLimits,
    /// Alerts shown less alerts that an exact store would have shown.
    surplus: HashMap<(RuleId, FlowKey), i64>,
}

/// What all stages found in one batch.
#[derive(Debug, Default)]
pub struct BatchAlerts {
    /// Thresholds that were reached, each with its packet's index.
    pub hits: Vec<(u32, ThresholdHit)>,
    /// Alerts by the answers of the store.
    pub alerts: Vec<RawAlert>,
    /// Alerts by the exact shadow.
    pub exact_alerts: Vec<RawAlert>,
    /// Steps of the watched flow, each with its packet's index.
    pub steps: Vec<(u32, WatchStep)>,
}

impl BatchAlerts {
    fn clear(&mut self) {
        self.hits.clear();
        self.alerts.clear();
        self.exact_alerts.clear();
        self.steps.clear();
    }
}

/// What became of all alerts.
#[derive(Debug, Clone)]
pub struct AlertCounts {
    /// Shown, by rule.
    pub shown: [u64; RuleSet::LIMIT],
    /// Raised, by rule, before all limits.
    pub raised: [u64; RuleSet::LIMIT],
    /// Shown, and part of no incident; marks aside.
    pub alone: u64,
    /// Not shown, by reason.
    pub suppressed: Suppressed,
    /// Against the exact shadow, if there was one.
    pub difference: Option<AlertDifference>,
    /// What belongs together of them.
    pub incidents: Incidents,
}

/// The multiset difference, over (rule, flow), to what an exact store would have shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AlertDifference {
    /// Alerts that only an exact store would have shown.
    pub missed: u64,
    /// Alerts that an exact store would not have shown.
    pub spurious: u64,
}

/// From the surplus of each (rule, flow): alerts shown less those of an exact store.
impl FromIterator<i64> for AlertDifference {
    fn from_iter<I: IntoIterator<Item = i64>>(surpluses: I) -> AlertDifference {
        let mut difference = AlertDifference::default();
        for surplus in surpluses {
            match surplus < 0 {
                true => difference.missed += surplus.unsigned_abs(),
                false => difference.spurious += surplus.unsigned_abs(),
            }
        }
        difference
    }
}

impl<'a> AlertMerger<'a> {
    /// Passes on to `sink` what the limits admit. `compares`: counts beside what an exact store
    /// would have shown.
    pub fn new(
        sink: &'a mut dyn Sink,
        keyer: Keyer,
        active: &Arc<ActiveRules>,
        compares: bool,
    ) -> AlertMerger<'a> {
        let limits = || AlertLimits::new(Arc::clone(active), keyer.hash_key);
        let exact = compares.then(|| ExactAlerts { limits: limits(), surplus: HashMap::new() });
        let incidents = IncidentTracker::new(active, keyer.hash_key);
        let rules = Arc::clone(&active.rules);
        AlertMerger {
            sink,
            keyer,
            rules,
            limits: limits(),
            incidents,
            exact,
            confirmations: Confirmations::default(),
            alone: 0,
            order: Vec::new(),
        }
    }

    /// Takes the alerts of one batch, in any order, and leaves `found` empty.
    pub fn merge(&mut self, packets: &[Packet], found: &mut BatchAlerts) -> io::Result<()> {
        found.steps.sort_unstable_by_key(|(index, _)| *index);
        let mut steps = found.steps.iter().peekable();
        let mut shown = !found.steps.is_empty();
        let mut order = std::mem::take(&mut self.order);
        let rules = Arc::clone(&self.rules);
        let merge = Merge { packets, hits: &found.hits, keyer: self.keyer, rules: &rules.list };
        let mut seen = 0;
        merge.each(in_order(&found.alerts, &mut order), |alert| {
            let up_to = packets.len().min(alert.index.saturating_add(1) as usize);
            shown |= self.pass(packets.get(seen..up_to).unwrap_or_default())?;
            seen = seen.max(up_to);
            while let Some((_, step)) = steps.next_if(|(index, _)| *index <= alert.index) {
                self.sink.step(step)?;
            }
            shown |= self.take(alert)?;
            Ok(())
        })?;
        for (_, step) in steps {
            self.sink.step(step)?;
        }
        shown |= self.pass(packets.get(seen..).unwrap_or_default())?;
        shown |= self.tell_incidents()?;
        if let Some(exact) = &mut self.exact {
            merge.each(in_order(&found.exact_alerts, &mut order), |alert| {
                if alert.is_news() {
                    return Ok(());
                }
                let admission = exact.limits.admits(&mut alert.alert, alert.muted);
                if admission == Admission::Shown {
                    *exact.surplus.entry(alert.key(self.keyer)).or_default() -= 1;
                }
                Ok(())
            })?;
        }
        self.order = order;
        found.clear();
        if shown { self.sink.flush() } else { Ok(()) }
    }

    /// Takes packets that raise no alert. Returns whether an alert was shown that had waited for them.
    fn pass(&mut self, packets: &[Packet]) -> io::Result<bool> {
        if self.confirmations.is_empty() {
            self.incidents.observe(packets);
            return Ok(false);
        }
        let mut shown = false;
        for packet in packets {
            self.incidents.observe(slice::from_ref(packet));
            let decided = self.confirmations.decide(packet);
            shown |= self.show_decided(decided)?;
        }
        Ok(shown)
    }

    /// Shows alerts that have waited, unless they are refuted.
    fn show_decided(&mut self, decided: Vec<(Indexed, bool)>) -> io::Result<bool> {
        let mut shown = false;
        for (mut indexed, is_refuted) in decided {
            match is_refuted {
                true => self.limits.refute(indexed.alert.rule),
                false => shown |= self.show(&mut indexed)?,
            }
        }
        Ok(shown)
    }

    /// Shows an alert, or lets it wait for confirmation.
    fn take(&mut self, indexed: &mut Indexed) -> io::Result<bool> {
        let rule = self.rules.list.get(indexed.alert.rule);
        // What is compared with an exact table is shown as the store has it.
        let is_doubtful = indexed.is_approximate && self.exact.is_none();
        let Some(confirm) = rule.and_then(|rule| rule.confirm).filter(|_| is_doubtful) else {
            return self.show(indexed);
        };
        let past = match confirm.by.looks_back() {
            true => self.incidents.past_syns(&indexed.alert.packet),
            false => PastSyns::default(),
        };
        match self.confirmations.take(confirm, indexed, past) {
            Decision::Show => self.show(indexed),
            Decision::Refuted => {
                self.limits.refute(indexed.alert.rule);
                Ok(false)
            }
            Decision::Waits => Ok(false),
        }
    }

    fn show(&mut self, indexed: &mut Indexed) -> io::Result<bool> {
        if let Some(news) = indexed.hit.filter(|_| indexed.is_news()) {
            self.incidents.news(&news);
            return self.tell_incidents();
        }
        let admission = self.limits.admits(&mut indexed.alert, indexed.muted);
        if admission != Admission::Unwanted {
            let Indexed { alert, hit, .. } = &*indexed;
            indexed.alert.incident = self.incidents.alert(alert, hit.as_ref());
        }
        let is_told = self.tell_incidents()?;
        let is_shown = admission == Admission::Shown;
        if is_shown {
            let is_alone =
                indexed.alert.incident.is_none() && !self.limits.is_mark(indexed.alert.rule);
            self.alone += u64::from(is_alone);
            if let Some(exact) = &mut self.exact {
                *exact.surplus.entry(indexed.key(self.keyer)).or_default() += 1;
            }
            self.sink.alert(&indexed.alert)?;
        }
        Ok(is_shown || is_told)
    }

    /// Passes on what is to be told of incidents. Returns whether there was anything.
    fn tell_incidents(&mut self) -> io::Result<bool> {
        if !self.incidents.has_events() {
            return Ok(false);
        }
        for event in self.incidents.take_events() {
            self.sink.incident(&event)?;
        }
        Ok(true)
    }

    /// Time passes without packets.
    pub fn idle(&mut self, until: Timestamp) -> io::Result<()> {
        self.incidents.pass_to(until);
        let overdue = self.confirmations.overdue(until);
        let shown = self.show_decided(overdue)?;
        if shown | self.tell_incidents()? { self.sink.flush() } else { Ok(()) }
    }

    /// Open incidents and the latest of the others, at most this many; how many are open; and how many there were in all.
    pub fn incidents(&self, most: usize) -> (Vec<Incident>, u64, u64) {
        let (open, total) = self.incidents.counts();
        (self.incidents.so_far(most), open, total)
    }

    /// Alerts shown, by rule, and suppressed, by reason, so far.
    pub fn so_far(&self) -> ([u64; RuleSet::LIMIT], Suppressed) {
        (self.limits.shown, self.limits.suppressed)
    }

    /// Passes on the beginning or the end of an overload.
    pub fn overload(&mut self, event: &OverloadEvent) -> io::Result<()> {
        self.sink.overload(event)?;
        self.sink.flush()
    }

    /// Replaces the rules.
    pub fn set_rules(&mut self, new: &Arc<ActiveRules>) {
        self.rules = Arc::clone(&new.rules);
        self.limits.set_rules(new);
        self.incidents.set_rules(new);
        if let Some(exact) = &mut self.exact {
            exact.limits.set_rules(new);
        }
    }

    /// Ends all incidents. What became of all alerts.
    pub fn finish(mut self) -> io::Result<AlertCounts> {
        let undecided = self.confirmations.overdue(Timestamp::from_nanos(u64::MAX));
        if self.show_decided(undecided)? {
            self.sink.flush()?;
        }
        let incidents = self.incidents.finish();
        if self.tell_incidents()? {
            self.sink.flush()?;
        }
        let difference = self.exact.map(|exact| exact.surplus.into_values().collect());
        let AlertLimits { shown, raised, suppressed, .. } = self.limits;
        let alone = self.alone;
        Ok(AlertCounts { shown, raised, alone, suppressed, difference, incidents })
    }
}
