//! The rate of the engine on frames that are in memory already, in one thread that parses, looks up,
//! steps and raises alerts: the most that one core could process if capturing cost nothing.
//! `scripts/bench engine [PACKETS]`.
//!
//! Then how much faster two workers are than one: elapsed time, in turns.
//!
//! Times of one core are this thread's time on the processor where the system reports it. A link of 10 Gb/s
//! carries 14.88 million packets of the smallest size per second, or 1.5 million of 800 bytes.

mod harness {
    pub mod on_cpu;
    pub mod trace_file;
    #[allow(dead_code)] // only its medians are used
    pub mod turns;
}

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use acsm::capture::parse::Parser;
use acsm::capture::{CaptureError, Frame, LinkType, PacketSlots, PacketSource};
use acsm::engine::{ActiveRules, Phase, RunPlan, run};
use acsm::flow::FlowKeyKind;
use acsm::generate::{Link, Profile, TraceSpec};
use acsm::machine::{Preset, Rules};
use acsm::time::{NANOS_PER_SEC, Timestamp};
use acsm_filters::pending::PendingTable;
use acsm_filters::{Backend, Budget};
use acsm_test_support::plans::{NullSink, replay_plan};

use harness::on_cpu::Stopwatch;
use harness::trace_file::TraceFile;
use harness::turns::{ROUNDS, median};

/// Frames in memory.
struct Frames {
    records: Vec<(Timestamp, LinkType, u32, usize)>,
    bytes: Vec<u8>,
}

impl Frames {
    fn of(trace: &TraceFile) -> Frames {
        let mut frames = Frames { records: Vec::new(), bytes: Vec::new() };
        let mut source = trace.open();
        while let Some(frame) = source.next_frame().expect("a capture") {
            frames.bytes.extend_from_slice(frame.bytes);
            let end = frames.bytes.len();
            frames.records.push((frame.time, frame.link_type, frame.wire_bytes, end));
        }
        assert_eq!(frames.records.len() as u64, trace.packets);
        frames
    }
}

/// Returns them in order, starting with the first.
struct FromMemory<'a> {
    frames: &'a Frames,
    next: usize,
    start: usize,
}

impl PacketSource for FromMemory<'_> {
    #[inline]
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        let Some(&(time, link_type, wire_bytes, end)) = self.frames.records.get(self.next) else {
            return Ok(None);
        };
        let bytes = &self.frames.bytes[self.start..end];
        (self.next, self.start) = (self.next + 1, end);
        Ok(Some(Frame { time, link_type, wire_bytes, bytes }))
    }

    /// As files are read: many frames per call.
    fn fill(&mut self, slots: &mut PacketSlots<'_>) -> Result<bool, CaptureError> {
        let FromMemory { frames, next, start } = self;
        let left = &frames.records[*next..];
        let records = &left[..left.len().min(slots.free())];
        let mut from = *start;
        *next += slots.parse_all(records.iter().map(|&(time, link_type, wire_bytes, end)| {
            let bytes = &frames.bytes[from..end];
            from = end;
            Frame { time, link_type, wire_bytes, bytes }
        }));
        *start = from;
        Ok(*next < frames.records.len())
    }
}

/// `acsm live --workers 1`, everything else by default.
fn operator_plan() -> RunPlan {
    let mut plan = replay_plan(Backend::Fcf, 1);
    let rules = Rules::load("tcp-connection").expect("rules that come with acsm");
    plan.keyer.kind = FlowKeyKind::Connection;
    plan.store.states = rules.machine.states().len();
    plan.store.budget = Budget::FpRate(1e-4);
    plan.store.pending = Some(PendingTable::default_slots(plan.store.flows));
    plan.phase = Phase::Nanos(300 * NANOS_PER_SEC);
    plan.active = Arc::new(ActiveRules::new(rules, Preset::Operator));
    plan.top_talkers = true;
    plan
}

/// Nanoseconds per frame.
fn measure(plan: &RunPlan, frames: &Frames) -> f64 {
    let (mut source, parser) = (FromMemory { frames, next: 0, start: 0 }, Parser::default());
    let never = AtomicBool::new(false);
    let stopwatch = Stopwatch::start();
    let outcome = run(plan, &mut source, &parser, &mut NullSink, &never, &mut |_| {});
    let nanos = stopwatch.nanos();
    let packets = outcome.expect("memory for the store").frames.packets;
    assert_eq!(packets, frames.records.len() as u64, "it goes through the whole trace");
    nanos / packets as f64
}

/// The mean length of packets from which one core keeps up with 10 Gb/s. Between two frames an
/// Ethernet link is busy for 20 bytes more.
fn bytes_at_10_gigabits(nanos: f64) -> f64 {
    (10.0 / 8.0 * nanos - 20.0).max(64.0)
}

fn main() {
    let named = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let parse = |text: String| acsm::units::parse_count(&text).expect("a number of packets");
    let packets = named.map_or(2_000_000, parse);
    let flows = packets / 10;
    let mut spec = TraceSpec { packets, flows, ..TraceSpec::new(Profile::Realistic) };
    spec.format.link = Link::Ethernet;
    let frames = Frames::of(&TraceFile::new(spec));

    let (operator, paper) = (operator_plan(), replay_plan(Backend::Kbf, 1));
    let verified = |plan: &RunPlan| RunPlan { verify: true, ..plan.clone() };
    let plans = [
        ("operator preset, fcf", operator.clone()),
        ("  and --verify", verified(&operator)),
        ("paper preset, kbf", paper.clone()),
        ("  and --verify", verified(&paper)),
    ];
    let mut nanos = plans.each_ref().map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for ((_, plan), taken) in plans.iter().zip(&mut nanos) {
            taken.push(measure(plan, &frames));
        }
    }

    println!("\nfrom memory, one thread, {packets} packets of {flows} flows");
    println!("{:30} {:>9} {:>6}  one core keeps up with 10 Gb/s", "", "ns/packet", "Mpps");
    for ((name, _), taken) in plans.iter().zip(nanos) {
        let nanos = median(taken);
        let (rate, bytes) = (1e3 / nanos, bytes_at_10_gigabits(nanos));
        println!("{name:30} {nanos:9.1} {rate:6.2}  of packets of {bytes:.0} bytes or more");
    }
    two_workers(&plans, &frames);
}

/// Prints how much faster two workers are than one.
fn two_workers(plans: &[(&str, RunPlan)], frames: &Frames) {
    println!(
        "\n{:30} {:>9} {:>9} {:>6}",
        "from memory, ns/packet", "1 worker", "2 workers", "faster"
    );
    for (name, one) in plans {
        let two = RunPlan { workers: 2, ..one.clone() };
        let (mut alone, mut together, mut gains) = (vec![], vec![], vec![]);
        for _ in 0..=ROUNDS {
            let [of_one, of_two] = [one, &two].map(|plan| {
                let start = Instant::now();
                measure(plan, frames);
                start.elapsed().as_secs_f64() * 1e9 / frames.records.len() as f64
            });
            alone.push(of_one);
            together.push(of_two);
            gains.push(of_one / of_two);
        }
        let [alone, together, gain] = [alone, together, gains].map(median);
        println!("{name:30} {alone:9.1} {together:9.1} {gain:6.2}");
    }
}
