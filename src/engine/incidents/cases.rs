//! What the thresholds know of an incident: the cases that belong to it, each with its figures so far.

use std::net::IpAddr;

use crate::engine::thresholds::{Evidence, ThresholdHit};
use crate::machine::RuleId;
use crate::time::Timestamp;

/// Cases that are kept apart; more are added up.
const KEPT: usize = 64;

/// A source with less than this part of the events is not among the busiest.
const BUSY: u64 = 32;

/// Rule of a case, and how long the prefix is that it counts for. The same packets are counted by
/// cases of several kinds, and once by all cases of one kind.
type Kind = (RuleId, Option<u8>);

/// The figures of an incident's cases.
#[derive(Debug, Clone, Default)]
pub struct Cases {
    /// Kind, number and events of each; number 0 for those that are added up.
    cases: Vec<(Kind, u64, u64)>,
    /// Most in one second; most distinct sources, hosts and ports, of one case.
    pub peak: u64,
    pub sources: u64,
    pub hosts: u64,
    pub ports: u64,
    /// The busiest sources of a case, with their events; none if they look forged.
    pub top: Vec<(IpAddr, u64)>,
    /// Whether they do.
    pub is_spoofed: bool,
    /// The share of attempts that fail, in parts of 1000; 0 if it is not known.
    pub failed_permille: u16,
    /// From the first event to the last.
    pub span: Option<(Timestamp, Timestamp)>,
}

impl Cases {
    /// Takes what a hit says of its case.
    pub fn add(&mut self, hit: &ThresholdHit) {
        let Evidence { case, first, last, total, peak_per_second, .. } = hit.evidence;
        let kind = (hit.rule, hit.evidence.prefix_bits);
        if case == 0 {
            // Nobody follows it.
            return self.add_up(kind, total);
        }
        match self.cases.iter_mut().find(|(_, known, _)| *known == case) {
            Some((_, _, events)) => *events = total,
            None => {
                if self.cases.len() >= KEPT {
                    self.forget_one();
                }
                self.cases.push((kind, case, total));
            }
        }
        self.peak = self.peak.max(peak_per_second);
        if hit.evidence.sources >= self.sources {
            self.sources = hit.evidence.sources;
            self.is_spoofed = hit.evidence.is_spoofed;
            let is_busy = |&(_, count): &(IpAddr, u64)| count * BUSY >= hit.evidence.total;
            self.top = hit.evidence.top_sources.into_iter().flatten().filter(is_busy).collect();
        }
        if hit.evidence.failed_permille > 0 {
            self.failed_permille = hit.evidence.failed_permille;
        }
        self.hosts = self.hosts.max(hit.evidence.targets);
        self.ports = self.ports.max(hit.evidence.ports.into());
        self.extend(Some((first, last)));
    }

    /// Adds the cases of `other`.
    pub fn merge(&mut self, other: Cases) {
        for (kind, case, events) in other.cases {
            match case {
                0 => self.add_up(kind, events),
                _ => {
                    if self.cases.len() >= KEPT {
                        self.forget_one();
                    }
                    self.cases.push((kind, case, events));
                }
            }
        }
        self.peak = self.peak.max(other.peak);
        if other.sources > self.sources {
            (self.sources, self.is_spoofed, self.top) =
                (other.sources, other.is_spoofed, other.top);
        }
        self.failed_permille = self.failed_permille.max(other.failed_permille);
        self.hosts = self.hosts.max(other.hosts);
        self.ports = self.ports.max(other.ports);
        self.extend(other.span);
    }

    /// All events: those of the kind that has the most.
    pub fn events(&self) -> u64 {
        let of_kind = |wanted: &Kind| -> u64 {
            self.cases.iter().filter(|(kind, ..)| kind == wanted).map(|(.., events)| events).sum()
        };
        self.cases.iter().map(|(kind, ..)| of_kind(kind)).max().unwrap_or(0)
    }

    /// The oldest case is no longer kept apart.
    fn forget_one(&mut self) {
        let oldest = self.cases.iter().enumerate().filter(|(_, (_, case, _))| *case > 0);
        if let Some(at) = oldest.min_by_key(|(_, (_, case, _))| *case).map(|(at, _)| at) {
            let (kind, _, events) = self.cases.remove(at);
            self.add_up(kind, events);
        }
    }

    fn add_up(&mut self, kind: Kind, more: u64) {
        match self.cases.iter_mut().find(|(known, case, _)| *case == 0 && *known == kind) {
            Some((.., events)) => *events += more,
            None => self.cases.push((kind, 0, more)),
        }
    }

    fn extend(&mut self, span: Option<(Timestamp, Timestamp)>) {
        self.span = match (self.span, span) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (known, None) | (None, known) => known,
        };
    }
}
