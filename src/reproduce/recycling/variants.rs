//! The four chains of §IV, and the three ways of counting of §II-E.

use acsm_filters::rng::Random;
use acsm_model::recycling::{
    Cycle, Filter, Hashing, Retain, counted_rates, even_repeats, n_bounded,
};

use super::simulate::{Bits, Full, Simulation, draw, student};
use crate::reproduce::{Axis, Check, Context, Failure, Outcome, Panel, Verdict};

const CHAINS: [(&str, Hashing, Retain); 4] = [
    ("colliding, forgetting", Hashing::Colliding, Retain::Forget),
    ("colliding, retaining", Hashing::Colliding, Retain::Keep),
    ("distinct, forgetting", Hashing::Distinct, Retain::Forget),
    ("distinct, retaining", Hashing::Distinct, Retain::Keep),
];

/// The four chains, M = 100 to 10,000, filled to a half.
pub fn chains(context: &Context<'_>) -> Result<Outcome, Failure> {
    let hashes = 5;
    let mut panel = Panel::new(
        "Average false positive rate of the four chains, k = 5, σ = M / 2",
        Axis::log("M, bits"),
        Axis::linear("average false positive rate"),
    );
    let (mut points, mut inside, mut spread) = (0, 0, vec![]);
    for (n, bits) in [100u64, 300, 1000, 3000, 10_000].into_iter().enumerate() {
        let mut forms = vec![];
        for (at, (name, hashing, retain)) in CHAINS.into_iter().enumerate() {
            context.done((n as f64 + at as f64 / 4.0) / 5.0)?;
            let filter = Filter { hashing, retain, ..Filter::new(bits, hashes) };
            let form = Cycle::new(filter).false_positive_rate(bits / 2);
            forms.push(form);
            panel.computed(format!("{name}, f_σ¹"), bits as f64, form);
            let simulation =
                Simulation { pool: 2 * bits, ..Simulation::new(filter, Full::Beyond(bits / 2)) };
            let mut random = context.random(700 + 4 * n as u64 + at as u64);
            let (epochs, arrivals) = context.pick((7, 10_000), (20, 100_000), (70, 1_000_000));
            let (rates, _) = simulation.epochs(&mut random, epochs, arrivals);
            let (mean, [low, high]) = student(&rates);
            panel.between(
                format!("{name}, simulated"),
                bits as f64,
                mean,
                [low, high],
                epochs as u32,
            );
            points += 1;
            inside += usize::from((low..=high).contains(&form));
        }
        let ends = forms
            .iter()
            .fold((f64::INFINITY, 0.0f64), |(low, high), &form| (low.min(form), high.max(form)));
        spread.push((bits, ends.1 / ends.0 - 1.0));
    }
    let at =
        |bits: u64| spread.iter().find(|(m, _)| *m == bits).map_or(f64::NAN, |(_, ratio)| *ratio);
    let checks = [
        // "Nearly identical", "unnoticeable for M > 1000": within 5 %.
        Check::new(
            "the four rates are within 5 % of each other for M = 1000 and more",
            at(1000) < 0.05 && at(10_000) < 0.05,
            format!("{:.1} %, at M = 10,000 {:.1} %", 100.0 * at(1000), 100.0 * at(10_000)),
        ),
        Check::new(
            "all but 1 of the forms lie in the 99 % interval of their simulation",
            inside + 1 >= points,
            format!("{inside} of {points} points"),
        ),
    ];
    let notes = vec![format!("At M = 100 the four rates differ by {:.0} %.", 100.0 * at(100))];
    let paper = "the results for the combinations of colliding/non-colliding and retaining/non-retaining variants are \
                 nearly identical";
    Ok(Outcome { panels: vec![panel], notes, verdict: Verdict::of_checks(paper, &checks) })
}

/// Which message of the cycle comes again.
#[derive(Debug, Clone, Copy)]
enum Repeats {
    /// Any of those that came, evenly.
    Even,
    /// The i-th with a weight of 1/i: the first are the most popular.
    Zipf,
    /// The newest one.
    Newest,
    /// The last of the cycle, which comes very often: popularity that grows.
    AtTheEnd,
}

const MESSAGES: usize = 150;
const CYCLE_BITS: u64 = 500;
const CYCLE_HASHES: usize = 3;
/// Repeats per new message.
const REPEATS: u64 = 2;

