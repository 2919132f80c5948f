//! Errors of one run: how many of each kind, and which flows had any.

use crate::engine::errors::{ErrorKind, Errors};

/// A set of flows by their numbers: one bit each.
#[derive(Debug, Clone, Default)]
pub struct FlowSet {
    words: Vec<u64>,
}

impl FlowSet {
    /// Adds a flow.
    #[inline]
    pub fn insert(&mut self, flow: u32) {
        let word = flow as usize / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (flow % 64);
    }

    /// Whether the flow is in it.
    pub fn has(&self, flow: u32) -> bool {
        self.words.get(flow as usize / 64).is_some_and(|word| word & 1 << (flow % 64) != 0)
    }

    /// How many flows are in it.
    pub fn len(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// Counts errors, and notes which flows had any.
#[derive(Debug, Default)]
pub struct RunErrors {
    /// In all; lookups, `flows_wrong` and `flows_total` are not counted here.
    errors: Errors,
    wrong: FlowSet,
}

impl RunErrors {
    /// Counts an error.
    #[inline]
    pub fn count(&mut self, flow: u32, kind: ErrorKind) {
        *self.errors.of_kind(kind) += 1;
        self.wrong.insert(flow);
    }

    /// The counts, of which only errors and `flows_wrong` are set.
    pub fn errors(&self) -> Errors {
        Errors { flows_wrong: self.wrong.len(), ..self.errors }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_counted_once() {
        let mut errors = RunErrors::default();
        for flow in [0, 63, 64, 1000, 64, 0] {
            errors.count(flow, ErrorKind::DontKnow);
        }
        let counts = errors.errors();
        assert_eq!((counts.dont_know, counts.flows_wrong), (6, 4));
        assert!(errors.wrong.has(1000) && !errors.wrong.has(999) && !errors.wrong.has(4000));
    }
}
