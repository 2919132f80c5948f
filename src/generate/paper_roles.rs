//! Which flows of the paper profile open, which carry a FIN or a RST: exact numbers of each.

use super::distributions::RandomStream;
use super::paper_traffic::{PAPER_FIN_FLOWS, PAPER_FLOWS, PAPER_RST_FLOWS, PaperTraffic};
use acsm_filters::rng::Random;

/// How a flow begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// With a SYN, which is all.
    SynOnly,
    /// With a SYN, after which there is more.
    Opening,
    /// As the random numbers of the flow have it.
    Other,
}

/// What is decided of a flow before its packets are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Role {
    pub kind: Kind,
    pub has_fin: bool,
    pub has_rst: bool,
}

impl Role {
    /// How many packets such a flow has at least.
    pub fn least_packets(self) -> u64 {
        let marks = u64::from(self.has_fin) + u64::from(self.has_rst);
        match self.kind {
            Kind::SynOnly => 1,
            Kind::Opening => 1 + marks.max(1),
            Kind::Other => marks.max(1),
        }
    }
}

/// Decides it for one flow after the other.
#[derive(Debug)]
pub(super) struct Roles {
    /// Which flows begin how.
    openings: Draws,
    /// Of the flows that are not SYNs only: which have a FIN and a RST.
    marks: Draws,
}

impl Roles {
    pub fn new(flows: u64, seed: u64, traffic: &PaperTraffic) -> Self {
        let of_all = |share: Option<f64>| (share.unwrap_or(0.0) * flows as f64).round() as u64;
        let syn_only = of_all(traffic.syn_only_share).min(flows);
        let opening = of_all(traffic.opening_share).min(flows - syn_only);
        let marked = |share: Option<f64>, count: u64| match share {
            Some(_) => of_all(share),
            None => {
                let product = u128::from(count) * u128::from(flows);
                ((product + u128::from(PAPER_FLOWS) / 2) / u128::from(PAPER_FLOWS)) as u64
            }
        };
        let fins = marked(traffic.fin_share, PAPER_FIN_FLOWS);
        let rsts = marked(traffic.rst_share, PAPER_RST_FLOWS);
        let markable = flows - syn_only;
        Roles {
            openings: Draws {
                random: RandomStream::BackboneOpenings.random(seed, 0),
                flows_left: flows,
                left: [syn_only, opening],
            },
            marks: Draws {
                random: RandomStream::BackboneMarks.random(seed, 0),
                flows_left: markable,
                left: [fins.min(markable), rsts.min(markable)],
            },
        }
    }

    /// The role of the next flow.
    pub fn next(&mut self) -> Role {
        let kind = match self.openings.either() {
            Some(0) => return Role { kind: Kind::SynOnly, has_fin: false, has_rst: false },
            Some(_) => Kind::Opening,
            None => Kind::Other,
        };
        let [has_fin, has_rst] = self.marks.both();
        Role { kind, has_fin, has_rst }
    }
}

/// Chooses exact numbers of flows, one flow after the other.
#[derive(Debug)]
struct Draws {
    random: Random,
    flows_left: u64,
    /// How many are still to be chosen, for two purposes.
    left: [u64; 2],
}

impl Draws {
    /// Whether the next flow is chosen for the one purpose, and whether for the other, independently.
    fn both(&mut self) -> [bool; 2] {
        let chosen = self.left.map(|left| self.random.below(self.flows_left) < left);
        self.flows_left = self.flows_left.saturating_sub(1);
        for (left, chosen) in self.left.iter_mut().zip(chosen) {
            *left -= u64::from(chosen);
        }
        chosen
    }

    /// For which of the two purposes, of which none excludes the other, the next flow is chosen.
    fn either(&mut self) -> Option<usize> {
        let draw = self.random.below(self.flows_left);
        self.flows_left = self.flows_left.saturating_sub(1);
        let [first, second] = &mut self.left;
        if draw < *first {
            *first -= 1;
            Some(0)
        } else if draw < *first + *second {
            *second -= 1;
            Some(1)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_exactly_as_many_marks_as_in_the_papers() {
        for (flows, fins, rsts) in [(PAPER_FLOWS, 900, 1658), (90_852, 90, 166), (1, 0, 0)] {
            for seed in [1, 2] {
                let mut roles = Roles::new(flows, seed, &PaperTraffic::default());
                let all: Vec<_> = (0..flows).map(|_| roles.next()).collect();
                assert_eq!(all.iter().filter(|role| role.has_fin).count(), fins);
                assert_eq!(all.iter().filter(|role| role.has_rst).count(), rsts);
                assert!(all.iter().all(|role| role.kind == Kind::Other));
            }
        }
    }

    #[test]
    fn shares_are_exact_and_a_syn_alone_has_no_mark() {
        let traffic = PaperTraffic {
            syn_only_share: Some(0.3),
            opening_share: Some(0.2),
            fin_share: Some(0.7),
            rst_share: Some(0.0),
            ..PaperTraffic::default()
        };
        let mut roles = Roles::new(1000, 7, &traffic);
        let all: Vec<_> = (0..1000).map(|_| roles.next()).collect();
        let count = |is: fn(&Role) -> bool| all.iter().filter(|role| is(role)).count();
        assert_eq!(count(|role| role.kind == Kind::SynOnly), 300);
        assert_eq!(count(|role| role.kind == Kind::Opening), 200);
        assert_eq!(count(|role| role.has_fin && role.kind != Kind::SynOnly), 700);
        assert_eq!(count(|role| role.has_rst), 0);
        assert_eq!(count(|role| role.kind == Kind::Opening && role.least_packets() == 2), 200);
    }
}
