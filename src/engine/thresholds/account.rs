//! The account of one service, and what it says: that the service is flooded, down, or in use.

use super::cases::{CaseId, Cases};
use super::hit::{Evidence, HitStage, ThresholdHit};
use super::rule_counters::RuleCounters;
use crate::flow::Packet;
use crate::machine::{Counted, ThresholdKey, ThresholdRule};
use crate::time::{NANOS_PER_SEC, Timestamp};

/// Slices of a window, and of the last two seconds.
pub(super) const SLICES: usize = 4;
/// The length of one of the latter.
pub(super) const FAST_NANOS: u64 = NANOS_PER_SEC / 2;
/// SYNs in half a second that are judged after a second, at least.
const FAST_SYNS: u32 = 1000;
/// Sources of a restarted service's clients, at most, where it is not known from before.
const FEW_SOURCES: f64 = 3.5;
/// Attempts after which the share of answers is known.
const KNOWN_ATTEMPTS: u32 = 20;

/// What happened in a quarter of the window.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Quarter {
    pub syns: u32,
    pub watched: u32,
    pub completed: u32,
    pub failed: u32,
    pub refused: u32,
    pub answered: u32,
    pub empty: u32,
    pub with_data: u32,
}

/// SYNs of half a second.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HalfSecond {
    pub syns: u32,
    pub watched: u16,
    pub completed: u16,
}

/// What is known of one service.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Account {
    pub quarters: [Quarter; SLICES],
    pub quarter: u64,
    pub halves: [HalfSecond; SLICES],
    pub half: u64,
    /// Sources of SYNs that failed, one bit each, by their hashes.
    pub sources: [u64; 2],
    /// The share of attempts that were answered before, in parts of 1000.
    pub answered_permille: u16,
    /// Whether that is known.
    pub is_known: bool,
    /// Whether connections were completed before.
    pub was_used: bool,
    /// Whether `case` is that of a service that is down.
    pub is_down: bool,
    pub case: CaseId,
    pub empty_case: CaseId,
    /// The last quarter in which it was attacked, or down.
    pub attacked: u64,
}

/// The rules that go by accounts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ServiceRules {
    pub flood: Option<ThresholdRule>,
    pub down: Option<ThresholdRule>,
    pub empty: Option<ThresholdRule>,
}

impl ServiceRules {
    pub fn of(rules: &[ThresholdRule]) -> ServiceRules {
        let of_services = || rules.iter().filter(|rule| rule.per == ThresholdKey::Service);
        let find = |counted| of_services().find(|rule| rule.counted == counted).copied();
        ServiceRules {
            flood: find(Counted::IncompleteSyns),
            down: find(Counted::RefusedSyns),
            empty: find(Counted::EmptyConnections),
        }
    }

    /// The window, which is the same for all: that of the first.
    pub fn window_nanos(&self) -> Option<u64> {
        let first = self.flood.or(self.down).or(self.empty);
        first.map(|rule| rule.window_nanos)
    }
}

/// A count of a service that may be one too many.
pub(super) struct Judged<'p> {
    pub count: u64,
    pub permille: u16,
    pub packet: &'p Packet,
    pub at_nanos: u64,
}

impl Judged<'_> {
    pub fn hit(&self, rule: &ThresholdRule, severity: u8) -> ThresholdHit {
        let packet = *self.packet;
        ThresholdHit {
            rule: rule.rule,
            severity,
            stage: HitStage::Start,
            time: Timestamp::from_nanos(self.at_nanos),
            source: None,
            destination: Some(packet.dst),
            packet,
            count: self.count,
            suppressed: 0,
            evidence: Evidence {
                port: Some(packet.dst_port),
                failed_permille: self.permille,
                ..Evidence::default()
            },
        }
    }
}

impl Account {
    /// The present quarter of the window.
    pub fn now(&mut self) -> &mut Quarter {
        &mut self.quarters[self.quarter as usize % SLICES]
    }

    /// The sum of the window.
    pub fn total(&self) -> Quarter {
        self.quarters.iter().fold(Quarter::default(), |all, one| Quarter {
            syns: all.syns + one.syns,
            watched: all.watched + one.watched,
            completed: all.completed + one.completed,
            failed: all.failed + one.failed,
            refused: all.refused + one.refused,
            answered: all.answered + one.answered,
            empty: all.empty + one.empty,
            with_data: all.with_data + one.with_data,
        })
    }

