//! How sure an alert is: not only how rarely a store errs, but also how often it has the occasion to.
//!
//! A store that errs once in 10,000 lookups of absent flows gives 100 wrong answers to a million of them. If a rule
//! was raised 100 times by then, none of its alerts need be right. So the confidence of an alert is the
//! share of the alerts of its rule that are not to be expected from errors alone:
//! 1 − (chance × lookups of absent flows by packets with the same flags) / alerts of the rule.
//! Every wrong answer is taken to be one that raises the alert: so it is a lower bound.

use crate::flow::TcpFlags;
use crate::machine::{RuleId, RuleSet};

/// Combinations of FIN, SYN and RST.
const CLASSES: usize = 8;

/// What the answers of a store were about so far.
#[derive(Debug, Clone)]
pub struct BaseRates {
    /// Lookups of flows that it did not have, by the flags of the packet.
    absent: [u64; CLASSES],
    /// Alerts that rest on its answers, by rule.
    raised: [u64; RuleSet::LIMIT],
}

impl Default for BaseRates {
    fn default() -> BaseRates {
        BaseRates { absent: [0; CLASSES], raised: [0; RuleSet::LIMIT] }
    }
}

impl BaseRates {
    /// Counts a lookup of a flow that the store did not have.
    #[inline(always)]
    pub fn absent(&mut self, flags: TcpFlags) {
        self.absent[usize::from(flags.0) % CLASSES] += 1;
    }

    /// Counts an alert; how sure it is, if an absent flow seems to be present by this chance.
    pub fn confidence(&mut self, rule: RuleId, flags: TcpFlags, chance: f64) -> f64 {
        if chance == 0.0 {
            return 1.0;
        }
        let raised = &mut self.raised[usize::from(rule.0) % RuleSet::LIMIT];
        *raised += 1;
        let occasions = self.absent[usize::from(flags.0) % CLASSES] + 1;
        (1.0 - chance * occasions as f64 / *raised as f64).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Forty alerts where forty errors are to be expected are worth nothing; where one is, nearly all are right.
    #[test]
    fn confidence_goes_by_the_base_rate() {
        let mut rates = BaseRates::default();
        (0..400_000).for_each(|_| rates.absent(TcpFlags::SYN));
        let last = |rates: &mut BaseRates, chance| {
            (0..40).map(|_| rates.confidence(RuleId(3), TcpFlags::SYN, chance)).last().unwrap()
        };
        assert_eq!(last(&mut rates.clone(), 1e-4), 0.0);
        let rare = last(&mut rates.clone(), 2.5e-6);
        assert!((rare - 0.975).abs() < 1e-4, "{rare}");
        let others = rates.confidence(RuleId(3), TcpFlags::RST, 1e-4);
        assert!((others - 0.9999).abs() < 1e-9, "packets with other flags are other occasions");
        assert_eq!(rates.confidence(RuleId(3), TcpFlags::SYN, 0.0), 1.0);
    }
}
