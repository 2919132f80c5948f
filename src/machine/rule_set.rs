//! Rule ids, and sets of them in one word.

/// A rule's index in its [`RuleList`](super::RuleList).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub u8);

/// A set of rules: one bit for each [`RuleId`] below [`RuleSet::LIMIT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RuleSet(u64);

impl RuleSet {
    /// No rule.
    pub const EMPTY: RuleSet = RuleSet(0);
    /// The largest number of rules.
    pub const LIMIT: usize = 64;

    /// The set of this rule alone; empty for an id at or above [`RuleSet::LIMIT`].
    pub const fn of(rule: RuleId) -> RuleSet {
        if (rule.0 as usize) < Self::LIMIT { RuleSet(1 << rule.0) } else { Self::EMPTY }
    }

    /// Whether no rule is in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many rules are in it.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether `rule` is in it.
    pub const fn contains(self, rule: RuleId) -> bool {
        self.0 & Self::of(rule).0 != 0
    }

    /// The rules in either.
    pub const fn union(self, other: RuleSet) -> RuleSet {
        RuleSet(self.0 | other.0)
    }

    /// The rules in both.
    pub const fn intersection(self, other: RuleSet) -> RuleSet {
        RuleSet(self.0 & other.0)
    }

    /// The rules in this one and not in `other`.
    pub const fn without(self, other: RuleSet) -> RuleSet {
        RuleSet(self.0 & !other.0)
    }

    /// Its rules, lowest id first.
    pub fn iter(self) -> impl Iterator<Item = RuleId> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let lowest = left.trailing_zeros() as u8;
            left &= left.wrapping_sub(1);
            (lowest < 64).then_some(RuleId(lowest))
        })
    }
}

impl FromIterator<RuleId> for RuleSet {
    fn from_iter<I: IntoIterator<Item = RuleId>>(rules: I) -> RuleSet {
        rules.into_iter().map(RuleSet::of).fold(RuleSet::EMPTY, RuleSet::union)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_contains_its_rules_and_no_others() {
        let rules = [RuleId(0), RuleId(7), RuleId(63)];
        let set: RuleSet = rules.into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), rules);
        assert_eq!(set.len(), 3);
        assert!(set.contains(RuleId(63)) && !set.contains(RuleId(1)));
        assert_eq!(set.without(RuleSet::of(RuleId(7))).len(), 2);
        assert_eq!(set.intersection(RuleSet::of(RuleId(7))), RuleSet::of(RuleId(7)));
    }

    #[test]
    fn an_id_beyond_the_limit_is_in_no_set() {
        assert!(RuleSet::of(RuleId(64)).is_empty());
        assert!(!RuleSet(u64::MAX).contains(RuleId(200)));
        assert_eq!(RuleSet(u64::MAX).iter().count(), 64);
    }
}
