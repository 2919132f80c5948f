//! Figures 13 and 14: JOIN of two filters, COMPRESS of one.

use acsm_filters::kv::KbfMap;

use super::filter::{Answers, PRINTED, Pairs, RATES, Sizing, name};
use super::points::{Missing, all_but_a_few_on_the_form, falls};
use crate::reproduce::{Axis, Check, Context, EVENTS_LEAST, Failure, Outcome, Panel, Verdict};
use crate::units::scientific;

/// Loads in multiples of the capacity.
const LOADS: [f64; 10] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

/// Figure 13: JOIN.
pub fn join(context: &Context<'_>) -> Result<Outcome, Failure> {
    measure(context, "joined", |context, sizing, rho, seed| {
        let of = Pairs::new(context, seed);
        let each = (rho * sizing.pairs as f64).round() as u64;
        let mut first = sizing.filter(PRINTED, of.hash_key())?;
        let mut second = sizing.filter(PRINTED, of.hash_key())?;
        of.insert(&mut first, 0..each);
        of.insert(&mut second, each..2 * each);
        first.join(&second)?;
        Ok((first, of, 2 * each))
    })
}

/// Figure 14: COMPRESS.
pub fn compress(context: &Context<'_>) -> Result<Outcome, Failure> {
    measure(context, "compressed", |context, sizing, rho, seed| {
        let of = Pairs::new(context, seed);
        let each = (rho * sizing.pairs as f64).round() as u64;
        let mut filter = sizing.filter(PRINTED, of.hash_key())?;
        of.insert(&mut filter, 0..each);
        Ok((filter.compressed()?, of, each))
    })
}

/// Makes a filter with its pairs, all of which it must hold: those with a number below the last.
type Make = fn(&Context<'_>, &Sizing, f64, u64) -> Result<(KbfMap, Pairs, u64), Failure>;

fn measure(context: &Context<'_>, done: &str, make: Make) -> Result<Outcome, Failure> {
    let pairs = context.pick(50_000, 1_000_000, 10_000_000);
    let seeds: u64 = context.pick(1, 2, 1);
    let x = Axis::linear("ρ of each filter before");
    let mut panel = Panel::new(
        format!("Null answers of the {done} filter"),
        x,
        Axis::log("null answers per query"),
    );
    let mut missing = Missing::default();
    let mut all = Answers::default();
    for (at, &rate) in RATES.iter().enumerate() {
        let sizing = Sizing { pairs, rate, part_of_m: 1.0 };
        for (step, rho) in LOADS.into_iter().enumerate() {
            context.done((at as f64 + step as f64 / 10.0) / 4.0)?;
            let form = sizing.undecided(2.0 * rho * pairs as f64, PRINTED);
            panel.computed(format!("{}, form", name(rate)), rho, form);
            let queries = 2.0 * rho * (pairs * seeds) as f64;
            // COMPRESS has half as many keys as JOIN.
            if form * queries / 2.0 < EVENTS_LEAST {
                missing.add(&name(rate), rho, form);
                continue;
            }
            let mut answers = Answers::default();
            for seed in 0..seeds {
                let (filter, of, keys) = make(context, &sizing, rho, seed)?;
                context.check()?;
                answers
                    .add(Answers::of(&filter, (0..keys).map(|n| (of.digest(n), of.value(n, 0)))));
            }
            all.add(answers);
            panel.rate(name(rate), rho, answers.null_rate(), seeds as u32);
        }
    }
    let sizing = Sizing { pairs, rate: RATES[0], part_of_m: 1.0 };
    let below = sizing.undecided(pairs as f64, PRINTED);
    let checks = [
        Check::new(
            "by the form, below ρ = 0.5 at most one key in a million is null",
            below < 1e-6,
            format!("{} at ρ = 0.5, p = 0.001", scientific(below)),
        ),
        falls(&panel, &name(RATES[0]), "beyond, null answers grow with ρ"),
        all_but_a_few_on_the_form(&panel),
        Check::new(
            "no key is lost and none has another value",
            all.absent == 0 && all.wrong == 0,
            format!("{} absent and {} wrong of {} keys", all.absent, all.wrong, all.queries),
        ),
    ];
    let verdict = Verdict::of_checks(
        "almost zero below 0.5, beyond it exponential growth, consistent with figure 7",
        &checks,
    );
    let mut notes = missing.notes("keys");
    notes.push(format!(
        "Capacity {pairs} pairs, {seeds} seeds. The form is that of one filter at 2ρ. A filter is folded \
         within each of its k parts: folded as a whole, cells of one key could meet."
    ));
    Ok(Outcome { panels: vec![panel], notes, verdict })
}
