//! Which alerts are shown, so that those that are shown are read.
//!
//! In this order: muted rules, home networks, the suppression list, the budgets of a second, the
//! cool-down per rule and source. Marks (`flow_fin`, `flow_rst`) are facts to be counted: they are
//! exempt from cool-down and budget. Thresholds have their own cool-down and are exempt from
//! the budget, so that chatter never hides a flood.
//!
//! Every rule has a budget of its own at each severity. Within it, sources of one class (a keyed hash of
//! their prefix, of 256) and destinations of one class share a part; and where the budget is spent, the first alert of each class of
//! sources is shown all the same. So noise of one rule hides no other rule, noise from one prefix or to
//! one victim hides no other, and forged sources must fill all classes in every second to hide one.

use std::net::IpAddr;
use std::sync::Arc;

use super::Alert;
use super::budget::Budgets;
use crate::engine::active_rules::{ActiveRules, carried_over};
use crate::machine::{RuleId, RuleKind, RuleSet, Rules};
use crate::time::Timestamp;
use acsm_filters::HashKey;

/// Pairs of rule and source whose cool-downs are kept.
const COOLDOWN_ENTRIES: usize = 1 << 14;

/// Decides which alerts are shown, and counts the rest.
#[derive(Debug)]
pub struct AlertLimits {
    active: Arc<ActiveRules>,
    hash_key: HashKey,
    cooldowns: Cooldowns,
    now: Timestamp,
    budgets: Budgets,
    /// How many alerts were shown, by rule.
    pub shown: [u64; RuleSet::LIMIT],
    /// How many came, shown or not.
    pub raised: [u64; RuleSet::LIMIT],
    /// How many were not, and why.
    pub suppressed: Suppressed,
}

/// Alerts that were not shown, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Suppressed {
    /// "No session" rules while starting up, in a one-way capture, or in a flood.
    pub muted: u64,
    /// Neither end is in a home network.
    pub foreign: u64,
    /// The suppression list names them.
    pub suppressed: u64,
    /// One of their rule and source was shown a short while ago.
    pub cooled_down: u64,
    /// Too many in one second.
    pub over_budget: u64,
    /// What followed showed that the store was wrong.
    pub refuted: u64,
}

impl Suppressed {
    /// Each with its name.
    pub fn by_reason(&self) -> [(&'static str, u64); 6] {
        [
            ("muted", self.muted),
            ("foreign", self.foreign),
            ("suppressed", self.suppressed),
            ("cooled_down", self.cooled_down),
            ("over_budget", self.over_budget),
            ("refuted", self.refuted),
        ]
    }

    /// All together.
    pub fn total(&self) -> u64 {
        self.by_reason().iter().map(|(_, count)| count).sum()
    }
}

impl AlertLimits {
    /// The limits of the rules file's settings and the user's suppression list.
    pub fn new(active: Arc<ActiveRules>, hash_key: HashKey) -> Self {
        AlertLimits {
            active,
            hash_key,
            cooldowns: Cooldowns::new(COOLDOWN_ENTRIES, hash_key),
            now: Timestamp::default(),
            budgets: Budgets::new(hash_key),
            shown: [0; RuleSet::LIMIT],
            raised: [0; RuleSet::LIMIT],
            suppressed: Suppressed::default(),
        }
    }

    /// Replaces the rules. Cool-downs go on, unless rules got other numbers.
    pub fn set_rules(&mut self, new: &Arc<ActiveRules>) {
        let names = |rules: &Rules| -> Vec<String> {
            rules.list.iter().map(|rule| rule.name.clone()).collect()
        };
        if names(&self.active.rules) != names(&new.rules) {
            self.cooldowns = Cooldowns::new(COOLDOWN_ENTRIES, self.hash_key);
        }
        self.shown = carried_over(&self.shown, &self.active.rules, &new.rules);
        self.raised = carried_over(&self.raised, &self.active.rules, &new.rules);
        self.active = Arc::clone(new);
    }

    /// Counts an alert of this rule that turned out to be an error of the store.
    pub fn refute(&mut self, rule: RuleId) {
        self.raised[usize::from(rule.0)] += 1;
        self.suppressed.refuted += 1;
    }

    /// Whether this rule is a mark.
    pub fn is_mark(&self, rule: RuleId) -> bool {
        self.active.rules.list.get(rule).is_some_and(|rule| rule.kind == RuleKind::Mark)
    }

