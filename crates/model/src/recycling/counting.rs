//! §II-E: three ways to count the false positives of a cycle.
//!
//! Message i, false positive at its first arrival with chance F_i, arrives η(i) times in the
//! cycle. The three rates need only the expectations where η(i) does not depend on whether i was
//! taken for a repeat.
//!
//! (The paper names count-instance for an application that pays for every dropped request; by its
//! own definition that is count-each.)

/// The false positive rates of a cycle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Σ F / Σ η: only first arrivals can be wrong, all are counted.
    pub first: f64,
    /// Σ F η / Σ η: each arrival of a message first taken for a repeat is wrong.
    pub each: f64,
    /// Σ F / Σ 1: first arrivals alone. The largest of the three if F grows in i and η falls.
    pub instance: f64,
}

/// The rates of a cycle of messages given as (F_i, E\[η(i)\]).
pub fn rates(messages: impl IntoIterator<Item = (f64, f64)>) -> Rates {
    let (mut wrong, mut wrong_arrivals, mut arrivals, mut count) = (0.0, 0.0, 0.0, 0.0);
    for (false_positive, times) in messages {
        wrong += false_positive;
        wrong_arrivals += false_positive * times;
        arrivals += times;
        count += 1.0;
    }
    let over = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
    Rates {
        first: over(wrong, arrivals),
        each: over(wrong_arrivals, arrivals),
        instance: over(wrong, count),
    }
}

/// E\[η(i)\] for i = 1..=`messages` if every new message is followed by `repeats` arrivals of
/// messages drawn evenly from those that came so far: 1 + r Σ_{j=i}^{N} 1/j.
///
/// ```
/// use acsm_model::recycling::counting::even_repeats;
///
/// assert_eq!(even_repeats(2, 1.0), [2.5, 1.5]);
/// ```
pub fn even_repeats(messages: usize, repeats: f64) -> Vec<f64> {
    let mut times = vec![1.0; messages];
    let mut later = 0.0;
    for (index, time) in times.iter_mut().enumerate().rev() {
        later += 1.0 / (index + 1) as f64;
        *time += repeats * later;
    }
    times
}
