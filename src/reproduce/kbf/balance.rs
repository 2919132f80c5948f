//! Figures 20 to 23: exchanges of slabs between servers (Algorithm 8).

use acsm_filters::balance::{EXCHANGES_MAX, Method, Plan, balance, imbalance};

use crate::reproduce::{Axis, Check, Context, Failure, Outcome, Panel, Verdict, mean_interval};
use crate::units::scientific;

const SERVERS: usize = 5;
const SLABS: usize = 10;
/// Capacity of a slab, in pairs.
const SLAB_PAIRS: u64 = 10_000_000;
/// Sets in the papers' figures 22 and 23.
const SETS: usize = 100;
/// The papers' mean improvement.
const PRINTED: f64 = 0.6086;
/// Purpose of random numbers.
const STARTS: u64 = 20;

/// Pairs in each slab of each server: uniform from 0 to the capacity.
fn starts(context: &Context<'_>, count: usize) -> Vec<Vec<Vec<u64>>> {
    let mut random = context.random(STARTS);
    let mut slabs = || (0..SLABS).map(|_| random.below(SLAB_PAIRS + 1)).collect();
    (0..count).map(|_| (0..SERVERS).map(|_| slabs()).collect()).collect()
}

fn totals(servers: &[Vec<u64>]) -> Vec<f64> {
    servers.iter().map(|slabs| slabs.iter().sum::<u64>() as f64).collect()
}

/// The servers' totals after the exchanges of a plan.
fn totals_after(servers: &[Vec<u64>], plan: &Plan) -> Vec<f64> {
    let mut servers = servers.to_vec();
    for exchange in &plan.exchanges {
        let ((a, i), (b, j)) = (exchange.fullest, exchange.emptiest);
        let given = servers[a][i];
        servers[a][i] = servers[b][j];
        servers[b][j] = given;
    }
    totals(&servers)
}

fn algorithm_8(servers: &[Vec<u64>]) -> Plan {
    balance(servers, Method::Algorithm8, EXCHANGES_MAX)
}

/// Figure 20: pairs per server, before and after.
pub fn servers(context: &Context<'_>) -> Result<Outcome, Failure> {
    let start = starts(context, 1).swap_remove(0);
    let plan = algorithm_8(&start);
    let (before, after) = (totals(&start), totals_after(&start, &plan));
    let mut panel = Panel::new("Pairs per server", Axis::linear("server"), Axis::linear("pairs"));
    for (series, loads) in [("before", &before), ("after", &after)] {
        for (number, load) in loads.iter().enumerate() {
            panel.measured(series, number as f64 + 1.0, *load, 1);
        }
    }
    let range = |loads: &[f64]| {
        let (low, high) = loads
            .iter()
            .fold((f64::MAX, 0.0), |(low, high), &load: &f64| (load.min(low), load.max(high)));
        high - low
    };
    let sum = |loads: &[f64]| loads.iter().sum::<f64>();
    let checks = [
        Check::new(
            "the fullest and the emptiest server are closer to each other after it",
            range(&after) < range(&before) || plan.exchanges.is_empty(),
            format!("{:.0} pairs apart before, {:.0} after", range(&before), range(&after)),
        ),
        Check::new(
            "no pair is lost",
            sum(&before) == sum(&after),
            format!("{:.0} pairs in all", sum(&after)),
        ),
    ];
    let verdict = Verdict::of_checks("servers are balanced better after the algorithm", &checks);
    let notes = vec![format!(
        "One start with uniform(0, 10 M) pairs in each of 5 × 10 slabs; {} exchanges. The paper's start is \
         not printed.",
        plan.exchanges.len()
    )];
    Ok(Outcome { panels: vec![panel], notes, verdict })
}

/// Figure 21: ρ after each exchange.
pub fn steps(context: &Context<'_>) -> Result<Outcome, Failure> {
    let mut panel =
        Panel::new("ρ after each exchange", Axis::linear("exchanges"), Axis::linear("ρ"));
    let shown = starts(context, 5);
    let mut falls = true;
    for (number, start) in shown.iter().enumerate() {
        let plan = algorithm_8(start);
        falls &= plan.imbalance.is_sorted_by(|a, b| a > b);
        for (step, rho) in plan.imbalance.iter().enumerate() {
            panel.measured(format!("start {}", number + 1), step as f64, *rho, 1);
        }
    }
    let count = context.pick(200, 20_000, 20_000);
    let most = starts(context, count).iter().map(|start| algorithm_8(start).exchanges.len()).max();
    let checks = [Check::new("ρ falls with every exchange", falls, "five starts")];
    let notes = vec![format!(
        "It stops by itself: at most {} exchanges in {count} starts, so C_max = 10 never acts. An exchange that \
         leaves ρ as it is would be repeated for ever by the algorithm as printed (line 10 asks for \
         ρ_new > ρ); here it ends the run.",
        most.unwrap_or(0)
    )];
    Ok(Outcome {
        panels: vec![panel],
        notes,
        verdict: Verdict::of_checks("ρ decreases during each step", &checks),
    })
}

