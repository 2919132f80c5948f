//! One message on a filter with i bits set: τ_k(i, j), equations (4)–(14), ρ(i), equation (17); and
//! the messages until a filter recycles, equations (20)–(23).

/// Whether the k hashes of one message may coincide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hashing {
    /// Drawn with replacement ("colliding").
    Colliding,
    /// Always k distinct bits ("non-colliding").
    Distinct,
}

/// Whether the message that makes a filter recycle is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Retain {
    /// It is forgotten with the rest; the next arrival finds an empty filter.
    Forget,
    /// It is the first message of the new cycle.
    Keep,
}

/// A Bloom filter that recycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Filter {
    /// M: bits of the filter, at least 1.
    pub bits: u64,
    /// k: hashes of a message, at least 1; at most M where they are distinct.
    pub hashes: usize,
    /// Whether hashes of one message may coincide.
    pub hashing: Hashing,
    /// Whether the message that overflows it is kept.
    pub retain: Retain,
}

impl Filter {
    /// Colliding and non-retaining: the variant of the paper's figures.
    pub const fn new(bits: u64, hashes: usize) -> Filter {
        Filter { bits, hashes, hashing: Hashing::Colliding, retain: Retain::Forget }
    }

    /// τ_k(i, i + d) for d = 0..=k: the probabilities that a new message sets d more bits when `set` are
    /// set. Equations (4), (6), (8) and, for distinct hashes, (11).
    ///
    /// Without regard to recycling: a threshold cuts the row, and what lies beyond it is the
    /// chance to overflow that (5) and (12) call τ_k(i, 0). O(k²).
    pub fn step(&self, set: u64) -> Vec<f64> {
        let mut row = vec![0.0; self.hashes + 1];
        self.step_into(set, &mut row);
        row
    }

    /// [`Filter::step`] without allocating.
    pub(super) fn step_into(&self, set: u64, row: &mut [f64]) {
        row.fill(0.0);
        if let Some(first) = row.first_mut() {
            *first = 1.0;
        }
        let bits = self.bits as f64;
        for hash in 0..self.hashes {
            let taken = match self.hashing {
                Hashing::Colliding => 0.0,
                Hashing::Distinct => (hash as f64).min(bits - 1.0),
            };
            let mut fewer = 0.0;
            for (more, chance) in row.iter_mut().enumerate().take(hash + 2) {
                let reached = set as f64 + more as f64;
                let stays = ((reached - taken) / (bits - taken)).clamp(0.0, 1.0);
                let grows = ((bits - reached + 1.0) / (bits - taken)).clamp(0.0, 1.0);
                let before = *chance;
                *chance = before * stays + fewer * grows;
                fewer = before;
            }
        }
    }

    /// ρ(i): the probability of a false positive when `set` bits are set.
    /// Equation (17): (i/M)^k, or C(i,k)/C(M,k) for distinct hashes, of which the paper prints
    /// only the numerator (at M = 1000, i = 500, k = 7: 1.5·10^15 instead of 0.0076).
    ///
    /// ```
    /// use acsm_model::recycling::{Filter, Hashing};
    ///
    /// let filter = Filter { hashing: Hashing::Distinct, ..Filter::new(10, 2) };
    /// assert!((filter.false_positive_rate(5) - 10.0 / 45.0).abs() < 1e-15);
    /// ```
    pub fn false_positive_rate(&self, set: u64) -> f64 {
        let (set, bits) = (set.min(self.bits) as f64, self.bits as f64);
        match self.hashing {
            Hashing::Colliding => crate::special::power(set / bits, self.hashes),
            Hashing::Distinct => (0..self.hashes)
                .map(|hash| ((set - hash as f64) / (bits - hash as f64)).max(0.0))
                .product(),
        }
    }

    /// The probability that a message takes a filter with `set` bits beyond `sigma`. Equations (5) and
    /// (12): the sum of what the threshold cuts off.
    pub fn overflow(&self, set: u64, sigma: u64) -> f64 {
        let room = usize::try_from(sigma.saturating_sub(set)).unwrap_or(usize::MAX);
        if set > sigma {
            return 1.0;
        }
        self.step(set).iter().skip(room.saturating_add(1)).sum()
    }
}

/// Where a cycle ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// At more than σ bits, as §IV defines recycling.
    Beyond,
    /// At σ bits or more, as (20) and (22) are printed. That is the count for σ − 1: a filter with
    /// exactly σ bits has not recycled yet. 99.38 messages instead of 99.66 at M = 1000, k = 7,
    /// σ = 500.
    AtOrBeyond,
}

/// E\[N_0\], equations (20)–(23): expected messages of a cycle, the last one included; 0 if none is
/// needed, infinite if σ ≥ M.
///
/// Computed from the end backwards, as in the paper. [`Cycle::messages`](super::Cycle::messages)
/// gives the same by a forward pass; this one shows what the boundary of the print does.
///
/// O(k²σ) time, O(k) memory.
///
/// ```
/// use acsm_model::recycling::{End, Filter, expected_messages};
///
/// // One hash on two bits, recycled beyond one bit: the first message, then two tries on average.
/// let filter = Filter::new(2, 1);
/// assert_eq!(expected_messages(&filter, 1, End::Beyond), 3.0);
/// assert_eq!(expected_messages(&filter, 1, End::AtOrBeyond), 1.0);
/// ```
pub fn expected_messages(filter: &Filter, sigma: u64, end: End) -> f64 {
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
