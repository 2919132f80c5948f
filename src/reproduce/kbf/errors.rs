//! Figures 7, 8 and 17: errors of a filter as it gets smaller; the two options of decoding.

use acsm_filters::kv::Decoding;

use super::filter::{Answers, PRINTED, Pairs, RATES, Sizing, name};
use super::points::{Missing, all_but_a_few_on_the_form, falls, grows};
use crate::reproduce::{Axis, Check, Context, EVENTS_LEAST, Failure, Outcome, Panel, Verdict};
use crate::units::scientific;

/// Sizes in parts of m.
const PARTS: [f64; 6] = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5];

fn pairs_and_seeds(context: &Context<'_>) -> (u64, u64) {
    context.pick((50_000, 1), (1_000_000, 2), (10_000_000, 1))
}

fn size_axis() -> Axis {
    Axis::linear("cells, in parts of m")
}

/// Figure 7: queries of keys in the filter that give null, against its size.
pub fn false_negatives(context: &Context<'_>) -> Result<Outcome, Failure> {
    let mut panel =
        Panel::new("False negatives (null)", size_axis(), Axis::log("null answers per query"));
    let mut missing = Missing::default();
    let (pairs, seeds) = pairs_and_seeds(context);
    let mut wrong = (0, 0);
    for (at, &rate) in RATES.iter().enumerate() {
        for (step, part_of_m) in PARTS.into_iter().enumerate() {
            context.done((at as f64 + step as f64 / 6.0) / 4.0)?;
            let sizing = Sizing { pairs, rate, part_of_m };
            let form = sizing.undecided(pairs as f64, PRINTED);
            panel.computed(format!("{}, form", name(rate)), part_of_m, form);
            let queries = pairs * seeds;
            if form * (queries as f64) < EVENTS_LEAST {
                missing.add(&name(rate), part_of_m, form);
                continue;
            }
            let answers = own_keys(context, &sizing, PRINTED, seeds)?;
            wrong = (wrong.0 + answers.wrong, wrong.1 + answers.queries);
            panel.rate(name(rate), part_of_m, answers.null_rate(), seeds as u32);
        }
    }
    let worst = Sizing { pairs, rate: RATES[0], part_of_m: 1.0 };
    let at_capacity = worst.undecided(pairs as f64, PRINTED);
    let checks = [
        grows(&panel, &name(RATES[0]), "null answers grow as the filter shrinks"),
        all_but_a_few_on_the_form(&panel),
        Check::new(
            "an incorrect value is never returned",
            wrong.0 == 0,
            format!("{} incorrect of {} answers", wrong.0, wrong.1),
        ),
        Check::new(
            "by the form, at the size m at most one key in a million is null",
            at_capacity < 1e-6,
            format!("{} at p = 0.001", scientific(at_capacity)),
        ),
    ];
    let verdict = Verdict::of_checks(
        "hardly any within the capacity; exponential growth as m falls to half; nothing incorrect",
        &checks,
    );
    let mut notes = missing.notes("keys");
    notes.push(format!(
        "n = {pairs} pairs, {seeds} seeds; k stays as m shrinks. The paper says four values of p and shows \
         five in its legend (our text has no values)."
    ));
    Ok(Outcome { panels: vec![panel], notes, verdict })
}

