//! Figures 9 to 12: deletions and updates in ten batches, in order of insertion.

use acsm_filters::kv::{Answer, KbfMap};

use super::filter::{Answers, PRINTED, Pairs, RATES, Sizing, VALUES, name};
use super::points::{Missing, all_but_a_few_on_the_form, falls, grows};
use crate::reproduce::{
    Axis, Check, Context, EVENTS_LEAST, Failure, Outcome, Panel, Rate, Verdict,
};
use crate::units::scientific;

const BATCHES: u64 = 10;

fn batch_axis() -> Axis {
    Axis::linear("batches")
}

fn pairs(context: &Context<'_>) -> u64 {
    context.pick(20_000, 500_000, 10_000_000)
}

/// Figure 9: keys that were deleted and are found, in m cells.
pub fn deletions(context: &Context<'_>) -> Result<Outcome, Failure> {
    deletions_in(context, 1.0)
}

/// Figure 10: the same in m/2 cells.
pub fn deletions_in_half(context: &Context<'_>) -> Result<Outcome, Failure> {
    deletions_in(context, 0.5)
}

/// Keys that were deleted from a filter, and those that could not be.
struct Deleted {
    /// Queries of keys that remain: null before and after.
    remaining: Vec<Rate>,
    wrong: u64,
    left: u64,
}

fn deletions_in(context: &Context<'_>, part_of_m: f64) -> Result<Outcome, Failure> {
    let y = || Axis::log("values per deleted key");
    let mut all = Panel::new("All keys deleted so far", batch_axis(), y());
    let mut batch = Panel::new("The keys of the last batch", batch_axis(), y());
    let mut missing = Missing::default();
    let mut notes = vec![];
    let mut falling = true;
    for (at, &rate) in RATES.iter().enumerate() {
        let sizing = Sizing { pairs: pairs(context), rate, part_of_m };
        let progress = |part: f64| context.done((at as f64 + part) / 4.0);
        let deleted =
            delete_in_batches(context, &sizing, [&mut all, &mut batch], &mut missing, &progress)?;
        let (first, last) = (deleted.remaining.first(), deleted.remaining.last());
        if let (Some(first), Some(last)) = (first, last) {
            falling &= last.value() <= first.value();
            notes.push(format!(
                "{}: {} keys were null and could not be deleted; they are not asked again. Of the keys that \
                 remain, {} of {} are null after the first batch and {} of {} after the ninth, {} have \
                 another value.",
                name(rate),
                deleted.left,
                first.events,
                first.trials,
                last.events,
                last.trials,
                deleted.wrong
            ));
        }
    }
    notes.extend(missing.notes("deleted keys"));
    let checks = [
        grows(&all, &name(RATES[0]), "fewer deleted keys are found after each batch"),
        smaller_p_is_better(&all),
        all_but_a_few_on_the_form(&all),
        Check::new(
            "keys that remain are null no more often after the ninth batch than after the first",
            falling,
            "null answers of remaining keys do not grow",
        ),
    ];
    let verdict =
        Verdict::of_checks("for a smaller p, the performance tends to be much better", &checks);
    notes.push(
        "“Query the deleted keys after each deletion” can mean all that were deleted so far or the batch \
         alone: both are shown."
            .to_owned(),
    );
    Ok(Outcome { panels: vec![all, batch], notes, verdict })
}

/// At the first batch at which both are measured, each p has a lower rate than the one before.
fn smaller_p_is_better(panel: &Panel) -> Check {
    let says = "the smaller p, the fewer";
    let firsts: Vec<f64> = RATES
        .iter()
        .filter_map(|&rate| Some(panel.rows_of(&name(rate)).find(|row| row.x == 1.0)?.y))
        .collect();
    let shown: Vec<String> = firsts.iter().map(|y| scientific(*y)).collect();
    let seen = format!("{} after the first batch", shown.join(", "));
    match firsts.len() {
        0 | 1 => Check::open(says, "fewer than two p can be measured"),
        _ => Check::new(says, firsts.is_sorted_by(|a, b| a > b), seen),
    }
}

