//! Experiments of ours in the setting of §3: stores on random state machines, counters under the timer, don't
//! know against false return, and the fill over phases.

use acsm_filters::{Backend, Budget, Expire, FlowId, StoreSpec};

use super::flow_map::shard_of;
use super::random_machine::{Errors, Machine, STATES, Stream, drive};
use crate::reproduce::{Axis, Check, Context, Failure, Outcome, Panel, Rate, Verdict};
use crate::units::scientific;

/// The structures of the paper.
const STORES: [(&str, Backend); 3] =
    [("dbf", Backend::Dbf), ("sbf", Backend::Sbf), ("fcf", Backend::Fcf)];
/// The share of strings in an ill-behaved system that are for no flow, invalid, or silence.
const ILL: f64 = 0.05;

/// A store of this many bits per flow.
fn spec(backend: Backend, flows: u64, bits_per_flow: u64, expire: Expire) -> StoreSpec {
    let all = flows * FlowId::SHARDS as u64;
    let budget = Budget::MemoryBytes(all * bits_per_flow / 8);
    StoreSpec { flows: all, budget, expire, ..StoreSpec::new(backend, STATES) }
}

/// The stream of a scale: a well-behaved one with a timer.
fn stream_of(context: &Context<'_>) -> Stream {
    let (extant, phases) = context.pick((500, 6), (5_000, 12), (50_000, 24));
    Stream { extant, phase: 5 * extant as u64, phases, ends: 0.1, ill: 0.0, timer: true }
}

fn run(
    context: &Context<'_>,
    spec: &StoreSpec,
    stream: &Stream,
    purpose: u64,
) -> Result<Errors, Failure> {
    let mut random = context.random(purpose);
    let machine = Machine::random(&mut random);
    drive(context, shard_of(spec)?.as_mut(), &machine, stream, &mut random)
}

fn push(panel: &mut Panel, series: String, x: f64, rate: Rate) {
    // A logarithmic axis shows no zero.
    if rate.events > 0 {
        panel.rate(series, x, rate, 1);
    }
}

/// DBF, SBF and FCF on random state machines, well- and ill-behaved, with and without a timer.
pub fn on_random_machines(context: &Context<'_>) -> Result<Outcome, Failure> {
    let budgets: &[u64] =
        context.pick(&[60, 120], &[40, 60, 80, 120, 160], &[40, 60, 80, 120, 160]);
    let mut panels = vec![];
    let mut extant = vec![];
    for (n, (ill, timer)) in
        [(0.0, false), (0.0, true), (ILL, false), (ILL, true)].into_iter().enumerate()
    {
        let behaved = if ill > 0.0 { "ill-behaved" } else { "well-behaved" };
        let aged = if timer { "with the timer" } else { "without a timer" };
        let panel_of = |title: String| {
            Panel::new(title, Axis::linear("bits per extant flow"), Axis::log("errors per lookup"))
        };
        let mut panel = panel_of(format!("A {behaved} system {aged}"));
        let mut kinds = panel_of(format!("By kind: a {behaved} system {aged}")).as_table();
        for (at, &bits) in budgets.iter().enumerate() {
            context.done((n as f64 + at as f64 / budgets.len() as f64) / 4.0)?;
            for (name, backend) in STORES {
                let expire = if timer { Expire::Timer } else { Expire::None };
                let stream = Stream { ill, timer, ..stream_of(context) };
                // With a timer, flows of two phases are stored.
                let spec = spec(backend, stream.extant as u64, bits, expire);
                let errors = run(context, &spec, &stream, 10 + n as u64)?;
                let x = bits as f64;
                push(&mut panel, format!("{name}, extant flows"), x, errors.extant());
                push(&mut panel, format!("{name}, false positives"), x, errors.false_positive);
                push(&mut kinds, format!("{name}, don't know"), x, errors.dont_know);
                push(&mut kinds, format!("{name}, false negative"), x, errors.false_negative);
                push(&mut kinds, format!("{name}, false return"), x, errors.false_return);
                extant.push((name, ill, timer, bits, errors.extant()));
            }
        }
        panels.extend([panel, kinds]);
    }
    let of = |name: &str, ill: f64, timer: bool| {
        let rates = extant.iter().filter(|e| e.0 == name && e.1 == ill && e.2 == timer);
        rates.map(|e| e.4.value()).fold(0.0, f64::max)
    };
    let fewest = extant
        .chunks(STORES.len())
        .all(|chunk| chunk.iter().all(|entry| chunk[2].4.interval()[0] <= entry.4.interval()[1]));
    let checks = [Check::new(
        "fcf has the fewest errors on extant flows at every budget, in all four systems",
        fewest,
        format!(
            "at most {} in a well-behaved system; dbf {}, sbf {}",
            scientific(of("fcf", 0.0, false)),
            scientific(of("dbf", 0.0, false)),
            scientific(of("sbf", 0.0, false))
        ),
    )];
    let notes = vec![
        format!(
            "Ours: the fragment has no parameters. {STATES} states, {} extant flows, a tenth of the strings end a \
             flow, a phase is five operations per extant flow; ill-behaved: {ILL} of the operations are for \
             no flow, {ILL} of the strings are invalid, {ILL} of the flows fall silent in place of ending.",
            stream_of(context).extant
        ),
        "Closed loop: what a store answers decides what is written. Flows that are inserted are not counted."
            .to_owned(),
    ];
    let paper = "[the paper compares the three; its figures are not in our fragment]";
    Ok(Outcome { panels, notes, verdict: Verdict::of_checks(paper, &checks) })
}

