//! The largest threshold and the best number of hashes for an average false positive rate.

use super::cycle::{Cycle, Frozen};
use super::filter::Filter;
use super::limit;
use crate::HASHES_MAX;

/// Filters up to this size are planned with the recursion, larger ones with its limit.
const RECURSION_BITS_MAX: u64 = 2048;

/// Whether messages are forgotten all at once or by halves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phases {
    /// One filter of all bits.
    One,
    /// An active and a frozen filter, each of half the bits.
    Two,
}

/// When to recycle, and the resulting rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recycle {
    /// k.
    pub hashes: usize,
    /// σ: recycle when more bits than this are set (in the active filter).
    pub sigma: u64,
    /// Expected new messages from one recycling to the next.
    pub messages: f64,
    /// The average false positive rate.
    pub rate: f64,
}

/// The number of hashes, and the threshold, that let the most messages pass between recyclings at
/// an average rate of at most `rate`. `None` if no threshold keeps it (a rate of 0, or too few
/// bits).
///
/// Takes milliseconds for any number of bits.
///
/// ```
/// use acsm_model::recycling::{Phases, best_recycle};
///
/// let plan = best_recycle(1_000_000, 0.01, Phases::One).ok_or("none")?;
/// // The rate at the end is what sizing by the worst case bounds: 104,000 messages.
/// assert!(plan.messages > 1.4 * 104_000.0);
/// # Ok::<(), &str>(())
/// ```
pub fn best_recycle(bits: u64, rate: f64, phases: Phases) -> Option<Recycle> {
    let plans = (1..=HASHES_MAX).filter_map(|hashes| recycle(bits, hashes, rate, phases));
    plans.max_by(|a, b| a.messages.total_cmp(&b.messages))
}

/// The largest threshold for this many hashes.
fn recycle(bits: u64, hashes: usize, rate: f64, phases: Phases) -> Option<Recycle> {
    let each = match phases {
        Phases::One => bits,
        Phases::Two => bits / 2,
    };
    if each <= hashes as u64 || rate <= 0.0 {
        return None;
    }
    if each > RECURSION_BITS_MAX {
        return Some(in_the_limit(each, hashes, rate, phases));
    }
    let cycle = Cycle::new(Filter::new(each, hashes));
    let frozen = Frozen::AfterOverflow;
    let (sigma, rate) = match phases {
        Phases::One => {
            let sigma = cycle.largest_sigma(rate)?;
            (sigma, cycle.false_positive_rate(sigma))
        }
        Phases::Two => {
            let sigma = cycle.largest_two_phase_sigma(rate, frozen)?;
            (sigma, cycle.two_phase_rate(sigma, frozen))
        }
    };
    Some(Recycle { hashes, sigma, messages: cycle.messages(sigma), rate })
}

fn in_the_limit(bits: u64, hashes: usize, rate: f64, phases: Phases) -> Recycle {
    let fill = match phases {
        Phases::One => limit::largest_fill(hashes, rate),
        Phases::Two => limit::largest_two_phase_fill(hashes, rate),
    };
    let sigma = ((fill * bits as f64) as u64).min(bits - 1);
    let fill = sigma as f64 / bits as f64;
    let rate = match phases {
        Phases::One => limit::false_positive_rate(hashes, fill),
        Phases::Two => limit::two_phase_rate(hashes, fill),
    };
    Recycle { hashes, sigma, messages: limit::messages_per_bit(hashes, fill) * bits as f64, rate }
}
