//! Figure 19: states of flows as an image; Hu's moments of its patches, from the truth and from a kBF.

use std::collections::HashMap;

use acsm_filters::kv::{Answer, Decoding};
use acsm_filters::{Lookup, State};

use super::filter::{Sizing, name};
use super::trace::{PaperTrace, keyer};
use crate::capture::PacketSource as _;
use crate::capture::parse::Parser;
use crate::machine::{Next, Rules};
use crate::reproduce::{Axis, Check, Context, Failure, Outcome, Panel, Rate, Verdict};

/// Pixels of a side of a patch.
const PATCH: usize = 8;
/// The papers' p.
const RATES: [f64; 3] = [0.01, 0.001, 0.0001];
/// A peak: a distance above this part of the mean length of the true vectors.
const PEAK: f64 = 0.01;
/// A finished packet count between two looks at the stop flag.
const TICK: u64 = 1 << 16;

/// Figure 19.
pub fn moments(context: &Context<'_>) -> Result<Outcome, Failure> {
    let (flows, side) = context.pick((4200, 64), (246_539, 496), (246_539, 496));
    let trace = PaperTrace::new(context, flows)?;
    context.done(0.2)?;
    let states = final_states(context, &trace, side * side)?;
    let truth: Vec<f64> = states.iter().map(|state| f64::from(*state) + 1.0).collect();
    let true_moments = patches(&truth, side);
    let length = |vector: &[f64; 7]| vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    let peak = PEAK * true_moments.iter().map(length).sum::<f64>() / true_moments.len() as f64;
    let mut panel = Panel::new(
        "Distances of the patches that differ, sorted",
        Axis::linear("patches"),
        Axis::log("Euclidean distance"),
    );
    let mut pixels = Panel::new("Wrong pixels", Axis::log("p"), Axis::log("part of the pixels"));
    let mut peaks = vec![];
    for (at, rate) in RATES.into_iter().enumerate() {
        context.done(0.3 + 0.2 * at as f64)?;
        let image = queried(context, &states, rate)?;
        let wrong = image.iter().zip(&truth).filter(|(a, b)| a != b).count() as u64;
        pixels.rate(
            "null or another state",
            rate,
            Rate { events: wrong, trials: truth.len() as u64 },
            1,
        );
        let found = patches(&image, side);
        let distance = |(a, b): (&[f64; 7], &[f64; 7])| {
            a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
        };
        let mut distances: Vec<f64> = true_moments.iter().zip(&found).map(distance).collect();
        distances.retain(|distance| *distance > 0.0);
        distances.sort_by(|a, b| b.total_cmp(a));
        for (rank, distance) in distances.iter().enumerate() {
            panel.measured(name(rate), rank as f64 + 1.0, *distance, 1);
        }
        peaks.push(distances.iter().filter(|distance| **distance > peak).count());
    }
    let all = true_moments.len();
    let checks = [
        Check::new(
            "the smaller p, the fewer peaks",
            peaks.is_sorted_by(|a, b| a > b),
            format!(
                "{} peaks of {all} patches at p = 0.01, 0.001, 0.0001",
                peaks.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
            ),
        ),
        Check::new("there is none at p = 0.0001", peaks.last() == Some(&0), ""),
    ];
    let mut verdict = Verdict::of_checks("fewer peaks as p falls, and none at p = 0.0001", &checks);
    verdict.measured = verdict.measured.trim_end_matches("; ").to_owned();
    let notes = vec![
        format!(
            "496² = 246,016 is less than the paper's 246,539 flows: the last 523 are left out. {} flows of the \
             generated profile `paper` in the order of their first packets; a pixel is 1 to 6 for a state, 0 \
             for a null answer.",
            states.len()
        ),
        trace.note.clone(),
        format!(
            "A peak, which the paper does not define, is a distance above {PEAK} of the mean length of the \
             true vectors. Most flows are in one state, whose codes cancel: a pair of them tells nothing, so \
             that null answers are as frequent as false positives, about p, and at p = 0.0001 a few pixels in \
             246,016 are left."
        ),
    ];
    Ok(Outcome { panels: vec![panel, pixels], notes, verdict })
}

/// The state of each flow at the end, in the order of their first packets.
fn final_states(
    context: &Context<'_>,
    trace: &PaperTrace,
    most: usize,
) -> Result<Vec<u8>, Failure> {
    let rules = Rules::load("tcp-flags").map_err(|error| Failure::Other(error.to_string()))?;
    let (keyer, parser, mut source) = (keyer(context), Parser::default(), trace.open()?);
    let (mut numbers, mut states, mut packets) = (HashMap::new(), Vec::<Option<State>>::new(), 0);
    while let Some(frame) =
        source.next_frame().map_err(|error| Failure::Other(error.to_string()))?
    {
        packets += 1;
        if packets % TICK == 0 {
            context.check()?;
        }
        let Ok(packet) = parser.parse(&frame) else { continue };
        let (key, direction) = keyer.key(&packet);
        let number = *numbers.entry(key).or_insert(states.len());
        if number == states.len() {
            states.push(None);
        }
        let before = states[number].map_or(Lookup::Absent, Lookup::Known);
        if let Next::Go(state) = rules.machine.step(before, direction, packet.flags, false).next {
            states[number] = Some(state);
        }
    }
    let index = |state: Option<State>| state.map_or(0, |state| state.index() as u8);
    Ok(states.into_iter().map(index).take(most).collect())
}

