//! Figures 1 and 2, whose results are exact, and the lookup with the state given of §3.1.

use acsm_filters::rng::Random;
use acsm_filters::{
    Backend, Dbf, Epoch, Expire, FlowId, Lookup, STAMPS, State, Store, StoreSpec, UNTIMED,
};
use acsm_model::{bloom, dbf};

use crate::reproduce::{Axis, Check, Context, Failure, Outcome, Panel, Rate, Verdict};
use crate::units::scientific;

/// Figure 1, as our text of the paper has it; cells are counted from 1.
const BEFORE: [u32; 12] = [0, 0, 1, 0, 2, 3, 0, 1, 1, 0, 0, 0];
const AFTER: [u32; 12] = [0, 0, 0, 0, 1, 3, 1, 0, 2, 0, 1, 0];
const STATE_3: [usize; 3] = [3, 5, 8];
const STATE_5: [usize; 3] = [7, 9, 11];
/// Figure 2, its readable half: (timing bit, cell).
const UNSWEPT: [(bool, u32); 4] = [(true, 2), (true, 3), (false, 2), (true, 1)];
const SWEPT: [(bool, u32); 4] = [(false, 2), (false, 3), (false, 0), (false, 1)];

fn state(index: usize) -> State {
    State::new(index).unwrap_or(State::FIRST)
}

fn flow(random: &mut Random) -> FlowId {
    FlowId(u128::from(random.next_u64()) << 64 | u128::from(random.next_u64()))
}

fn table(title: &str) -> Panel {
    Panel::new(title, Axis::linear("cell"), Axis::linear("content")).as_table()
}

fn spec(flows: u64, states: usize, expire: Expire) -> StoreSpec {
    let flows = flows * FlowId::SHARDS as u64;
    StoreSpec { flows, expire, ..StoreSpec::new(Backend::Dbf, states) }
}

/// Figure 1: a flow goes from state 3 to state 5.
pub fn state_change(context: &Context<'_>) -> Result<Outcome, Failure> {
    let mut cells = BEFORE;
    STATE_3.iter().for_each(|&cell| cells[cell - 1] -= 1);
    STATE_5.iter().for_each(|&cell| cells[cell - 1] += 1);
    let mut panel = table("Counters of figure 1");
    for (at, (before, after)) in BEFORE.into_iter().zip(AFTER).enumerate() {
        let x = at as f64 + 1.0;
        panel.computed("printed before", x, f64::from(before));
        panel.computed("printed after", x, f64::from(after));
        panel.measured("after, by the rule", x, f64::from(cells[at]), 1);
    }
    // The real structure: the same change of state for many flows.
    let flows = context.pick(1_000, 20_000, 200_000);
    let of = spec(flows, 6, Expire::None);
    let sizing = of.sizing()?;
    let mut shard = Dbf::<2, UNTIMED>::new(6, &sizing)?;
    let (mut random, now) = (context.random(1), Epoch(0));
    let places: Vec<_> = (0..flows).map(|_| shard.locate(flow(&mut random), ())).collect();
    for place in &places {
        shard.insert(place, state(3), now.stamp());
    }
    let (mut lost, mut left) = (0, 0);
    for place in &places {
        let mut found = shard.lookup(place, now);
        // The old state is given, as the figure assumes.
        found.answer = Lookup::Known(state(3));
        shard.modify(place, &found, state(5), now.stamp());
    }
    for place in &places {
        lost += u64::from(!shard.contains(place, state(5), now));
        left += u64::from(shard.contains(place, state(3), now));
    }
    let old = Rate { events: left, trials: flows };
    let cells_of_shard = sizing.cells as f64 / FlowId::SHARDS as f64;
    let form = bloom::fp_rate(cells_of_shard, sizing.hashes, flows as f64);
    let stuck = shard.stats().saturations;
    let checks = [
        Check::new("the rule gives the printed counters", cells == AFTER, format!("{cells:?}")),
        Check::new(
            "in the real structure every flow is in the new state",
            lost == 0,
            format!("{lost} of {flows} are not; {stuck} counters of 2 bits had stuck at 3"),
        ),
    ];
    let notes = vec![format!(
        "{} of the flows also seem to be in the old state, where a flow that was never there would be with \
             probability {}: a counter that has reached its maximum is never taken back.",
        scientific(old.value()),
        scientific(form)
    )];
    let paper =
        "The counters for the old flow-state pair are decremented, […] for the new […] incremented";
    Ok(Outcome { panels: vec![panel], notes, verdict: Verdict::of_checks(paper, &checks) })
}