    /// For how many seconds more it is worth keeping: the longer the more it is asked for.
    pub fn worth(&self, cases: &Cases) -> u32 {
        let syns = self.quarters.iter().map(|quarter| quarter.syns).sum::<u32>();
        syns.min(60) + if cases.is_open(self.case) { 600 } else { 0 }
    }

    /// Moves on to a later time.
    pub fn advance(&mut self, quarter: u64, half: u64, cases: &Cases) {
        for gone in 0..half.saturating_sub(self.half).min(SLICES as u64) {
            self.halves[(half - gone) as usize % SLICES] = HalfSecond::default();
        }
        self.half = half;
        if quarter <= self.quarter {
            return;
        }
        let passed = (quarter - self.quarter).min(SLICES as u64);
        for gone in (0..passed).rev() {
            let at = (quarter - gone) as usize % SLICES;
            let old = std::mem::take(&mut self.quarters[at]);
            self.was_used |= old.completed > 0;
            let decided = old.completed + old.failed;
            if decided >= KNOWN_ATTEMPTS && !cases.is_open(self.case) {
                let permille = (u64::from(old.answered) * 1000 / u64::from(decided)) as u32;
                let before =
                    if self.is_known { u32::from(self.answered_permille) } else { permille };
                self.answered_permille = ((3 * before + permille) / 4) as u16;
                self.is_known = true;
            }
        }
        if passed == SLICES as u64 {
            self.sources = [0; 2];
        }
        self.quarter = quarter;
    }

    /// The count and share of SYNs that are not completed after a second, if there are many.
    pub fn judge_halves(&self) -> Option<(u64, u16)> {
        let judged = self.halves[(self.half + 1) as usize % SLICES];
        if judged.syns < FAST_SYNS || judged.watched < 32 {
            return None;
        }
        let open = u64::from(judged.watched.saturating_sub(judged.completed));
        let permille = open * 1000 / u64::from(judged.watched);
        let all: u64 = self.quarters.iter().map(|quarter| u64::from(quarter.syns)).sum();
        let recent: u64 = self.halves.iter().map(|half| u64::from(half.syns)).sum();
        Some((all.max(recent) * permille / 1000, permille as u16))
    }

    /// A count that may be one too many: opens a case if it is, or goes on with the open one.
    pub fn reach(
        &mut self,
        service: &ServiceRules,
        judged: Judged<'_>,
        rules: &mut RuleCounters,
        fired: &mut impl FnMut(ThresholdHit),
    ) {
        let all = self.total();
        let is_down = self.looks_down(&all);
        let rule = if is_down { service.down.or(service.flood) } else { service.flood };
        let Some(rule) = rule else { return };
        let is_enough = judged.count >= rule.count.into()
            && judged.permille >= rule.conditions.share_permille
            && rule.conditions.ports.contains(judged.packet.dst_port);
        if !is_enough {
            return;
        }
        self.attacked = self.quarter;
        let decided = u64::from(all.failed + all.completed).max(1);
        let answered = u64::from(all.answered) * 1000 / decided;
        let halved =
            self.is_known && all.failed > 0 && 2 * answered <= self.answered_permille.into();
        let severity = rule.severity_of(judged.count, halved);
        let Judged { count, permille, packet, at_nanos } = judged;
        if rules.cases.is_open(self.case) && self.is_down == is_down {
            rules.cases.set_failed(self.case, permille);
            rules.cases.grade(self.case, (count, severity), at_nanos, fired);
            return;
        }
        // One of many that share a prefix under attack: the case of that says more.
        let of_prefix = rules.attacked_prefix(packet, at_nanos);
        if of_prefix.is_some_and(|all| 2 * count < u64::from(all)) {
            return;
        }
        let hit = judged.hit(&rule, severity);
        (self.is_down, self.case) = (is_down, rules.open_service(hit, rule.window_nanos, fired));
    }

    /// Whether it refuses what it is asked: of few sources, or of those that ask it again and again although it
    /// used to accept.
    fn looks_down(&self, all: &Quarter) -> bool {
        if all.refused * 10 < all.failed * 9 || all.refused == 0 {
            return false;
        }
        let set = self.sources[0].count_ones() + self.sources[1].count_ones();
        let unset = 128u32.saturating_sub(set).max(1);
        let sources = 128.0 * (128.0 / f64::from(unset)).ln();
        sources < FEW_SOURCES
            || (self.was_used || all.completed >= KNOWN_ATTEMPTS)
                && set < 120
                && f64::from(all.failed) >= 3.0 * sources
    }
}
