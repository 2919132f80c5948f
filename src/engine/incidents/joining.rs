//! Which open incident an alert belongs to.

use std::net::IpAddr;

use super::index::Group;
use super::recent::{Handshake, PastSyns};
use super::tracker::{FLOOD_NANOS, IncidentTracker, LOOKS_PER_SECOND};
use crate::engine::alert::{Alert, Subject};
use crate::engine::thresholds::ThresholdHit;
use crate::flow::Packet;
use crate::machine::Rule;
use crate::time::Timestamp;

/// Alerts for which earlier SYNs are looked up, at most, in one second of packet time.
const PAST_LOOKUPS_PER_SECOND: u32 = 256;

impl IncidentTracker {
    /// The open incident that an alert belongs to. One that opens none may also be an answer to an attacker.
    pub(super) fn find(
        &self,
        alert: &Alert,
        hit: Option<&ThresholdHit>,
        rule: &Rule,
        opens: bool,
    ) -> Option<u64> {
        let Packet { src, dst, .. } = alert.packet;
        let of_attacker = |attacker, victim| {
            let number = self.index.get(Group::Attacker(attacker))?;
            self.open.get(&number)?.has_host(victim).then_some(number)
        };
        // What happens in a prefix long after a flood of it is another matter.
        let is_live = |number: &u64| {
            let open = self.open.get(number);
            open.is_some_and(|open| !open.group.is_prefix() || open.is_live(alert.packet.time))
        };
        let of_victim = |victim| {
            let groups = Group::of_victim(victim).into_iter();
            groups.filter_map(|group| self.index.get(group)).find(is_live)
        };
        if let Some(hit) = hit.filter(|hit| hit.evidence.prefix_bits.is_some()) {
            return self.find_prefix(dst, hit);
        }
        if alert.subject == Subject::Destination {
            return of_victim(dst)
                .or_else(|| of_attacker(src, dst).filter(|_| self.sends_most(src, dst)))
                .or_else(|| of_attacker(dst, src));
        }
        let joins = |number: &u64| {
            let open = self.open.get(number);
            open.is_some_and(|open| {
                open.dominant_source() == Some(src) || open.rule.name == rule.name
            })
        };
        let found = self.index.get(Group::Attacker(src)).or_else(|| of_victim(dst).filter(joins));
        if opens || found.is_some() {
            return found;
        }
        of_victim(dst).or_else(|| of_attacker(dst, src)).or_else(|| of_victim(src))
    }

    /// The open incident that a flood of a prefix belongs to: of that prefix or a wider one, or of the host or site
    /// that most of it goes to.
    fn find_prefix(&self, dst: IpAddr, hit: &ThresholdHit) -> Option<u64> {
        let own = Group::of_prefix(dst, hit);
        Group::of_victim(dst).into_iter().find_map(|group| {
            let number = self.index.get(group)?;
            let has_most = 2 * self.open.get(&number)?.count() >= hit.evidence.total;
            (group >= own || has_most).then_some(number)
        })
    }

    /// Which ends of a packet's connection have sent a SYN lately. Beyond the limit per second nothing is
    /// known.
    pub fn past_syns(&mut self, packet: &Packet) -> PastSyns {
        match self.past_lookups.take(self.now, PAST_LOOKUPS_PER_SECOND) {
            true => self.recent.past_syns(packet),
            false => PastSyns::default(),
        }
    }

    /// Gives an incident that has become one of a prefix the SYNs to those of its hosts that no incident was about.
    pub(super) fn look_back_at_neighbours(&mut self, number: u64, known: &[IpAddr]) {
        let Some(open) = self.open.get_mut(&number).filter(|open| open.group.is_prefix()) else {
            return;
        };
        if !self.looks.take(self.now, LOOKS_PER_SECOND) {
            return;
        }
        let group = open.group;
        let from = Timestamp::from_nanos(self.now.as_nanos().saturating_sub(FLOOD_NANOS));
        let of_others = |seen: &&Handshake| {
            !seen.is_answer && group.has_victim(seen.dst) && !known.contains(&seen.dst)
        };
        let past = self.recent.since(from).filter(of_others);
        past.for_each(|seen| open.take_past(seen, self.key));
    }

    /// Whether a source sends nearly all SYNs to a destination, as far as is known.
    fn sends_most(&self, src: IpAddr, dst: IpAddr) -> bool {
        let from = Timestamp::from_nanos(self.now.as_nanos().saturating_sub(FLOOD_NANOS));
        let to_victim = |seen: &&Handshake| !seen.is_answer && seen.dst == dst;
        let (mut all, mut own) = (0u64, 0u64);
        for seen in self.recent.since(from).filter(to_victim) {
            all += 1;
            own += u64::from(seen.src == src);
        }
        5 * own >= 4 * all
    }
}
