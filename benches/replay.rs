//! What `acsm replay` costs, with alerts discarded, compared with a bare libpcap loop over the same file
//! that only counts packets. `scripts/bench replay [PACKETS]`.

mod harness;

use std::sync::atomic::AtomicBool;
use std::thread::available_parallelism;

use acsm::capture::parse::Parser;
use acsm::engine::{RunPlan, run};
use acsm::generate::{Profile, TraceSpec};
use acsm::time::NANOS_PER_SEC;
use acsm_filters::Backend;
use acsm_test_support::plans::{NullSink, replay_plan};

use harness::count_with_libpcap;
use harness::table::{self, Row};
use harness::trace_file::TraceFile;
use harness::turns::{Contestant, take_turns};

const BACKENDS: [Backend; 6] =
    [Backend::Kbf, Backend::Bhbf, Backend::Sbf, Backend::Dbf, Backend::Fcf, Backend::Exact];

fn main() {
    let packets = harness::packets_or(10_000_000);
    // At least the packets per flow that the profiles need, however few packets are requested.
    let flows = |requested: u64| requested.min(packets / 10);

    let paper = TraceSpec::new(Profile::Paper);
    let realistic = TraceSpec::new(Profile::Realistic);
    let hour = TraceSpec { packets, flows: flows(paper.flows), ..paper.clone() };
    let border = TraceSpec { packets, flows: flows(1_000_000), ..realistic };
    for (name, spec) in [("paper", hour), ("realistic", border)] {
        let title = format!("replay, {name}, {packets} packets, {} flows", spec.flows);
        let mut plans: Vec<RunPlan> = BACKENDS.map(|backend| replay_plan(backend, cores())).into();
        plans.insert(1, replay_plan(Backend::Kbf, 1));
        compare(&title, &TraceFile::new(spec), &plans);
    }

    // All within one idle timeout: every flow stays alive.
    let minute =
        TraceSpec { packets, flows: flows(1_000_000), duration_nanos: 60 * NANOS_PER_SEC, ..paper };
    let title = format!("all flows alive at once: {} of them, {packets} packets", minute.flows);
    compare(&title, &TraceFile::new(minute), &BACKENDS.map(|backend| replay_plan(backend, 1)));
}

fn compare(title: &str, trace: &TraceFile, plans: &[RunPlan]) {
    let mut contestants = vec![Contestant::new("libpcap", || count_with_libpcap(&trace.path))];
    for plan in plans {
        let plural = if plan.workers == 1 { "worker" } else { "workers" };
        let name = format!("{}, {} {plural}", plan.store.backend.name(), plan.workers);
        contestants.push(Contestant::new(name, || replay(plan, trace)));
    }
    let seconds = take_turns(&mut contestants, trace.packets);

    table::head(title);
    let plans = std::iter::once(None).chain(plans.iter().map(Some));
    for ((contestant, taken), plan) in contestants.iter().zip(&seconds).zip(plans) {
        Row {
            name: &contestant.name,
            nanos_per_packet: taken.median() * 1e9 / trace.packets as f64,
            ratio: taken.ratio_to(&seconds[0]),
            ratio_max: plan.and_then(promised_ratio),
            memory_bytes: plan.and_then(store_bytes),
        }
        .print();
    }
}

/// The promise is about kbf with everything else by default.
fn promised_ratio(plan: &RunPlan) -> Option<f64> {
    (plan.store.backend == Backend::Kbf && plan.workers == cores()).then_some(1.0)
}

fn store_bytes(plan: &RunPlan) -> Option<u64> {
    plan.store.sizing().ok().map(|sizing| sizing.bits / 8)
}

/// As many workers as `acsm replay` takes by default.
fn cores() -> usize {
    available_parallelism().map_or(1, usize::from).min(16)
}

fn replay(plan: &RunPlan, trace: &TraceFile) -> u64 {
    let (mut source, parser) = (trace.open(), Parser::default());
    let never = AtomicBool::new(false);
    let outcome = run(plan, &mut source, &parser, &mut NullSink, &never, &mut |_| {});
    outcome.expect("memory for the store").frames.packets
}
