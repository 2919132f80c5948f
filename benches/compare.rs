//! What `acsm compare` of two stores at four rates costs, compared with one `acsm replay` of the same
//! file: the promise is at most 12 times as much. `scripts/bench compare [PACKETS]`.

mod harness;

use std::sync::atomic::AtomicBool;
use std::thread::available_parallelism;

use acsm::capture::parse::Parser;
use acsm::engine::compare::{ComparePlan, compare};
use acsm::engine::run;
use acsm::generate::{Profile, TraceSpec};
use acsm_filters::Backend;
use acsm_test_support::plans::{NullSink, compare_plan, replay_plan};

use harness::count_with_libpcap;
use harness::table::{self, Row};
use harness::trace_file::TraceFile;
use harness::turns::{Contestant, take_turns};

const BACKENDS: [Backend; 2] = [Backend::Kbf, Backend::Sbf];
const FP_RATES: [f64; 4] = [0.1, 0.01, 0.001, 0.0001];
const RATIO_MAX: f64 = 12.0;

fn main() {
    let packets = harness::packets_or(10_000_000);
    let flows = |wished: u64| wished.min(packets / 10);
    let paper = TraceSpec::new(Profile::Paper);
    let realistic = TraceSpec::new(Profile::Realistic);
    let paper = TraceSpec { packets, flows: flows(paper.flows), ..paper };
    let realistic = TraceSpec { packets, flows: flows(1_000_000), ..realistic };
    for (name, spec) in [("paper", paper), ("realistic", realistic)] {
        let title = format!("compare, {name}, {packets} packets, {} flows", spec.flows);
        measure(&title, &TraceFile::new(spec));
    }
}

fn measure(title: &str, trace: &TraceFile) {
    let replayed = replay_plan(Backend::Kbf, cores());
    let plan = |backends: &[Backend]| compare_plan(replayed.clone(), backends, &FP_RATES);
    let (eight, none) = (plan(&BACKENDS), plan(&[]));
    let mut contestants = [
        Contestant::new("replay, kbf", || {
            let (mut source, never) = (trace.open(), AtomicBool::new(false));
            let parser = Parser::default();
            let outcome = run(&replayed, &mut source, &parser, &mut NullSink, &never, &mut |_| {});
            outcome.expect("memory for the store").frames.packets
        }),
        Contestant::new("compare, only the truth", || compare_all(&none, trace)),
        Contestant::new("compare, 2 stores x 4 rates", || compare_all(&eight, trace)),
        Contestant::new("the same, flows counted first", || {
            compare_all(&none, trace);
            compare_all(&eight, trace)
        }),
        Contestant::new("libpcap", || count_with_libpcap(&trace.path)),
    ];
    let seconds = take_turns(&mut contestants, trace.packets);
    table::head(title);
    for (n, (contestant, taken)) in contestants.iter().zip(&seconds).enumerate() {
        Row {
            name: &contestant.name,
            nanos_per_packet: taken.median() * 1e9 / trace.packets as f64,
            ratio: taken.ratio_to(&seconds[0]),
            ratio_max: (2..4).contains(&n).then_some(RATIO_MAX),
            memory_bytes: None,
        }
        .print();
    }
}

fn compare_all(plan: &ComparePlan, trace: &TraceFile) -> u64 {
    let (mut source, never) = (trace.open(), AtomicBool::new(false));
    let outcome = compare(plan, &mut source, &Parser::default(), &never, &mut |_| {});
    outcome.expect("memory for the stores").frames.packets
}

fn cores() -> usize {
    available_parallelism().map_or(1, usize::from).min(16)
}