/// The image as a kBF with all flows answers: 0 for null.
fn queried(context: &Context<'_>, states: &[u8], rate: f64) -> Result<Vec<f64>, Failure> {
    let sizing = Sizing { pairs: states.len() as u64, rate, part_of_m: 1.0 };
    let hash_key = context.hash_key(0);
    let mut filter = sizing.filter(Decoding::Option2, hash_key)?;
    let digests = || (0..states.len() as u64).map(|n| hash_key.digest([n]));
    for (digest, state) in digests().zip(states) {
        filter.insert(digest, u32::from(*state));
    }
    let answered = |digest| match filter.query(digest, 6) {
        Answer::Found(state) => f64::from(state) + 1.0,
        _ => 0.0,
    };
    Ok(digests().map(answered).collect())
}

/// Hu's moments of all patches of a square image.
fn patches(image: &[f64], side: usize) -> Vec<[f64; 7]> {
    let corners = |side: usize| (0..side / PATCH).map(|n| n * PATCH);
    let all = corners(side).flat_map(|y| corners(side).map(move |x| (x, y)));
    all.map(|(x, y)| {
        let rows = (y..y + PATCH).map(|y| &image[y * side + x..y * side + x + PATCH]);
        hu(&rows.collect::<Vec<_>>())
    })
    .collect()
}

/// Hu's seven invariants (1962); all 0 for a patch of zeros.
fn hu(rows: &[&[f64]]) -> [f64; 7] {
    let moment = |weight: &dyn Fn(f64, f64) -> f64| -> f64 {
        let row = |(y, row): (usize, &&[f64])| -> f64 {
            row.iter().enumerate().map(|(x, value)| weight(x as f64, y as f64) * value).sum()
        };
        rows.iter().enumerate().map(row).sum()
    };
    let mass = moment(&|_, _| 1.0);
    if mass == 0.0 {
        return [0.0; 7];
    }
    let (cx, cy) = (moment(&|x, _| x) / mass, moment(&|_, y| y) / mass);
    let eta = |p: i32, q: i32| {
        moment(&|x, y| (x - cx).powi(p) * (y - cy).powi(q))
            / mass.powf(1.0 + f64::from(p + q) / 2.0)
    };
    let [n20, n02, n11] = [eta(2, 0), eta(0, 2), eta(1, 1)];
    let [n30, n03, n21, n12] = [eta(3, 0), eta(0, 3), eta(2, 1), eta(1, 2)];
    let (a, b) = (n30 + n12, n21 + n03);
    let (c, d) = (n30 - 3.0 * n12, 3.0 * n21 - n03);
    let (e, f) = (a * a - 3.0 * b * b, 3.0 * a * a - b * b);
    [
        n20 + n02,
        (n20 - n02).powi(2) + 4.0 * n11 * n11,
        c * c + d * d,
        a * a + b * b,
        c * a * e + d * b * f,
        (n20 - n02) * (a * a - b * b) + 4.0 * n11 * a * b,
        d * a * e - c * b * f,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hus_moments_do_not_change_with_place_and_rotation() {
        let of = |cells: [(usize, usize, f64); 4]| {
            let mut image = vec![vec![0.0; PATCH]; PATCH];
            for (x, y, value) in cells {
                image[y][x] = value;
            }
            hu(&image.iter().map(Vec::as_slice).collect::<Vec<_>>())
        };
        let first = of([(0, 0, 1.0), (1, 0, 2.0), (2, 0, 1.0), (2, 1, 3.0)]);
        let moved = of([(3, 4, 1.0), (4, 4, 2.0), (5, 4, 1.0), (5, 5, 3.0)]);
        // By a quarter: (x, y) → (7 − y, x).
        let turned = of([(7, 0, 1.0), (7, 1, 2.0), (7, 2, 1.0), (6, 2, 3.0)]);
        let other = of([(0, 0, 1.0), (1, 0, 2.0), (2, 0, 3.0), (2, 1, 1.0)]);
        let same = |a: [f64; 7], b: [f64; 7]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(same(first, moved) && same(first, turned) && !same(first, other));
        assert_eq!(hu(&[&[0.0; PATCH][..]; PATCH]), [0.0; 7]);
    }
}
