//! The timer and shared cells: what flows that have ended leave behind.

use acsm_filters::{Backend, Budget, Epoch, Expire, FlowId, KbfDecode, Lookup, State, StoreSpec};

use super::flow_map::{Action, shard_of};
use crate::reproduce::{Axis, Check, Context, Failure, Outcome, Panel, Rate, Verdict};

/// The states of the flows.
const STATES: u64 = 6;

/// Long-lived flows beside short ones: the share of long-lived ones that are answered wrongly, after each
/// phase.
fn wrong_by_age(
    context: &Context<'_>,
    spec: &StoreSpec,
    phases: u32,
) -> Result<Vec<Rate>, Failure> {
    let planned = spec.flows / FlowId::SHARDS as u64;
    // Half of the plan lives long. Short flows are alive in the phase in which they come and in the next,
    // so that a quarter may come per phase.
    let (long, short) = (planned / 2, planned / 4);
    let mut store = shard_of(spec)?;
    let mut random = context.random(60);
    let mut flow = || FlowId(u128::from(random.next_u64()) << 64 | u128::from(random.next_u64()));
    let long: Vec<FlowId> = (0..long).map(|_| flow()).collect();
    let state = |n: usize| State::new(n % STATES as usize).unwrap_or(State::FIRST);
    for (n, &id) in long.iter().enumerate() {
        store.act(id, Epoch(0), &|_| Action::Insert(state(n)));
    }
    let mut wrong = vec![];
    for phase in 0..phases {
        context.done(f64::from(phase) / f64::from(phases))?;
        let now = Epoch(phase);
        for n in 0..short as usize {
            store.act(flow(), now, &|_| Action::Insert(state(n)));
        }
        let mut rate = Rate { events: 0, trials: long.len() as u64 };
        for (n, &id) in long.iter().enumerate() {
            let answer = store.act(id, now, &|_| Action::Touch);
            rate.events += u64::from(answer != Lookup::Known(state(n)));
        }
        store.sweep(now);
        wrong.push(rate);
    }
    Ok(wrong)
}

/// Half an hour of ordinary traffic, one phase per minute: a stamp per cell, and two halves.
pub fn ghosts(context: &Context<'_>) -> Result<Outcome, Failure> {
    let phases = 30;
    let flows = context.pick(1_000, 12_000, 100_000);
    let mut panels = vec![];
    let stores = [("kbf", Backend::Kbf), ("sbf", Backend::Sbf), ("bhbf", Backend::Bhbf)];
    let (mut stamped, mut halved) = (vec![], vec![]);
    for (name, backend) in stores {
        let mut panel = Panel::new(
            format!("{name}: long-lived flows that are answered wrongly, within the plan"),
            Axis::linear("age in phases (idle time-outs)"),
            Axis::linear("share of the long-lived flows"),
        );
        let all = flows * FlowId::SHARDS as u64;
        let decode = (backend == Backend::Kbf).then_some(KbfDecode::AllPairs);
        let base = StoreSpec { flows: all, decode, ..StoreSpec::new(backend, STATES as usize) };
        let stamps = StoreSpec { expire: Expire::Stamps, ..base.clone() };
        let halves = StoreSpec { expire: Expire::Timer, ..base };
        let budget = Budget::MemoryBytes(halves.sizing()?.bits / 8);
        let large = StoreSpec { budget, ..stamps.clone() };
        for (spec, aging, last) in [
            (&stamps, "a stamp per cell, p = 0.01", Some(&mut stamped)),
            (&large, "a stamp per cell, in the memory of two halves", None),
            (&halves, "two halves, p = 0.01", Some(&mut halved)),
        ] {
            let wrong = wrong_by_age(context, spec, phases)?;
            for (phase, rate) in (1..).zip(&wrong) {
                panel.rate(aging, f64::from(phase), *rate, 1);
            }
            if let (Some(last), Some(rate)) = (last, wrong.last()) {
                last.push((name, rate.value()));
            }
        }
        panels.push(panel);
    }
    let say = |values: &[(&str, f64)]| {
        let text = values.iter().map(|(name, value)| format!("{name} {:.1} %", 100.0 * value));
        text.collect::<Vec<_>>().join(", ")
    };
    let checks = [
        Check::new(
            "with a stamp per cell and p = 0.01, more than half of the long-lived flows are wrong after 30 phases, in each \
             store",
            stamped.iter().all(|(_, wrong)| *wrong > 0.5),
            say(&stamped),
        ),
        Check::new(
            "with two halves, less than 5 % are",
            halved.iter().all(|(_, wrong)| *wrong < 0.05),
            say(&halved),
        ),
    ];
    let notes = vec![
        "Ours. No attack: the number of flows alive never exceeds the plan. A cell that any living flow touches is \
         never cleared, with all that ended flows have left in it."
            .to_owned(),
        "kbf decodes by pairs in all. Two halves take about twice the memory: stamps in that memory put it off.".to_owned(),
    ];
    let paper = "[§3.2 resets unflagged cells at the end of a phase:] any flow that has not taken part in an operation will \
                 eventually be removed from the ACSM";
    Ok(Outcome { panels, notes, verdict: Verdict::of_checks(paper, &checks) })
}
