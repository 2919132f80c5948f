//! Equations (20)–(23): how many messages pass before a filter recycles, from the end backwards.
//!
//! The forward pass of [`Cycle::messages`](super::Cycle::messages) gives the same; this is the
//! paper's own way, and the only one that shows what its boundary does.

use super::chain::Filter;

/// When no more messages are to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// At more than σ bits, as §IV defines recycling.
    Beyond,
    /// At σ bits or more, as (20) and (22) are printed. That is the count for σ − 1: a filter with
    /// exactly σ bits has not recycled yet. 99.38 messages instead of 99.66 at M = 1000, k = 7,
    /// σ = 500.
    AtOrBeyond,
}

/// E\[N_0\]: expected messages of a cycle, the last one included; 0 if none is needed, infinite if σ ≥ M.
///
/// O(k²σ) time, O(k) memory.
///
/// ```
/// use acsm_model::recycling::{Filter, messages};
///
/// // One hash on two bits, recycled beyond one bit: the first message, then two tries on average.
/// let filter = Filter::new(2, 1);
/// assert_eq!(messages::expected(&filter, 1, messages::End::Beyond), 3.0);
/// assert_eq!(messages::expected(&filter, 1, messages::End::AtOrBeyond), 1.0);
/// ```
pub fn expected(filter: &Filter, sigma: u64, end: End) -> f64 {
    let mut row = vec![0.0; filter.hashes + 1];
    // E[N_{b+1}], E[N_{b+2}], …: all that the recursion looks at.
    let mut ahead = std::collections::VecDeque::from(vec![0.0; filter.hashes]);
    let states = match end {
        End::Beyond => sigma.saturating_add(1),
        End::AtOrBeyond => sigma,
    };
    if states > filter.bits {
        return f64::INFINITY;
    }
    for set in (0..states).rev() {
        filter.step_into(set, &mut row);
        let (stays, moves) = row.split_first().map_or((0.0, [].as_slice()), |(s, m)| (*s, m));
        let later: f64 = moves.iter().zip(&ahead).map(|(chance, more)| chance * more).sum();
        ahead.push_front((1.0 + later) / (1.0 - stays));
        ahead.pop_back();
    }
    ahead.front().copied().unwrap_or(0.0)
}