    /// Whether `alert` is shown. It is given its severity and the number of its like that were
    /// suppressed before it.
    pub fn admits(&mut self, alert: &mut Alert, mute_no_session: bool) -> Admission {
        let Some(rule) = self.active.rules.list.get(alert.rule) else { return Admission::Unwanted };
        let packet = &alert.packet;
        self.raised[usize::from(rule.id.0)] += 1;
        alert.severity = self.active.home.severity(rule, alert.severity, packet);
        let (src, dst) = (alert.packet.src, alert.packet.dst);
        self.now = self.now.max(alert.time);
        if mute_no_session && rule.kind == RuleKind::NoSession {
            self.suppressed.muted += 1;
            return Admission::Unwanted;
        }
        let home = &self.active.rules.limits.home_networks;
        if !home.is_empty() && !home.iter().any(|net| net.contains(src) || net.contains(dst)) {
            self.suppressed.foreign += 1;
            return Admission::Unwanted;
        }
        let list = self.active.suppressions.as_ref();
        if list.is_some_and(|list| list.cover(&rule.name, src, dst)) {
            self.suppressed.suppressed += 1;
            return Admission::Unwanted;
        }
        // What was counted has a cool-down of its own.
        let is_counted = rule.kind == RuleKind::Mark || alert.count.is_some();
        if !is_counted {
            // The budget first: an alert that is not shown must not start a cool-down.
            let limit = self.active.rules.limits.alerts_per_second;
            if !self.budgets.have_room(alert, self.now, limit) {
                self.suppressed.over_budget += 1;
                return Admission::LeftOut;
            }
            match self.cooldowns.judge(rule.id, src, self.now, rule.cooldown_nanos) {
                Verdict::Show { suppressed } => alert.suppressed = suppressed,
                Verdict::Suppress => {
                    self.suppressed.cooled_down += 1;
                    return Admission::LeftOut;
                }
            }
            self.budgets.take(alert);
        }
        self.shown[usize::from(rule.id.0)] += 1;
        Admission::Shown
    }
}

/// What limits say of an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It is shown.
    Shown,
    /// It is one of too many: not shown, but it happened.
    LeftOut,
    /// Nobody wants it: muted, foreign or suppressed.
    Unwanted,
}

const WAYS: usize = 4;

/// The cool-downs per rule and source: a table of fixed size, so that an attacker who spoofs sources
/// cannot make it grow.
#[derive(Debug)]
struct Cooldowns {
    sets: Vec<[Option<Cooldown>; WAYS]>,
    hash_key: HashKey,
}

#[derive(Debug, Clone, Copy)]
struct Cooldown {
    rule: RuleId,
    source: IpAddr,
    silent_until: Timestamp,
    suppressed: u64,
}

/// What the table says about an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// It may be shown.
    Show {
        /// Alerts of the same rule and source suppressed in between.
        suppressed: u64,
    },
    /// It is one of many: counted, not shown.
    Suppress,
}

impl Cooldowns {
    /// A table for about `entries` pairs of rule and source.
    fn new(entries: usize, hash_key: HashKey) -> Self {
        let sets = (entries / WAYS).next_power_of_two();
        Cooldowns { sets: vec![[None; WAYS]; sets], hash_key }
    }

    /// Judges an alert at `now`. When a set is full, the entry that ends soonest is replaced: the
    /// worst that can happen is one alert too many.
    fn judge(&mut self, rule: RuleId, source: IpAddr, now: Timestamp, nanos: u64) -> Verdict {
        let address = match source {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
            IpAddr::V6(v6) => v6.to_bits(),
        };
        let words = [address as u64, (address >> 64) as u64, u64::from(rule.0)];
        let set = self.hash_key.digest(words) as usize & (self.sets.len() - 1);
        let fresh = Cooldown { rule, source, silent_until: now.plus(nanos), suppressed: 0 };
        let ways = &mut self.sets[set];
        let found = ways.iter_mut().flatten().find(|e| e.rule == rule && e.source == source);
        if let Some(entry) = found {
            if now < entry.silent_until {
                entry.suppressed += 1;
                return Verdict::Suppress;
            }
            let suppressed = entry.suppressed;
            *entry = fresh;
            return Verdict::Show { suppressed };
        }
        let victim = ways.iter_mut().min_by_key(|way| way.map(|entry| entry.silent_until));
        if let Some(victim) = victim {
            *victim = Some(fresh);
        }
        Verdict::Show { suppressed: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60_000_000_000;

    fn at(secs: u64) -> Timestamp {
        Timestamp::new(secs, 0)
    }

    #[test]
    fn one_per_minute_and_the_next_one_tells_how_many_were_suppressed() {
        let mut table = Cooldowns::new(64, HashKey::from_seed(1));
        let source = "192.0.2.1".parse().unwrap();
        let mut judge = |secs| table.judge(RuleId(3), source, at(secs), MINUTE);
        assert_eq!(judge(0), Verdict::Show { suppressed: 0 });
        assert_eq!(judge(1), Verdict::Suppress);
        assert_eq!(judge(59), Verdict::Suppress);
        assert_eq!(judge(60), Verdict::Show { suppressed: 2 });
        assert_eq!(judge(61), Verdict::Suppress);
    }

    #[test]
    fn rules_and_sources_are_judged_apart() {
        let mut table = Cooldowns::new(64, HashKey::from_seed(1));
        let show = Verdict::Show { suppressed: 0 };
        for source in ["192.0.2.1", "192.0.2.2", "::ffff:192.0.2.1"] {
            for rule in [1, 2] {
                let source = source.parse().unwrap();
                assert_eq!(table.judge(RuleId(rule), source, at(0), MINUTE), show);
            }
        }
    }

    #[test]
    fn made_up_sources_do_not_make_it_grow() {
        let mut table = Cooldowns::new(64, HashKey::from_seed(1));
        for n in 0..10_000u32 {
            let source = IpAddr::from(n.to_be_bytes());
            table.judge(RuleId(1), source, at(u64::from(n)), MINUTE);
        }
        assert_eq!(table.sets.len() * WAYS, 64);
    }
}