/// Counters of none, 2 and 4 bits under the timer, by how often flows change their state in a phase.
pub fn counters(context: &Context<'_>) -> Result<Outcome, Failure> {
    let mut panel = Panel::new(
        "dbf under the timer: don't know by changes of state, 120 bits per flow",
        Axis::log("operations per flow and phase"),
        Axis::log("don't know per lookup of an extant flow"),
    );
    let designs = [
        ("no counter (1 bit, stamps)", Expire::Stamps, false),
        ("counters of 2 bits (stamps)", Expire::Stamps, true),
        ("counters of 4 bits (two halves)", Expire::Timer, true),
    ];
    let changes = [0.5, 1.0, 2.0, 5.0, 10.0, 20.0];
    let mut rates = [[Rate::default(); 6]; 3];
    for (at, change) in changes.into_iter().enumerate() {
        context.done(at as f64 / 6.0)?;
        for (n, (name, expire, dbf_counters)) in designs.into_iter().enumerate() {
            let base = stream_of(context);
            let phase = (change * base.extant as f64) as u64;
            // As many flows end per phase, however often they change their state.
            let stream =
                Stream { phase, ends: (0.2 / change).min(0.4), phases: base.phases + 4, ..base };
            let of = spec(Backend::Dbf, stream.extant as u64, 120, expire);
            let errors = run(context, &StoreSpec { dbf_counters, ..of }, &stream, 30)?;
            push(&mut panel, name.to_owned(), change, errors.dont_know);
            rates[n][at] = errors.dont_know;
        }
    }
    let [none, two, _] = &rates;
    let value = |rate: &Rate| scientific(rate.value());
    let checks = [
        Check::new(
            "at 20 operations per flow and phase, the filter without counters says don't know more often than the one \
             with 2 bits, and the intervals are apart",
            none[5].interval()[0] > two[5].interval()[1],
            format!("{} and {}", value(&none[5]), value(&two[5])),
        ),
        Check::new(
            "without counters, don't know grows with the changes per phase, from 1 to 20",
            none[5].value() > 2.0 * none[1].value(),
            format!("{} to {}", value(&none[1]), value(&none[5])),
        ),
    ];
    let paper = "A small counter would be useful when flows change state often within a timing phase; otherwise, the \
                 filter will be highly polluted";
    let notes = vec![
        "Equal memory, so a filter of single bits has more cells. With stamps a cell also has two bits of stamp; the \
         timer of ours has 4-bit counters in two halves."
            .to_owned(),
    ];
    Ok(Outcome { panels: vec![panel], notes, verdict: Verdict::of_checks(paper, &checks) })
}

