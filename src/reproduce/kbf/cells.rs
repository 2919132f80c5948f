//! Figures 4 and 5: how many items a cell has, and which keys that makes undecodable.

use acsm_filters::rng::Random;
use acsm_model::{bloom, kbf, special};

use super::points::all_but_a_few_on_the_form;
use crate::reproduce::{
    Answer, Axis, Check, Context, EVENTS_LEAST, Failure, Outcome, Panel, Rate, Verdict,
};
use crate::units::scientific;

/// Purposes of random numbers.
const FIGURE_4: u64 = 4;
const FIGURE_5: u64 = 5;

/// What the paper prints for a single cell at its capacity.
const PRINTED: f64 = 0.033_331_3;
/// P_n(1) as the paper computes it.
const PREDICTED: f64 = 0.033_313_2;
/// From three items on, the paper calls a cell not decodable.
const CROWDED: u32 = 3;
/// k of figure 4.
const HASHES: usize = 10;

/// Figure 4: the share of cells with three items or more at capacity, against n.
pub fn crowded_against_n(context: &Context<'_>) -> Result<Outcome, Failure> {
    let title = "Share of cells with three items or more, k = 10, m = nk / ln 2";
    let mut panel =
        Panel::new(title, Axis::log("n, pairs"), Axis::linear("probability of three or more"));
    let mut random = context.random(FIGURE_4);
    let counts: &[u32] = context.pick(
        &[10, 100, 1000],
        &[10, 100, 1000, 10_000, 100_000],
        &[10, 100, 1000, 10_000, 100_000, 1_000_000],
    );
    let throws = context.pick(200_000, 20_000_000, 200_000_000);
    let mut last = 0.0;
    for (at, &n) in counts.iter().enumerate() {
        context.done(at as f64 / counts.len() as f64)?;
        let balls = n as usize * HASHES;
        let cells = balls as f64 / std::f64::consts::LN_2;
        let few = (0..CROWDED).map(|few| bloom::cell_has_of(few, cells, HASHES, f64::from(n)));
        last = 1.0 - few.sum::<f64>();
        panel.computed("binomial, exact", f64::from(n), last);
        panel.computed("limit P_n(1)", f64::from(n), kbf::crowded_cell(1.0));
        let repetitions = (throws / balls).max(1) as u32;
        let rate = crowded(balls, cells.round() as usize, repetitions, &mut random);
        panel.rate("simulated", f64::from(n), rate, repetitions);
    }
    let limit = kbf::crowded_cell(1.0);
    let agrees = (last - PRINTED).abs() < 0.5e-7;
    let verdict = Verdict::new(
        if agrees { Answer::Reproduced } else { Answer::Differs },
        "0.0333313 for a cell, predicted 0.0333132",
        format!("{last:.7} for the largest n, in the limit {limit:.7}"),
        format!(
            "the prediction {PREDICTED} is right; the exact values approach it from below, so that no n \
             gives {PRINTED}: probably two digits have changed places"
        ),
    );
    Ok(Outcome { panels: vec![panel], notes: vec![], verdict })
}

/// Throws balls into cells; counts cells with three or more.
fn crowded(balls: usize, cells: usize, repetitions: u32, random: &mut Random) -> Rate {
    let mut rate = Rate::default();
    let mut counts = vec![0u8; cells];
    for _ in 0..repetitions {
        counts.fill(0);
        for _ in 0..balls {
            let cell = &mut counts[random.below(cells as u64) as usize];
            *cell = cell.saturating_add(1);
        }
        rate.events += counts.iter().filter(|&&count| u32::from(count) >= CROWDED).count() as u64;
        rate.trials += cells as u64;
    }
    rate
}

/// Figure 5: keys that cannot be decoded, against ρ.
pub fn undecodable_against_rho(context: &Context<'_>) -> Result<Outcome, Failure> {
    let new = |title| {
        Panel::new(
            title,
            Axis::linear("ρ, load in multiples of the capacity"),
            Axis::log("probability"),
        )
    };
    let mut printed = new("As printed");
    let mut panel = new("Of a key's own cells");
    let keys = context.pick(20_000, 1_000_000, 20_000_000);
    let mut random = context.random(FIGURE_5);
    let mut notes = vec![];
    for (done, hashes) in [5, 7, 10, 15].into_iter().enumerate() {
        let mut smallest: f64 = 0.0;
        for quarter in 1..=16 {
            let rho = f64::from(quarter) / 4.0;
            context.done((done as f64 + rho / 4.0) / 4.0)?;
            let right = kbf::undecodable_flow(rho, hashes);
            printed.computed(
                format!("k = {hashes}"),
                rho,
                kbf::undecodable_as_printed(rho, hashes),
            );
            panel.computed(format!("k = {hashes}, form"), rho, right);
            if right * keys as f64 >= EVENTS_LEAST {
                let rate = undecodable(bloom::load_at(rho), hashes, keys, &mut random);
                panel.rate(format!("k = {hashes}"), rho, rate, 1);
            } else {
                smallest = rho;
            }
        }
        notes.push(format!(
            "k = {hashes}: points up to ρ = {smallest} have fewer than ten expected events among {keys} \
             keys; at ρ = 1 it takes {} keys.",
            scientific(EVENTS_LEAST / kbf::undecodable_flow(1.0, hashes))
        ));
    }
    let at = |rho: f64| kbf::undecodable_flow(rho, 10);
    let checks = [
        Check::new(
            "for k = 10 and every ρ below 2, more than 99 % of the keys can be decoded",
            at(2.0) < 0.01,
            format!("{} undecodable at ρ = 2", scientific(at(2.0))),
        ),
        Check::new(
            "at ρ = 4, ten times as many cannot as at ρ = 2",
            at(4.0) > 10.0 * at(2.0),
            format!("{} at ρ = 4", scientific(at(4.0))),
        ),
        all_but_a_few_on_the_form(&panel),
    ];
    notes.push(
        "As printed, the form is that of k random cells; but a key's own cells have that key in them: one \
         item more than a random cell. At ρ = 2 and k = 10 that is 1.1e-3 in place of 2.1e-7."
            .to_owned(),
    );
    let verdict =
        Verdict::of_checks("for k = 10 practically all decode while ρ is below 2", &checks);
    Ok(Outcome { panels: vec![printed, panel], notes, verdict })
}

/// Draws the other items on the k cells of a key, and counts keys that the first option cannot decode:
/// no cell of their own, and fewer than two with one other.
fn undecodable(load: f64, hashes: usize, keys: u64, random: &mut Random) -> Rate {
    let alone = special::poisson(0.0, load);
    let with_one = alone + special::poisson(1.0, load);
    let mut events = 0;
    for _ in 0..keys {
        let mut pairs = 0;
        let decodes = (0..hashes).any(|_| {
            let drawn = random.unit();
            pairs += u32::from(drawn < with_one);
            drawn < alone || pairs == 2
        });
        events += u64::from(!decodes);
    }
    Rate { events, trials: keys }
}