fn delete_in_batches(
    context: &Context<'_>,
    sizing: &Sizing,
    [all, last]: [&mut Panel; 2],
    missing: &mut Missing,
    progress: &dyn Fn(f64) -> Result<(), Failure>,
) -> Result<Deleted, Failure> {
    let of = Pairs::new(context, 0);
    let mut filter = sizing.filter(PRINTED, of.hash_key())?;
    of.insert(&mut filter, 0..sizing.pairs);
    let mut deleted = Deleted { remaining: vec![], wrong: 0, left: 0 };
    let mut gone: Vec<u64> = Vec::with_capacity(sizing.pairs as usize);
    let size = sizing.pairs / BATCHES;
    for batch in 1..=BATCHES {
        progress((batch - 1) as f64 / BATCHES as f64)?;
        let before = gone.len();
        for n in (batch - 1) * size..batch * size {
            match filter.query(of.digest(n), VALUES) {
                Answer::Found(value) => {
                    filter.delete(of.digest(n), value);
                    gone.push(n);
                }
                _ => deleted.left += 1,
            }
        }
        let form = sizing.false_positive((sizing.pairs - batch * size) as f64);
        let x = batch as f64;
        let asked = [(all as &mut Panel, &gone[..]), (last as &mut Panel, &gone[before..])];
        for (panel, keys) in asked {
            if batch < BATCHES {
                panel.computed(format!("{}, form", name(sizing.rate)), x, form);
            }
            if form * (keys.len() as f64) < EVENTS_LEAST {
                if batch < BATCHES && before > 0 {
                    missing.add(&name(sizing.rate), x, form);
                }
                continue;
            }
            let answers = Answers::of(&filter, keys.iter().map(|&n| (of.digest(n), 0)));
            panel.rate(name(sizing.rate), x, answers.found_rate(), 1);
        }
        let remaining = (batch * size..sizing.pairs).map(|n| (of.digest(n), of.value(n, 0)));
        let answers = Answers::of(&filter, remaining);
        if answers.queries > 0 {
            deleted.remaining.push(answers.null_rate());
            deleted.wrong += answers.wrong;
        }
    }
    Ok(deleted)
}

/// Figure 11: null answers after each batch of updates, in m cells.
pub fn updates(context: &Context<'_>) -> Result<Outcome, Failure> {
    updates_in(context, 1.0, false)
}

/// Figure 12: the same in m/2 cells.
pub fn updates_in_half(context: &Context<'_>) -> Result<Outcome, Failure> {
    updates_in(context, 0.5, false)
}

/// INFOCOM, figure 11: null or another value.
pub fn null_or_wrong(context: &Context<'_>) -> Result<Outcome, Failure> {
    updates_in(context, 1.0, true)
}

/// INFOCOM, figure 12: null or another value in m/2 cells.
pub fn null_or_wrong_in_half(context: &Context<'_>) -> Result<Outcome, Failure> {
    updates_in(context, 0.5, true)
}

fn updates_in(context: &Context<'_>, part_of_m: f64, with_wrong: bool) -> Result<Outcome, Failure> {
    let counted = if with_wrong { "null or another value" } else { "null" };
    let title = format!("False negatives ({counted}) after each batch of updates");
    let mut panel = Panel::new(title, batch_axis(), Axis::log("per query"));
    let mut wrong = Panel::new("Other values", batch_axis(), Axis::log("other values per query"));
    let mut missing = Missing::default();
    let seeds = context.pick(1, 2, 1);
    for (at, &rate) in RATES.iter().enumerate() {
        let sizing = Sizing { pairs: pairs(context), rate, part_of_m };
        let progress = |part: f64| context.done((at as f64 + part) / 4.0);
        let form = sizing.undecided(sizing.pairs as f64, PRINTED);
        for batch in 0..=BATCHES {
            panel.computed(format!("{}, form", name(rate)), batch as f64, form);
        }
        if form * ((sizing.pairs * seeds) as f64) < EVENTS_LEAST {
            missing.add(&name(rate), 0.0, form);
            continue;
        }
        let after = update_in_batches(context, &sizing, seeds, &progress)?;
        for (batch, answers) in (0..).zip(after) {
            let mut counted = answers.null_rate();
            if with_wrong {
                counted.events += answers.wrong;
            }
            panel.rate(name(rate), f64::from(batch), counted, seeds as u32);
            wrong.rate(name(rate), f64::from(batch), answers.wrong_rate(), seeds as u32);
        }
    }
    let mut notes = missing.notes("keys");
    notes.push(
        "A key whose query was null cannot be updated: it keeps its old value, and shows it when a neighbour \
         changes. So other values appear and grow, which the papers do not count or do not mention; null \
         answers stay as they are."
            .to_owned(),
    );
    let verdict = updates_verdict(&panel, &wrong, part_of_m, with_wrong);
    Ok(Outcome { panels: vec![panel, wrong], notes, verdict })
}