/// Don't know against false return, by memory.
pub fn dont_know(context: &Context<'_>) -> Result<Outcome, Failure> {
    let mut panel = Panel::new(
        "Extant flows of a well-behaved system: don't know and false return",
        Axis::linear("bits per extant flow"),
        Axis::log("errors per lookup"),
    );
    let budgets: &[u64] = context.pick(&[40, 80], &[20, 40, 60, 80, 120], &[20, 40, 60, 80, 120]);
    let mut sums = [[Rate::default(); 2]; 3];
    for (at, &bits) in budgets.iter().enumerate() {
        context.done(at as f64 / budgets.len() as f64)?;
        for (n, (name, backend)) in STORES.into_iter().enumerate() {
            let stream = Stream { timer: false, ..stream_of(context) };
            let of = spec(backend, stream.extant as u64, bits, Expire::None);
            let errors = run(context, &of, &stream, 40)?;
            push(&mut panel, format!("{name}: don't know"), bits as f64, errors.dont_know);
            push(&mut panel, format!("{name}: false return"), bits as f64, errors.false_return);
            for (sum, rate) in sums[n].iter_mut().zip([errors.dont_know, errors.false_return]) {
                sum.events += rate.events;
                sum.trials += rate.trials;
            }
        }
    }
    let [dbf, sbf, _] = sums;
    let rarer = |[unknown, wrong]: [Rate; 2]| wrong.interval()[1] < unknown.interval()[0];
    let seen = |[unknown, wrong]: [Rate; 2]| {
        format!("{} and {}", scientific(unknown.value()), scientific(wrong.value()))
    };
    let checks = [
        Check::new("dbf answers a wrong state less often than don't know", rarer(dbf), seen(dbf)),
        Check::new("sbf answers a wrong state less often than don't know", rarer(sbf), seen(sbf)),
    ];
    let paper = "Returning DK is generally far less damaging […] than a false negative or a false return state [so \
                 structures that answer it instead are preferred]";
    let notes = vec![
        "Ours, all budgets together. A false return of dbf needs a state that was left and cannot be removed, after \
         a don't know; fcf has no don't know but where two entries look alike."
            .to_owned(),
    ];
    Ok(Outcome { panels: vec![panel], notes, verdict: Verdict::of_checks(paper, &checks) })
}

/// Fill over phases until it settles; without a timer it does not.
pub fn steady_state(context: &Context<'_>) -> Result<Outcome, Failure> {
    let mut panel = Panel::new(
        "Cells in use at the end of each phase, an ill-behaved system",
        Axis::linear("phases"),
        Axis::linear("part of the cells in use"),
    );
    let phases = context.pick(16, 40, 100);
    let (mut settled, mut grown) = (vec![], vec![]);
    for (name, backend) in STORES {
        for (timer, aging) in [(true, "stamps"), (false, "no timer")] {
            context.done(0.0)?;
            let stream = Stream { ill: ILL, phases, timer, ..stream_of(context) };
            let expire = if timer { Expire::Stamps } else { Expire::None };
            let of = spec(backend, stream.extant as u64, 120, expire);
            let fill = run(context, &of, &stream, 50)?.fill;
            for (phase, fill) in (1..).zip(&fill) {
                panel.measured(format!("{name}, {aging}"), f64::from(phase), *fill, 1);
            }
            let (first, second) = fill.split_at(fill.len() / 2);
            let mean = second.iter().sum::<f64>() / second.len() as f64;
            let spread = second.iter().map(|fill| (fill - mean).abs()).fold(0.0, f64::max);
            match timer {
                true => settled.push((name, mean, spread / mean)),
                false => grown.push((name, second.last() > first.last())),
            }
        }
    }
    let checks = [
        Check::new(
            "with a timer, in the second half of the phases the fill stays within 10 % of its mean, in each structure",
            settled.iter().all(|(_, _, spread)| *spread < 0.1),
            settled
                .iter()
                .map(|(name, mean, spread)| format!("{name} {mean:.2} ± {:.1} %", 100.0 * spread))
                .collect::<Vec<_>>()
                .join(", "),
        ),
        Check::new(
            "without one, it is higher at the end than in the middle, in each structure",
            grown.iter().all(|(_, grows)| *grows),
            format!("{grown:?}"),
        ),
    ];
    let paper = "a well-behaved, sufficiently large filter will reach a fairly consistent steady-state over time; \
                 non-terminating flows eventually would cause the filter itself to saturate, unless timing-based \
                 mechanisms are used";
    let notes =
        vec!["Ours: the fragment has no parameters. 5 % of the flows never end.".to_owned()];
    Ok(Outcome { panels: vec![panel], notes, verdict: Verdict::of_checks(paper, &checks) })
}
