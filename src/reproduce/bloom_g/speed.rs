//! The claim without a figure: the throughput of queries, which memory accesses bound.

use acsm_filters::{BloomG, BloomGSpec};

use super::design::WORD_BITS;
use crate::reproduce::{Axis, Check, Context, Failure, Outcome, Panel, Verdict, mean_interval};
use crate::units::scientific;

const HASHES: u32 = 3;
/// How often each filter is measured, in turns.
const TURNS: usize = 5;

/// Time per query for elements, which read all of their words.
pub fn throughput(context: &Context<'_>) -> Result<Outcome, Failure> {
    let bits: u64 = context.pick(1 << 20, 1 << 31, 1 << 33);
    let queries: u64 = context.pick(10_000, 2_000_000, 20_000_000);
    let mut filters = vec![];
    for words in [1, 2, HASHES] {
        let spec = BloomGSpec { bits, word_bits: WORD_BITS, words, hashes: HASHES };
        let filter = BloomG::new(&spec).map_err(|error| Failure::Other(error.to_string()))?;
        filters.push((words, filter));
    }
    // Enough elements that all memory is written once; those that are asked come first.
    let elements = bits / 256;
    for (_, filter) in &mut filters {
        context.done(0.1)?;
        let mut random = context.random(1);
        (0..elements.max(queries)).for_each(|_| {
            filter.insert(random.next_u64());
        });
    }
    let mut nanos = vec![vec![]; filters.len()];
    for turn in 0..TURNS {
        for ((_, filter), nanos) in filters.iter().zip(&mut nanos) {
            context.done(0.3 + 0.7 * turn as f64 / TURNS as f64)?;
            let mut random = context.random(1);
            let start = (context.stopwatch)();
            let found = (0..queries).filter(|_| filter.contains(random.next_u64())).count() as u64;
            nanos.push((context.stopwatch)().saturating_sub(start) as f64 / queries as f64);
            if found != queries {
                return Err(Failure::Other("an element is not found".into()));
            }
        }
    }
    let mut panel = Panel::new(
        format!("Time of a query for an element, filters of {} MiB", bits >> 23),
        Axis::linear("g, words per query"),
        Axis::linear("nanoseconds per query"),
    );
    let mut best = vec![];
    for ((words, _), nanos) in filters.iter().zip(&nanos) {
        let (mean, ends) = mean_interval(nanos, usize::MAX).unwrap_or_default();
        panel.between("measured, k = 3", f64::from(*words), mean, ends, TURNS as u32);
        best.push(nanos.iter().copied().fold(f64::INFINITY, f64::min));
    }
    let [one, _, bloom] = best.as_slice() else {
        return Err(Failure::Other("not three filters".into()));
    };
    let gain = bloom / one;
    let seen = format!("{} times the throughput", scientific(gain));
    let says =
        "B1(k=3) answers more queries per second than B(k=3), at most about three times as many";
    let check = match context.pick(false, true, true) {
        true => Check::new(says, gain > 1.1 && gain < 3.3, seen),
        false => Check::open(
            says,
            format!("the filters fit the processor's caches at this scale; {seen}"),
        ),
    };
    let notes = vec![format!(
        "{} queries, {TURNS} turns, the fastest of each compared. One thread; queries do not depend on each \
         other, so the processor overlaps their memory accesses. Elements are asked for: an absent one is \
         mostly refused by its first word.",
        queries
    )];
    let paper =
        "the query throughput of B1(k=3) can be up to three times of the throughput of B(k=3)";
    Ok(Outcome { panels: vec![panel], notes, verdict: Verdict::of_checks(paper, &[check]) })
}
