//! Accounts of services: of each (destination, port), how many SYNs it was sent, how many of them were
//! completed, refused or left alone, and how many connections had no data.
//!
//! Every SYN is counted. What becomes of them is known of a sample: those that are watched
//! ([`WATCHED_PER_SLICE`] in half a second, and fewer while too many are pending at once); the rest are
//! taken to fare like them. So a flood takes a bounded number of places among the pending first packets, and
//! scans inside it are still seen.
//!
//! A flood is judged twice: SYNs of at least a second ago of which half or more are not completed, if there
//! are many in half a second; and SYNs whose time limit is over.

use super::account::{Account, FAST_NANOS, Judged, SLICES, ServiceRules};
use super::cases::CaseId;
use super::hit::ThresholdHit;
use super::rule_counters::RuleCounters;
use super::tuples::TupleHasher;
use super::window_counts::Slicing;
use crate::flow::Packet;
use crate::machine::ThresholdRule;
use crate::time::NANOS_PER_SEC;
use acsm_filters::memory::{Arena, Table};

const WAYS: usize = 8;
/// The most SYNs of a service that are watched in half a second.
const WATCHED_PER_SLICE: u16 = 128;
/// The keys of a set, and until when they are worth keeping.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Set {
    keys: [u64; WAYS],
    keep: [u32; WAYS],
}

/// Where the account of a service is. Later it may be that of another one.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServiceAt(pub u32);

/// What an account says about a SYN that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Its service is under attack.
    Attacked,
    /// Most attempts at it succeed.
    Works,
    /// Neither.
    Unknown,
}

/// The accounts of services.
#[derive(Debug)]
pub(super) struct Services {
    sets: Table<Set>,
    accounts: Table<Account>,
    rules: ServiceRules,
    hasher: TupleHasher,
    quarters: Slicing,
    halves: Slicing,
    pub evicted: u64,
}

impl Services {
    /// Room for about `keys` services, if there are rules about them.
    pub fn new_in(
        arena: &Arena,
        rules: &[ThresholdRule],
        keys: usize,
        hasher: TupleHasher,
    ) -> Services {
        let rules = ServiceRules::of(rules);
        let is_used = rules.window_nanos().is_some();
        let sets = if is_used { keys.div_ceil(WAYS).next_power_of_two() } else { 0 };
        Services {
            sets: arena.small_table(sets, Set { keys: [0; WAYS], keep: [0; WAYS] }),
            accounts: arena.small_table(sets * WAYS, Account::default()),
            quarters: Slicing::new(rules.window_nanos().unwrap_or(10 * NANOS_PER_SEC)),
            halves: Slicing::new(SLICES as u64 * FAST_NANOS),
            rules,
            hasher,
            evicted: 0,
        }
    }