fn updates_verdict(panel: &Panel, wrong: &Panel, part_of_m: f64, with_wrong: bool) -> Verdict {
    let paper = "the performance will be much better for smaller p values and larger m sizes";
    let largest = name(RATES[0]);
    let rows: Vec<_> = panel.rows_of(&largest).collect();
    let ([first, .., last], true) = (rows.as_slice(), part_of_m < 1.0) else {
        return Verdict::undecided(
            paper,
            "fewer than ten expected events for every p: the notes say how many keys it takes; figure 12 \
             tests the same with half of the cells",
        );
    };
    let sum: u64 = wrong.rows_of(&largest).filter_map(|row| Some(row.rate?.events)).sum();
    let form = |rate| panel.rows_of(&format!("{}, form", name(rate))).next().map(|row| row.y);
    let forms: Vec<f64> = RATES.iter().filter_map(|&rate| form(rate)).collect();
    let mut checks = vec![Check::new(
        "by the form, the smaller p the fewer",
        forms.is_sorted_by(|a, b| a > b),
        format!(
            "null by the form {}",
            forms.iter().map(|y| scientific(*y)).collect::<Vec<_>>().join(", ")
        ),
    )];
    let apart = match (first.interval, last.interval) {
        (Some([low, high]), Some([last_low, last_high])) => last_low > high || last_high < low,
        _ => false,
    };
    if with_wrong {
        checks.push(falls_or_flat(panel, &largest));
    } else {
        checks.push(Check::new(
            "null answers after the last batch do not differ from those before the first",
            !apart,
            format!("{} before, {} after", scientific(first.y), scientific(last.y)),
        ));
        checks.push(all_but_a_few_on_the_form(panel));
    }
    let mut verdict = Verdict::of_checks(paper, &checks);
    verdict.measured += &format!("; {sum} other values in ten batches at {largest}");
    verdict
}

/// With other values counted, the rate does not fall while keys are updated.
fn falls_or_flat(panel: &Panel, series: &str) -> Check {
    let says = "null or wrong answers do not fall from batch to batch";
    let falling = grows(panel, series, says);
    let rising = falls(panel, series, says);
    Check { holds: Some(falling.holds != Some(true)), ..rising }
}

/// The answers about all keys before the first and after each batch.
fn update_in_batches(
    context: &Context<'_>,
    sizing: &Sizing,
    seeds: u64,
    progress: &dyn Fn(f64) -> Result<(), Failure>,
) -> Result<Vec<Answers>, Failure> {
    let mut after = vec![Answers::default(); BATCHES as usize + 1];
    for seed in 0..seeds {
        let of = Pairs::new(context, seed);
        let mut filter = sizing.filter(PRINTED, of.hash_key())?;
        of.insert(&mut filter, 0..sizing.pairs);
        let size = sizing.pairs / BATCHES;
        for (batch, answers) in (0..).zip(&mut after) {
            let done = (seed * (BATCHES + 1) + batch) as f64;
            progress(done / (seeds * (BATCHES + 1)) as f64)?;
            let updated = batch * size;
            update(&mut filter, &of, updated.saturating_sub(size)..updated);
            let keys =
                (0..sizing.pairs).map(|n| (of.digest(n), of.value(n, u64::from(n < updated))));
            answers.add(Answers::of(&filter, keys));
        }
    }
    Ok(after)
}

/// Gives these keys a new value. One whose old value is null cannot be updated.
fn update(filter: &mut KbfMap, of: &Pairs, keys: std::ops::Range<u64>) {
    for n in keys {
        if let Answer::Found(old) = filter.query(of.digest(n), VALUES) {
            filter.update(of.digest(n), old, of.value(n, 1));
        }
    }
}
