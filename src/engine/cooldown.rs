//! One alert per rule and source in a while: a table of fixed size, so that an attacker who makes
//! up sources cannot make it grow.

use std::net::IpAddr;

use crate::machine::RuleId;
use crate::time::Timestamp;
use acsm_filters::digest::HashKey;

const WAYS: usize = 4;

/// Remembers which (rule, source) fired when, and how many were left out since.
#[derive(Debug)]
pub struct Cooldowns {
    sets: Vec<[Option<Entry>; WAYS]>,
    hash_key: HashKey,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    rule: RuleId,
    source: IpAddr,
    silent_until: Timestamp,
    left_out: u64,
}

/// What the table says about an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It may be shown; so many like it were left out since the last one.
    Show {
        /// Alerts of the same rule and source left out in between.
        left_out: u64,
    },
    /// It is one of many: counted, not shown.
    LeaveOut,
}

impl Cooldowns {
    /// A table for about `entries` pairs of rule and source.
    pub fn new(entries: usize, hash_key: HashKey) -> Self {
        let sets = (entries / WAYS).next_power_of_two();
        Cooldowns { sets: vec![[None; WAYS]; sets], hash_key }
    }

    /// Judges an alert at `now`. When a set is full, the entry that ends soonest makes room: the
    /// worst that can happen is an alert too many.
    pub fn judge(&mut self, rule: RuleId, source: IpAddr, now: Timestamp, nanos: u64) -> Verdict {
        let address = match source {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
            IpAddr::V6(v6) => v6.to_bits(),
        };
        let words = [address as u64, (address >> 64) as u64, u64::from(rule.0)];
        let set = self.hash_key.digest(words) as usize & (self.sets.len() - 1);
        let fresh = Entry { rule, source, silent_until: now.plus(nanos), left_out: 0 };
        let ways = &mut self.sets[set];
        let found = ways.iter_mut().flatten().find(|e| e.rule == rule && e.source == source);
        if let Some(entry) = found {
            if now < entry.silent_until {
                entry.left_out += 1;
                return Verdict::LeaveOut;
            }
            let left_out = entry.left_out;
            *entry = fresh;
            return Verdict::Show { left_out };
        }
        let victim = ways.iter_mut().min_by_key(|way| way.map(|entry| entry.silent_until));
        if let Some(victim) = victim {
            *victim = Some(fresh);
        }
        Verdict::Show { left_out: 0 }
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
    fn one_a_minute_and_the_next_one_tells_how_many_were_left_out() {
        let mut table = Cooldowns::new(64, HashKey::from_seed(1));
        let source = "192.0.2.1".parse().unwrap();
        let mut judge = |secs| table.judge(RuleId(3), source, at(secs), MINUTE);
        assert_eq!(judge(0), Verdict::Show { left_out: 0 });
        assert_eq!(judge(1), Verdict::LeaveOut);
        assert_eq!(judge(59), Verdict::LeaveOut);
        assert_eq!(judge(60), Verdict::Show { left_out: 2 });
        assert_eq!(judge(61), Verdict::LeaveOut);
    }

    #[test]
    fn rules_and_sources_are_judged_apart() {
        let mut table = Cooldowns::new(64, HashKey::from_seed(1));
        let show = Verdict::Show { left_out: 0 };
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