    /// Replaces the rules. Accounts are kept if there were any.
    pub fn set_rules(&mut self, arena: &Arena, rules: &[ThresholdRule], keys: usize) {
        let new = ServiceRules::of(rules);
        if new.window_nanos() == self.rules.window_nanos() {
            self.rules = new;
        } else {
            *self = Services::new_in(arena, rules, keys, self.hasher);
        }
    }

    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.sets) + size_of_val(&*self.accounts)
    }

    /// Counts a SYN. Returns where its account is, and whether it is to be watched.
    pub fn syn(
        &mut self,
        packet: &Packet,
        at_nanos: u64,
        rules: &mut RuleCounters,
        fired: &mut impl FnMut(ThresholdHit),
    ) -> (ServiceAt, bool) {
        let key = self.key(packet);
        let Some((at, is_new)) = self.enter(key, at_nanos) else { return (ServiceAt(0), true) };
        let (quarter, half) = (self.quarters.number_at(at_nanos), self.halves.number_at(at_nanos));
        let Some(account) = self.accounts.get_mut(at) else { return (ServiceAt(0), true) };
        if is_new {
            *account = Account { quarter, half, ..Account::default() };
        }
        if half > account.half {
            account.advance(quarter, half, &rules.cases);
            let keep = (at_nanos / NANOS_PER_SEC) as u32 + account.worth(&rules.cases);
            if let Some(place) = self.sets.get_mut(at / WAYS) {
                place.keep[at % WAYS] = keep;
            }
            if let Some((count, permille)) = account.judge_halves() {
                let judged = Judged { count, permille, packet, at_nanos };
                account.reach(&self.rules, judged, rules, fired);
            }
        }
        account.quarters[account.quarter as usize % SLICES].syns += 1;
        let half = &mut account.halves[account.half as usize % SLICES];
        half.syns += 1;
        let watch = half.watched < WATCHED_PER_SLICE;
        // An attack ends, and the service is used on.
        let since_attack = account.quarter.saturating_sub(account.attacked);
        if account.case != CaseId::NONE && since_attack < SLICES as u64 / 2 {
            rules.cases.add_attempt(account.case, packet, at_nanos, fired);
        }
        (ServiceAt(at as u32), watch)
    }

    /// The SYN that was just counted is watched.
    pub fn watched(&mut self, at: ServiceAt) {
        if let Some(account) = self.accounts.get_mut(at.0 as usize) {
            account.quarters[account.quarter as usize % SLICES].watched += 1;
            account.halves[account.half as usize % SLICES].watched += 1;
        }
    }

    /// The opener of a watched SYN has completed the handshake. Returns whether the connection is to be
    /// followed until it has data.
    pub fn completed(&mut self, at: ServiceAt, packet: &Packet, syn_nanos: u64) -> bool {
        let half = syn_nanos / FAST_NANOS;
        let empty = self.rules.empty;
        let Some(account) = self.find(at, packet) else { return false };
        account.now().completed += 1;
        account.now().answered += 1;
        if account.half.saturating_sub(half) < SLICES as u64 {
            account.halves[half as usize % SLICES].completed += 1;
        }
        let so_far = || account.quarters.iter().map(|quarter| quarter.completed).sum::<u32>();
        empty.is_some_and(|rule| so_far() >= rule.count / 4)
    }

    /// Whether a connection that is followed has data.
    pub fn has_data(
        &mut self,
        (at, packet): (ServiceAt, &Packet),
        has_data: bool,
        at_nanos: u64,
        rules: &mut RuleCounters,
        fired: &mut impl FnMut(ThresholdHit),
    ) {
        let Some(rule) = self.rules.empty else { return };
        let Some(account) = self.find(at, packet) else { return };
        if has_data {
            account.now().with_data += 1;
            return;
        }
        account.now().empty += 1;
        let all = account.total();
        let decided = u64::from(all.empty + all.with_data);
        let completed = u64::from(all.completed) * u64::from(all.syns.max(all.watched))
            / u64::from(all.watched.max(1));
        let connections = completed.max(decided);
        let count = connections * u64::from(all.empty) / decided.max(1);
        let permille = (u64::from(all.empty) * 1000 / decided.max(1)) as u16;
        let (syns, watched) = (u64::from(all.syns), u64::from(all.watched.max(1)));
        let stands_for = ((syns + watched / 2) / watched).max(1);
        let cases = &mut rules.cases;
        if cases.is_open(account.empty_case) {
            cases.add(account.empty_case, packet, stands_for, at_nanos, fired);
            cases.grade(
                account.empty_case,
                (count, rule.severity_of(count, false)),
                at_nanos,
                fired,
            );
        } else if count >= rule.count.into() && permille >= rule.conditions.share_permille {
            let judged = Judged { count, permille, packet, at_nanos };
            let mut hit = judged.hit(&rule, rule.severity_of(count, false));
            hit.evidence.has_real_sources = true;
            let total = u64::from(all.empty) * stands_for;
            account.empty_case = cases.open(hit, total, rule.window_nanos, [].iter(), fired);
        }
    }

    /// A watched SYN was not completed: it was answered or not, and perhaps refused.
    pub fn failed(
        &mut self,
        (at, packet): (ServiceAt, &Packet),
        (is_answered, is_refused): (bool, bool),
        at_nanos: u64,
        rules: &mut RuleCounters,
        fired: &mut impl FnMut(ThresholdHit),
    ) -> Standing {
        let service_rules = self.rules;
        let bit = self.hasher.address(packet.src, 0) as usize % 128;
        let Some(account) = self.find(at, packet) else { return Standing::Unknown };
        let now = account.now();
        now.failed += 1;
        now.refused += u32::from(is_refused);
        now.answered += u32::from(is_answered || is_refused);
        account.sources[bit / 64] |= 1 << (bit % 64);
        let all = account.total();
        let failed = u64::from(all.failed);
        let count = failed * u64::from(all.syns.max(all.watched)) / u64::from(all.watched.max(1));
        let permille = (failed * 1000 / u64::from(all.failed + all.completed)) as u16;
        let share = service_rules.flood.map_or(500, |rule| rule.conditions.share_permille);
        if permille < share {
            return Standing::Works;
        }
        let judged = Judged { count, permille, packet, at_nanos };
        account.reach(&service_rules, judged, rules, fired);
        match rules.cases.is_open(account.case) {
            true => Standing::Attacked,
            false => Standing::Unknown,
        }
    }

    /// The account of a packet's service, if it is still there.
    fn find(&mut self, ServiceAt(at): ServiceAt, packet: &Packet) -> Option<&mut Account> {
        let (at, key) = (at as usize, self.key(packet));
        let set = self.sets.get(at / WAYS)?;
        self.accounts.get_mut(at).filter(|_| set.keys[at % WAYS] == key)
    }

    /// The place of a key, and whether it is new there.
    #[inline]
    fn enter(&mut self, key: u64, at_nanos: u64) -> Option<(usize, bool)> {
        let number = self.set_of(key);
        let set = self.sets.get_mut(number)?;
        if let Some(way) = set.keys.iter().position(|taken| *taken == key) {
            return Some((number * WAYS + way, false));
        }
        let mut way = 0;
        for other in 1..WAYS {
            if set.keep[other] < set.keep[way] {
                way = other;
            }
        }
        let second = (at_nanos / NANOS_PER_SEC) as u32;
        self.evicted += u64::from(set.keep[way] >= second);
        set.keys[way] = key;
        set.keep[way] = second;
        Some((number * WAYS + way, true))
    }

    #[inline]
    fn set_of(&self, key: u64) -> usize {
        (key >> 40) as usize & self.sets.len().wrapping_sub(1)
    }

    #[inline]
    fn key(&self, packet: &Packet) -> u64 {
        self.hasher.address(packet.dst, u64::from(packet.dst_port) | 1 << 40)
    }
}