/// Figure 8: queries of absent keys that give a value.
pub fn false_positives(context: &Context<'_>) -> Result<Outcome, Failure> {
    let mut panel = Panel::new("False positives", size_axis(), Axis::log("values per absent key"));
    let mut missing = Missing::default();
    let pairs = context.pick(50_000, 500_000, 10_000_000);
    for (at, &rate) in RATES.iter().enumerate() {
        for (step, part_of_m) in PARTS.into_iter().enumerate() {
            context.done((at as f64 + step as f64 / 6.0) / 4.0)?;
            let sizing = Sizing { pairs, rate, part_of_m };
            let form = sizing.false_positive(pairs as f64);
            panel.computed(format!("{}, form", name(rate)), part_of_m, form);
            if form * (pairs as f64) < EVENTS_LEAST {
                missing.add(&name(rate), part_of_m, form);
                continue;
            }
            let of = Pairs::new(context, 0);
            let mut filter = sizing.filter(PRINTED, of.hash_key())?;
            of.insert(&mut filter, 0..pairs);
            context.done((at as f64 + (step as f64 + 0.5) / 6.0) / 4.0)?;
            let absent = (pairs..2 * pairs).map(|n| (of.digest(n), 0));
            panel.rate(name(rate), part_of_m, Answers::of(&filter, absent).found_rate(), 1);
        }
    }
    let at_m =
        panel.rows_of(&name(RATES[0])).find(|row| row.x == 1.0).map_or(f64::NAN, |row| row.y);
    let checks = [
        Check::new(
            "at the size m the rate is within a factor of three of p",
            (RATES[0] / 3.0..RATES[0] * 3.0).contains(&at_m),
            format!("{} at p = 0.001", scientific(at_m)),
        ),
        grows(&panel, &name(RATES[0]), "it grows as the filter shrinks"),
        all_but_a_few_on_the_form(&panel),
    ];
    let verdict =
        Verdict::of_checks("close to p within the capacity, higher if m is reduced", &checks);
    let mut notes = missing.notes("absent keys");
    notes.push(format!(
        "n = {pairs} pairs and as many absent keys. Counted is a value, as the paper defines it; the form \
         also has answers that are undecided, which are rarer by orders of magnitude."
    ));
    Ok(Outcome { panels: vec![panel], notes, verdict })
}

/// The second option, with more than the two cells that Algorithm 6 chooses.
const ALL_CELLS: &str = "second option, all cells of two and three";

/// Figure 17: null answers of the two options of decoding, in m/2 cells.
pub fn two_options(context: &Context<'_>) -> Result<Outcome, Failure> {
    let axis = Axis::log("p, for which the filter was made");
    let mut panel =
        Panel::new("Null answers in m/2 cells", axis, Axis::log("null answers per query"));
    let mut missing = Missing::default();
    let (pairs, seeds) = pairs_and_seeds(context);
    let mut ratios = vec![];
    for (at, &rate) in RATES.iter().enumerate() {
        let sizing = Sizing { pairs, rate, part_of_m: 0.5 };
        let mut measured = vec![];
        for (series, decoding) in [
            ("first option", Decoding::Option1),
            ("second option", PRINTED),
            (ALL_CELLS, Decoding::Option2),
        ] {
            context.done(at as f64 / 4.0)?;
            let form = sizing.undecided(pairs as f64, decoding);
            panel.computed(format!("{series}, form"), rate, form);
            if form * ((pairs * seeds) as f64) < EVENTS_LEAST {
                missing.add(series, rate, form);
                continue;
            }
            let answers = own_keys(context, &sizing, decoding, seeds)?;
            measured.push(answers.null_rate().value());
            panel.rate(series, rate, answers.null_rate(), seeds as u32);
        }
        if let [first, second, ..] = measured[..] {
            ratios.push(first / second);
        }
    }
    let claim = "the second option has fewer null answers, by 5 to 30 times";
    let check = match ratios.as_slice() {
        [] => Check::open(claim, "too few events for both options"),
        ratios => Check::new(
            claim,
            ratios.iter().all(|ratio| (5.0..30.0).contains(ratio)),
            format!(
                "{} times",
                ratios.iter().map(|r| format!("{r:.1}")).collect::<Vec<_>>().join(", ")
            ),
        ),
    };
    let checks = [
        check,
        falls(&panel, "first option", "the smaller p, the fewer null answers"),
        all_but_a_few_on_the_form(&panel),
    ];
    let verdict = Verdict::of_checks("fewer null answers by almost an order of magnitude", &checks);
    Ok(Outcome { panels: vec![panel], notes: missing.notes("keys"), verdict })
}

/// Asks a full filter for all of its keys, over several seeds.
fn own_keys(
    context: &Context<'_>,
    sizing: &Sizing,
    decoding: Decoding,
    seeds: u64,
) -> Result<Answers, Failure> {
    let mut all = Answers::default();
    for seed in 0..seeds {
        let pairs = Pairs::new(context, seed);
        let mut filter = sizing.filter(decoding, pairs.hash_key())?;
        pairs.insert(&mut filter, 0..sizing.pairs);
        context.check()?;
        let keys = (0..sizing.pairs).map(|n| (pairs.digest(n), pairs.value(n, 0)));
        all.add(Answers::of(&filter, keys));
        context.check()?;
    }
    Ok(all)
}