/// Figure 22: ρ before and after, for 100 starts.
pub fn before_and_after(context: &Context<'_>) -> Result<Outcome, Failure> {
    let mut panel = Panel::new("ρ of 100 starts", Axis::linear("start"), Axis::linear("ρ"));
    let mut pairs: Vec<[f64; 2]> = starts(context, SETS)
        .iter()
        .map(|start| {
            let plan = algorithm_8(start);
            [imbalance(&totals(start)), imbalance(&totals_after(start, &plan))]
        })
        .collect();
    pairs.sort_by(|a, b| a[0].total_cmp(&b[0]));
    for (side, series) in ["before", "after"].into_iter().enumerate() {
        for (number, pair) in pairs.iter().enumerate() {
            panel.measured(series, number as f64 + 1.0, pair[side], 1);
        }
    }
    let mean = |side: usize, of: &[[f64; 2]]| {
        of.iter().map(|pair| pair[side]).sum::<f64>() / of.len().max(1) as f64
    };
    let improvement = |of: &[[f64; 2]]| 1.0 - mean(1, of) / mean(0, of);
    let (balanced, imbalanced) = pairs.split_at(SETS / 2);
    let checks = [
        Check::new(
            "ρ is never larger after it",
            pairs.iter().all(|[before, after]| after <= before),
            format!("mean {:.3} before, {:.3} after", mean(0, &pairs), mean(1, &pairs)),
        ),
        Check::new(
            "the half of the starts with the larger ρ gains the larger part",
            improvement(imbalanced) > improvement(balanced),
            format!(
                "{:.0} % against {:.0} %",
                100.0 * improvement(imbalanced),
                100.0 * improvement(balanced)
            ),
        ),
    ];
    let claim = "large decrease of ρ, especially under very imbalanced settings";
    Ok(Outcome {
        panels: vec![panel],
        notes: vec!["Starts are sorted by ρ before.".to_owned()],
        verdict: Verdict::of_checks(claim, &checks),
    })
}

/// Figure 23: the improvement of ρ, sorted; and what the best pair of slabs brings.
pub fn improvement(context: &Context<'_>) -> Result<Outcome, Failure> {
    let count = context.pick(1000, 20_000, 20_000);
    let starts = starts(context, count);
    let of = |method, exchanges| -> Vec<f64> {
        starts.iter().map(|start| balance(start, method, exchanges).improvement()).collect()
    };
    let ours = of(Method::Algorithm8, EXCHANGES_MAX);
    let mut sorted = ours.get(..SETS).unwrap_or(&ours).to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut panel = Panel::new(
        "Improvement of ρ, the first 100 starts",
        Axis::linear("start, sorted"),
        Axis::linear("improvement"),
    );
    for (at, improvement) in sorted.iter().enumerate() {
        panel.measured("Algorithm 8", at as f64 + 1.0, *improvement, 1);
    }
    let mut further = Panel::new(
        "Mean improvement, by exchanges",
        Axis::linear("exchanges at most"),
        Axis::linear("mean improvement"),
    );
    for (series, method) in [("Algorithm 8", Method::Algorithm8), ("best pair", Method::BestPair)] {
        for exchanges in [1, 2, 3, 5, 10] {
            context.done(exchanges as f64 / 10.0)?;
            let values = of(method, exchanges);
            if let Some((mean, ends)) = mean_interval(&values, count) {
                further.between(series, exchanges as f64, mean, ends, count as u32);
            }
        }
    }
    let none = ours.iter().filter(|&&improvement| improvement == 0.0).count();
    let (mean, interval) = mean_interval(&ours, SETS).unwrap_or((0.0, [0.0, 1.0]));
    let verdict = Verdict::of_number("60.86 %, the mean of 100 starts", PRINTED, mean, interval);
    let notes = vec![
        format!(
            "{count} starts: mean {}; without any improvement {:.1} %. The mean of 100 starts varies so \
             much that no more can be said.",
            scientific(mean),
            100.0 * none as f64 / count as f64
        ),
        "Beyond the paper: of the fullest and the emptiest server the two slabs whose exchange leaves the \
         least imbalance (“best pair”)."
            .to_owned(),
    ];
    Ok(Outcome { panels: vec![panel, further], notes, verdict })
}
