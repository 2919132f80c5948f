//! Rules about packets of no connection, decided by what follows the packet: the store is not asked.
//!
//! So many alerts of a rule are reported in an hour of packet time; the rest is counted, and reported with
//! one more when the hour is over. Nothing is reported while the 5-tuples from before the capture are
//! unknown.

use super::hit::{Evidence, HitStage, ThresholdHit};
use crate::flow::Packet;
use crate::machine::{DecidedRule, Verdict};
use crate::time::{NANOS_PER_SEC, Timestamp};

const HOUR_NANOS: u64 = 3600 * NANOS_PER_SEC;

/// One rule, and what it has reported in this hour.
#[derive(Debug, Clone, Copy)]
struct Reported {
    rule: DecidedRule,
    hour: u64,
    shown: u32,
    /// How many were not, and the last of them.
    left_out: u64,
    last: Packet,
}

/// The rules, and what they have reported.
#[derive(Debug)]
pub(super) struct Decided {
    rules: Vec<Reported>,
    /// How long nothing is reported after the first packet.
    quiet_nanos: u64,
    quiet_until_nanos: Option<u64>,
}

impl Decided {
    pub fn new(quiet_nanos: u64) -> Decided {
        Decided { rules: Vec::new(), quiet_nanos, quiet_until_nanos: None }
    }

    /// Replaces the rules. Those that stay the same go on.
    pub fn set_rules(&mut self, rules: &[DecidedRule]) {
        let old = std::mem::take(&mut self.rules);
        self.rules.extend(rules.iter().map(|rule| {
            let same = old.iter().find(|reported| reported.rule == *rule).copied();
            let last = Packet::UNSPECIFIED;
            same.unwrap_or(Reported { rule: *rule, hour: 0, shown: 0, left_out: 0, last })
        }));
    }

    /// Notes the time of the first packet.
    #[cold]
    pub fn begin(&mut self, now_nanos: u64) {
        let until = now_nanos.saturating_add(self.quiet_nanos);
        self.quiet_until_nanos.get_or_insert(until);
    }

    /// It is decided that a packet belongs to no connection.
    pub fn decide(
        &mut self,
        by: Verdict,
        packet: &Packet,
        at_nanos: u64,
        fired: &mut impl FnMut(ThresholdHit),
    ) {
        if self.quiet_until_nanos.is_none_or(|until| packet.time.as_nanos() < until) {
            return;
        }
        let Some(reported) = self.rules.iter_mut().find(|reported| reported.rule.by == by) else {
            return;
        };
        reported.pass_to(at_nanos, fired);
        if reported.shown < reported.rule.per_hour {
            reported.shown += 1;
            fired(reported.hit(packet, at_nanos, 0));
        } else {
            reported.left_out += 1;
            reported.last = *packet;
        }
    }

    /// Reports what was left out in hours that are over.
    pub fn pass_to(&mut self, now_nanos: u64, fired: &mut impl FnMut(ThresholdHit)) {
        self.rules.iter_mut().for_each(|reported| reported.pass_to(now_nanos, fired));
    }

    /// Reports what was left out.
    pub fn finish(&mut self, fired: &mut impl FnMut(ThresholdHit)) {
        self.rules.iter_mut().for_each(|reported| reported.sum_up(fired));
    }
}

impl Reported {
    fn pass_to(&mut self, now_nanos: u64, fired: &mut impl FnMut(ThresholdHit)) {
        let hour = now_nanos / HOUR_NANOS;
        if hour > self.hour {
            self.sum_up(fired);
            (self.hour, self.shown) = (hour, 0);
        }
    }

    fn sum_up(&mut self, fired: &mut impl FnMut(ThresholdHit)) {
        if self.left_out > 0 {
            let last = self.last;
            fired(self.hit(&last, last.time.as_nanos(), self.left_out - 1));
            self.left_out = 0;
        }
    }

    fn hit(&self, packet: &Packet, at_nanos: u64, suppressed: u64) -> ThresholdHit {
        ThresholdHit {
            rule: self.rule.rule,
            severity: self.rule.severity,
            stage: HitStage::Start,
            time: Timestamp::from_nanos(at_nanos),
            source: Some(packet.src),
            destination: Some(packet.dst),
            packet: *packet,
            count: 1 + suppressed,
            suppressed,
            // What was left out was about others.
            evidence: Evidence { total: 1, ..Evidence::default() },
        }
    }
}