/// Sums over a cycle: F, Fη, η, 1.
fn cycle(random: &mut Random, repeats: Repeats) -> [f64; 4] {
    let filter = Filter::new(CYCLE_BITS, CYCLE_HASHES);
    let mut bits = Bits::new(CYCLE_BITS);
    let mut seen: Vec<(bool, f64)> = vec![];
    for message in 0..MESSAGES {
        let places = draw(random, &filter);
        seen.push((bits.has(&places), 1.0));
        bits.insert(&places);
        for _ in 0..REPEATS {
            let again = match repeats {
                Repeats::Even => random.below(seen.len() as u64) as usize,
                // The inverse of ln i, near enough to 1/i.
                Repeats::Zipf => ((seen.len() as f64 + 1.0).powf(random.unit()) - 1.0) as usize,
                Repeats::Newest => message,
                Repeats::AtTheEnd => continue,
            };
            let last = seen.len() - 1;
            seen[again.min(last)].1 += 1.0;
        }
    }
    if let (Repeats::AtTheEnd, Some(last)) = (repeats, seen.last_mut()) {
        last.1 += (REPEATS as usize * MESSAGES) as f64;
    }
    let mut sums = [0.0; 4];
    for (wrong, times) in seen {
        let wrong = f64::from(u8::from(wrong));
        for (sum, add) in sums.iter_mut().zip([wrong, wrong * times, times, 1.0]) {
            *sum += add;
        }
    }
    sums
}

/// The three ways of counting, by which messages come again.
pub fn counts(context: &Context<'_>) -> Result<Outcome, Failure> {
    let mut panel = Panel::new(
        "False positives of a cycle counted in three ways, 500 bits, k = 3, 150 messages",
        Axis::linear("repeats: 1 even, 2 Zipf, 3 newest, 4 at the end"),
        Axis::linear("false positive rate"),
    );
    let (epochs, cycles) = context.pick((10, 50), (70, 300), (70, 10_000));
    let all = [Repeats::Even, Repeats::Zipf, Repeats::Newest, Repeats::AtTheEnd];
    let mut means = vec![];
    for (n, repeats) in (0..).zip(all) {
        context.done(n as f64 / 4.0)?;
        let mut random = context.random(800 + n);
        let mut rates: [Vec<f64>; 3] = Default::default();
        for _ in 0..epochs {
            let mut sums = [0.0; 4];
            for _ in 0..cycles {
                let more = cycle(&mut random, repeats);
                sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
            }
            let [wrong, wrong_arrivals, arrivals, count] = sums;
            rates[0].push(wrong / arrivals);
            rates[1].push(wrong_arrivals / arrivals);
            rates[2].push(wrong / count);
        }
        let x = (n + 1) as f64;
        for (name, rates) in ["count-first", "count-each", "count-instance"].into_iter().zip(&rates)
        {
            let (mean, ends) = student(rates);
            panel.between(name, x, mean, ends, epochs);
        }
        means.push(rates.map(|rates| rates.iter().sum::<f64>() / rates.len() as f64));
    }
    let times = even_repeats(MESSAGES, REPEATS as f64);
    let found = |n: usize| n_bounded::worst(CYCLE_BITS as f64, CYCLE_HASHES, n as f64);
    let form = counted_rates((0..MESSAGES).map(|n| (found(n), times[n])));
    for (name, value) in [("first", form.first), ("each", form.each), ("instance", form.instance)] {
        panel.computed(format!("count-{name}, closed form for even repeats"), 1.0, value);
    }
    // In the same run first ≤ each is a sum of terms; a tie is one within the sample's digits.
    let instance_is_largest = |means: &[f64; 3]| means[2] >= means[1] * (1.0 - 1e-9);
    let seen = |means: &[f64; 3]| means.map(|mean| format!("{mean:.4}")).join(", ");
    let checks = [
        Check::new(
            "count-first is at most count-each, in every case",
            means.iter().all(|[first, each, _]| first <= each),
            "4 cases",
        ),
        Check::new(
            "count-instance is the largest for even repeats and Zipf",
            means[..2].iter().all(instance_is_largest),
            format!("{}; {}", seen(&means[0]), seen(&means[1])),
        ),
        Check::new(
            "count-instance is the largest whatever repeats",
            means.iter().all(instance_is_largest),
            format!("at the end: {}", seen(&means[3])),
        ),
    ];
    let notes = vec![
        "The last case is ours: the message that ends a cycle repeats very often in it. The earlier a message \
         comes, the more likely it is told for new; where late ones repeat most, count-each is above \
         count-instance. It is the largest if η falls with i, which fading popularity gives."
            .to_owned(),
    ];
    let paper = "We can prove that count-instance is the most stringent (largest) of False Positive rates of the three";
    Ok(Outcome { panels: vec![panel], notes, verdict: Verdict::of_checks(paper, &checks) })
}
