//! Figures 11 and 12: words by how many elements they have, and the false positives of each kind.

use acsm_filters::{BloomG, BloomGSpec};
use acsm_model::bloom_g::{AllSet, BloomG as Model};
use acsm_model::special;

use super::design::{BITS, WORD_BITS};
use crate::reproduce::{
    Axis, Check, Context, EVENTS_LEAST, Failure, Outcome, Panel, Rate, Verdict,
};
use crate::units::scientific;

/// n/m of both figures.
const LOAD: f64 = 0.1;
/// k, which the figures do not give: that of the text around them.
const HASHES: u32 = 3;
/// Words with more elements are drawn together with these.
const LOADS_SHOWN: usize = 20;

/// A filter with m = 2^20 and its elements, by word.
fn filled(words: u32, elements: &[u64]) -> Result<(BloomG, Vec<u32>), Failure> {
    let spec = BloomGSpec { bits: BITS, word_bits: WORD_BITS, words, hashes: HASHES };
    let mut filter = BloomG::new(&spec).map_err(|error| Failure::Other(error.to_string()))?;
    let mut loads = vec![0; filter.word_count()];
    for &element in elements {
        filter.insert(element);
        for n in 0..words {
            loads[filter.word_of(element, n)] += 1;
        }
    }
    Ok((filter, loads))
}

/// Figure 11: false positives by the load of their word.
pub fn rate_by_load(context: &Context<'_>) -> Result<Outcome, Failure> {
    let mut panel = Panel::new(
        "False positives of Bloom-1 by the load of the word, k = 3",
        Axis::linear("elements of the word"),
        Axis::log("false positive rate"),
    );
    let (filters, queries) = context.pick((1, 200_000), (20, 500_000), (200, 1_000_000));
    let mut random = context.random(11);
    let mut rates = [Rate::default(); LOADS_SHOWN + 1];
    for filter in 0..filters {
        context.done(f64::from(filter) / f64::from(filters))?;
        let elements: Vec<u64> =
            (0..(LOAD * BITS as f64) as u64).map(|_| random.next_u64()).collect();
        let (filter, loads) = filled(1, &elements)?;
        for _ in 0..queries {
            let asked = random.next_u64();
            let load = (loads[filter.word_of(asked, 0)] as usize).min(LOADS_SHOWN);
            rates[load].trials += 1;
            rates[load].events += u64::from(filter.contains(asked));
        }
    }
    let forms = AllSet::new(WORD_BITS, HASHES as usize, 3.0 * LOADS_SHOWN as f64);
    let form = |load: usize| forms.after(load as f64 * f64::from(HASHES));
    let (mut points, mut inside) = (0, 0);
    for (load, rate) in rates.iter().enumerate().take(LOADS_SHOWN).skip(1) {
        panel.computed("occupancy of a word, exact", load as f64, form(load));
        if form(load) * rate.trials as f64 >= EVENTS_LEAST {
            let [low, high] = rate.interval();
            points += 1;
            inside += u32::from((low..=high).contains(&form(load)));
            panel.rate("measured", load as f64, *rate, filters);
        }
    }
    let bits = BITS as f64;
    let all = Model { bits, word_bits: WORD_BITS, words: 1, hashes: HASHES as usize };
    let mean = all.false_positive_rate_exact(LOAD * bits);
    let checks = [
        Check::new(
            "all but 2 of the measured points lie on the exact rate of a word",
            inside + 2 >= points,
            format!("{inside} of {points} points"),
        ),
        Check::new(
            "twice as many elements have more than twice the rate: 3, 6 and 12",
            form(6) > 2.0 * form(3) && form(12) > 2.0 * form(6),
            format!("{}, {}, {}", scientific(form(3)), scientific(form(6)), scientific(form(12))),
        ),
        // "Small" and "very high": below the mean of all words, and above twice that.
        Check::new(
            "words with 6 elements have less than the mean rate, those with 10 more than twice as much",
            form(6) < mean && form(10) > 2.0 * mean,
            format!(
                "{} and {}, mean {}",
                scientific(form(6)),
                scientific(form(10)),
                scientific(mean)
            ),
        ),
    ];
    let paper = "small for loads of 6 or less, growing superlinearly, very high at 10 or greater";
    let notes = vec!["The paper does not print k of this figure; shown is k = 3.".to_owned()];
    Ok(Outcome { panels: vec![panel], notes, verdict: Verdict::of_checks(paper, &checks) })
}

/// Figure 12: how many words have which load.
pub fn words_by_load(context: &Context<'_>) -> Result<Outcome, Failure> {
    let mut panel = Panel::new(
        "Words by their load",
        Axis::linear("elements per word (Bloom-2: by halves)"),
        Axis::log("share of the words"),
    );
    let filters = context.pick(2, 20, 200);
    let mut heavy = [Rate::default(); 2];
    for words in [1u32, 2] {
        let mut random = context.random(12);
        let mut counts = vec![0u64; 1 + LOADS_SHOWN * words as usize];
        let mut all = 0;
        for filter in 0..filters {
            context.done(f64::from(filter) / f64::from(filters))?;
            let elements: Vec<u64> =
                (0..(LOAD * BITS as f64) as u64).map(|_| random.next_u64()).collect();
            let (_, loads) = filled(words, &elements)?;
            all += loads.len() as u64;
            for load in loads {
                let last = counts.len() - 1;
                counts[(load as usize).min(last)] += 1;
            }
        }
        let mean = f64::from(words) * LOAD * f64::from(WORD_BITS);
        let name = format!("Bloom-{words}");
        for (parts, &count) in counts.iter().enumerate().take(LOADS_SHOWN * words as usize) {
            let load = parts as f64 / f64::from(words);
            panel.computed(format!("{name}, Poisson"), load, special::poisson(parts as f64, mean));
            if count >= EVENTS_LEAST as u64 {
                let rate = Rate { events: count, trials: all };
                panel.rate(format!("{name}, measured"), load, rate, filters);
            }
            if load >= 10.0 {
                heavy[words as usize - 1].events += count;
            }
        }
        heavy[words as usize - 1].trials = all;
    }
    let [one, two] = heavy;
    let checks = [Check::new(
        "the share of words with a load of 10 or more is lower in Bloom-2, and the intervals are apart",
        two.interval()[1] < one.interval()[0],
        format!("{} and {}", scientific(two.value()), scientific(one.value())),
    )];
    let paper = "Fewer words have heavy loads of 10 or higher in Bloom-2 than Bloom-1";
    let notes = vec![
        "A word of Bloom-2 has a half of each of its elements, so its load is counted in halves."
            .to_owned(),
    ];
    Ok(Outcome { panels: vec![panel], notes, verdict: Verdict::of_checks(paper, &checks) })
}