/// Figure 2: a global reset.
pub fn global_reset(context: &Context<'_>) -> Result<Outcome, Failure> {
    let swept = UNSWEPT.map(|(touched, cell)| (false, if touched { cell } else { 0 }));
    let mut panel = table("Cells of figure 2, its readable half");
    for (at, ((before, after), rule)) in UNSWEPT.into_iter().zip(SWEPT).zip(swept).enumerate() {
        let x = at as f64 + 1.0;
        panel.computed("printed before", x, f64::from(before.1));
        panel.computed("printed after", x, f64::from(after.1));
        panel.measured("after, by the rule", x, f64::from(rule.1), 1);
    }
    // The real structure with a stamp per cell: half of the flows are touched in the second phase.
    let flows = context.pick(1_000, 20_000, 200_000);
    let sizing = spec(flows, 6, Expire::Stamps).sizing()?;
    let mut shard = Dbf::<2, STAMPS>::new(6, &sizing)?;
    let mut random = context.random(2);
    let places: Vec<_> = (0..flows).map(|_| shard.locate(flow(&mut random), ())).collect();
    for place in &places {
        shard.insert(place, state(3), Epoch(0).stamp());
    }
    let (touched, untouched) = places.split_at(places.len() / 2);
    for place in touched {
        let found = shard.lookup(place, Epoch(1));
        shard.touch(place, &found, Epoch(1).stamp());
    }
    let kept = |places: &[_]| {
        let has = |place: &&_| shard.contains(place, state(3), Epoch(2));
        let events = places.iter().filter(has).count() as u64;
        Rate { events, trials: places.len() as u64 }
    };
    let (alive, stale) = (kept(touched), kept(untouched));
    let cells = sizing.cells as f64 / FlowId::SHARDS as f64;
    // All cells of a stale flow are kept alive by others.
    let form = bloom::fp_rate(cells, sizing.hashes, touched.len() as f64);
    let checks = [
        Check::new("the rule gives the printed cells", swept == SWEPT, format!("{swept:?}")),
        Check::new(
            "in the real structure every flow that was touched is kept",
            alive.events == alive.trials,
            format!("{} of {}", alive.events, alive.trials),
        ),
        Check::new(
            "of the others no more than a Bloom filter of the touched ones finds",
            stale.interval()[0] <= 1.1 * form,
            format!("{} against {}", scientific(stale.value()), scientific(form)),
        ),
    ];
    let notes = vec![
        "Our text of the figure has the cells of one half in an order that can be read, of the other not.".to_owned(),
        "Ours keeps two bits of the phase per cell, so that no moment clears all cells: what was touched in a phase \
         is alive in it and in the next."
            .to_owned(),
    ];
    let paper = "when the global timer goes off, untouched cells (in grey) are reset to 0";
    Ok(Outcome { panels: vec![panel], notes, verdict: Verdict::of_checks(paper, &checks) })
}

/// §3.1: lookups with the state given, and without, by the number of states.
pub fn state_given(context: &Context<'_>) -> Result<Outcome, Failure> {
    let mut panel = Panel::new(
        "dbf: errors with the state given, and don't know without, p = 0.01",
        Axis::linear("s, states"),
        Axis::log("errors per lookup"),
    );
    let flows = context.pick(3_000, 50_000, 500_000);
    let (now, mut random) = (Epoch(0), context.random(3));
    let (mut given_ok, mut dont_know_ok, mut ratio) = (0, 0, vec![]);
    let counts = [2, 4, 6, 11, 16];
    for (n, states) in counts.into_iter().enumerate() {
        context.done(n as f64 / counts.len() as f64)?;
        let sizing = spec(flows, states, Expire::None).sizing()?;
        let mut shard = Dbf::<2, UNTIMED>::new(states, &sizing)?;
        let places: Vec<_> = (0..flows).map(|_| shard.locate(flow(&mut random), ())).collect();
        for place in &places {
            shard.insert(place, state(1), now.stamp());
        }
        let unknown = |place: &&_| shard.lookup(place, now).answer == Lookup::DontKnow;
        let events = places.iter().filter(unknown).count() as u64;
        let unknown = Rate { events, trials: flows };
        // An absent flow with one state given: one test.
        let absent = (0..2 * flows).map(|_| shard.locate(flow(&mut random), ()));
        let events = absent.filter(|place| shard.contains(place, state(1), now)).count() as u64;
        let given = Rate { events, trials: 2 * flows };
        let cells = sizing.cells as f64 / FlowId::SHARDS as f64;
        let f = bloom::fp_rate(cells, sizing.hashes, flows as f64);
        let x = states as f64;
        panel.rate("false positive, state given", x, given, 1);
        panel.computed("f, (1 − e^{−kn/m})^k", x, f);
        panel.rate("don't know, all states tested", x, unknown, 1);
        panel.computed("1 − (1 − f)^{s−1}", x, dbf::dont_know(f, states));
        panel.computed(
            "s 0.6^{m/n}, as printed",
            x,
            dbf::dont_know_as_printed(cells / flows as f64, states),
        );
        // One filter's fill deviates, which moves f by a few per cent.
        let holds = |rate: Rate, form: f64| {
            let [low, high] = rate.interval();
            low <= 1.05 * form && high >= 0.95 * form
        };
        given_ok += u32::from(holds(given, f));
        dont_know_ok += u32::from(holds(unknown, dbf::dont_know(f, states)));
        ratio.push(unknown.value() / given.value());
    }
    let checks = [
        Check::new(
            "with the state given, an absent flow is found with probability f",
            given_ok == 5,
            format!("{given_ok} of 5 points"),
        ),
        Check::new(
            "without it, don't know is 1 − (1 − f)^{s−1}",
            dont_know_ok == 5,
            format!("{dont_know_ok} of 5 points; {ratio:.1?} times f"),
        ),
    ];
    let notes = vec![
        "Printed are \"the probability of not having a false positive\" for of having one, 1 − e^{kn/m} without the \
         sign, and 0.6 for 0.6185."
            .to_owned(),
    ];
    let paper = "the probability of a false positive f […] is just that for a standard Bloom filter; […] returning a DK \
                 […] ≈ f (s − 1)";
    Ok(Outcome { panels: vec![panel], notes, verdict: Verdict::of_checks(paper, &checks) })
}
