//! What thins alerts out, so that those that remain are read.
//!
//! In this order: muted rules, home networks, the suppression list, the budget per second, the
//! cool-down per rule and source. Marks (`flow_fin`, `flow_rst`) are facts to be counted: they are
//! exempt from cool-down and budget. Thresholds have a cool-down of their own and are exempt from
//! the budget, so that chatter never hides a flood.

use super::alert::Alert;
use super::cooldown::{Cooldowns, Verdict};
use super::observer::{NewRules, carried_over};
use crate::machine::{RuleKind, RuleSet, Rules, Suppressions};
use crate::time::{NANOS_PER_SEC, Timestamp};
use acsm_filters::digest::HashKey;

/// Pairs of rule and source whose cool-down is remembered.
const COOLDOWN_ENTRIES: usize = 1 << 14;

/// Decides which alerts are shown, and counts the rest.
#[derive(Debug)]
pub struct AlertFilter<'a> {
    rules: &'a Rules,
    suppressions: &'a Suppressions,
    cooldowns: Cooldowns,
    now: Timestamp,
    second: u64,
    shown_this_second: u32,
    /// How many alerts were shown, by rule.
    pub shown: [u64; RuleSet::LIMIT],
    /// How many were not, and why.
    pub left_out: LeftOut,
}

/// Alerts that were not shown, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// "No session" rules while starting up or in a one-way capture.
    pub muted: u64,
    /// Neither end is in a home network.
    pub foreign: u64,
    /// The suppression list names them.
    pub suppressed: u64,
    /// One of their rule and source was shown a short while ago.
    pub cooled_down: u64,
    /// Too many in one second.
    pub over_budget: u64,
}

impl LeftOut {
    /// Each with its name.
    pub fn by_reason(&self) -> [(&'static str, u64); 5] {
        [
            ("muted", self.muted),
            ("foreign", self.foreign),
            ("suppressed", self.suppressed),
            ("cooled_down", self.cooled_down),
            ("over_budget", self.over_budget),
        ]
    }

    /// All together.
    pub fn total(&self) -> u64 {
        self.muted + self.foreign + self.suppressed + self.cooled_down + self.over_budget
    }
}

impl<'a> AlertFilter<'a> {
    /// A filter by the rules file's settings and the user's suppression list.
    pub fn new(rules: &'a Rules, suppressions: &'a Suppressions, hash_key: HashKey) -> Self {
        AlertFilter {
            rules,
            suppressions,
            cooldowns: Cooldowns::new(COOLDOWN_ENTRIES, hash_key),
            now: Timestamp::default(),
            second: 0,
            shown_this_second: 0,
            shown: [0; RuleSet::LIMIT],
            left_out: LeftOut::default(),
        }
    }

    /// Goes on under other rules. Cool-downs go on too, unless rules got other numbers.
    pub fn follow(&mut self, new: &'a NewRules, hash_key: HashKey) {
        let names = |rules: &Rules| -> Vec<String> {
            rules.list.iter().map(|rule| rule.name.clone()).collect()
        };
        if names(self.rules) != names(&new.rules) {
            self.cooldowns = Cooldowns::new(COOLDOWN_ENTRIES, hash_key);
        }
        self.shown = carried_over(&self.shown, self.rules, &new.rules);
        (self.rules, self.suppressions) = (&new.rules, &new.suppressions);
    }

    /// Whether `alert` is shown. If so, it learns how many like it were left out before it.
    pub fn admits(&mut self, alert: &mut Alert, mute_no_session: bool) -> bool {
        let Some(rule) = self.rules.list.get(alert.rule) else { return false };
        let (src, dst) = (alert.packet.src, alert.packet.dst);
        self.now = self.now.max(alert.time);
        if mute_no_session && rule.kind == RuleKind::NoSession {
            self.left_out.muted += 1;
            return false;
        }
        let home = &self.rules.limits.home_networks;
        if !home.is_empty() && !home.iter().any(|net| net.contains(src) || net.contains(dst)) {
            self.left_out.foreign += 1;
            return false;
        }
        if self.suppressions.cover(&rule.name, src, dst) {
            self.left_out.suppressed += 1;
            return false;
        }
        if !matches!(rule.kind, RuleKind::Mark | RuleKind::Threshold) {
            // The budget first: an alert that is not shown must not silence those after it.
            if !self.has_budget() {
                self.left_out.over_budget += 1;
                return false;
            }
            match self.cooldowns.judge(rule.id, src, self.now, rule.cooldown_nanos) {
                Verdict::Show { left_out } => alert.left_out = left_out,
                Verdict::LeaveOut => {
                    self.left_out.cooled_down += 1;
                    return false;
                }
            }
            self.shown_this_second += 1;
        }
        self.shown[usize::from(rule.id.0)] += 1;
        true
    }

    /// Whether this second may show one more.
    fn has_budget(&mut self) -> bool {
        let second = self.now.as_nanos() / NANOS_PER_SEC;
        if second != self.second {
            self.second = second;
            self.shown_this_second = 0;
        }
        self.shown_this_second < self.rules.limits.alerts_per_second
    }
}
