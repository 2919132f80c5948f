//! Nothing allocates per packet: seven times the packets of the same flows, no more allocations.
//!
//! A counting allocator replaces the system's. What is measured is everything from
//! opening the file to the result, in all threads; only what grows with the packets is left when
//! the count of a short trace is taken from that of a long one.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use acsm::capture::parse::Parser;
use acsm::capture::{CaptureError, FileSource, Frame, PacketSource, TimeWindow};
use acsm::engine::compare::compare;
use acsm::engine::run;
use acsm::engine::thresholds::{SketchLimits, Thresholds};
use acsm::flow::{FlowKeyKind, Packet};
use acsm::generate::{Format, Link, Precision, Profile, Trace, TraceSpec};
use acsm::machine::Rules;
use acsm::seed::Seed;
use acsm_filters::Backend;
use acsm_test_support::plans::{NullSink, compare_plan, replay_plan};
use tempfile::TempDir;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

// SAFETY: every call is passed unchanged to the system's allocator; counting touches no memory
// but the counter.
unsafe impl GlobalAlloc for Counting {
    // SAFETY: the caller keeps the system allocator's contract, which is this one's.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: as for `alloc`.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    // SAFETY: as for `alloc`.
    unsafe fn realloc(&self, old: *mut u8, layout: Layout, new_bytes: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above; `old` came from the system's allocator, through this one.
        unsafe { System.realloc(old, layout, new_bytes) }
    }

    // SAFETY: as for `alloc`.
    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(old, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// More batches than are under way at once, so that every buffer has been used.
const SHORT_PACKETS: u64 = 40_000;
const LONG_PACKETS: u64 = 7 * SHORT_PACKETS;

/// Buffers that grow to their size in a few doublings may do so later in one run than in another,
/// and the test harness has its own threads. The long trace has 58 batches more than the short
/// one, so an allocation per batch would show too.
const GROWTH_MAX: u64 = 24;

/// Tests of one process share the counter: one at a time, from its first line on.
fn alone() -> MutexGuard<'static, ()> {
    static RUNNING: Mutex<()> = Mutex::new(());
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many allocations `work` takes.
fn allocations<T>(work: impl FnOnce() -> T) -> u64 {
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    black_box(work());
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

/// How many more allocations `work` takes on the long file than on the short one.
fn growth(files: &Files, mut work: impl FnMut(&Path) -> u64) -> u64 {
    // A first run for what is set up only once per process.
    work(&files.short);
    let mut count = |path: &Path, packets: u64| {
        let mut counted = 0;
        let allocations = allocations(|| counted = work(path));
        assert_eq!(counted, packets, "all packets are there");
        allocations
    };
    let short = count(&files.short, SHORT_PACKETS);
    count(&files.long, LONG_PACKETS).saturating_sub(short)
}

/// The same flows with few and with many packets.
struct Files {
    _folder: TempDir,
    short: PathBuf,
    long: PathBuf,
}

impl Files {
    fn new(link: Link, encode: impl Fn(Vec<u8>) -> Vec<u8>) -> Files {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, packets| {
            let path = folder.path().join(name);
            std::fs::write(&path, encode(trace(link, packets))).unwrap();
            path
        };
        let (short, long) = (write("short", SHORT_PACKETS), write("long", LONG_PACKETS));
        Files { _folder: folder, short, long }
    }

    fn pcap(link: Link) -> Files {
        Files::new(link, |pcap| pcap)
    }
}

fn trace(link: Link, packets: u64) -> Vec<u8> {
    let format = Format { link, snaplen: 78, precision: Precision::Micros };
    let base = TraceSpec::new(Profile::Realistic);
    let spec = TraceSpec { packets, flows: 600, well_behaved: true, format, ..base };
    let mut pcap = Vec::new();
    Trace::new(spec).unwrap().write(&mut pcap).unwrap();
    pcap
}

/// The same packets as pcapng: one section, one interface, enhanced packet blocks.
fn as_pcapng(pcap: Vec<u8>) -> Vec<u8> {
    fn block(out: &mut Vec<u8>, kind: u32, body: &[&[u8]]) {
        let body = body.concat();
        let padding = vec![0; body.len().next_multiple_of(4) - body.len()];
        let length = (12 + body.len() + padding.len()) as u32;
        let length = length.to_le_bytes();
        out.extend([&kind.to_le_bytes()[..], &length, &body, &padding, &length].concat());
    }
    let word = |at: usize| u32::from_le_bytes(pcap[at..at + 4].try_into().unwrap());
    let mut out = Vec::new();
    block(&mut out, 0x0a0d_0d0a, &[&0x1a2b_3c4d_u32.to_le_bytes(), &[1, 0, 0, 0], &[0xff; 8]]);
    block(&mut out, 1, &[&word(20).to_le_bytes(), &word(16).to_le_bytes()]);
    let mut at = 24;
    while at < pcap.len() {
        let [seconds, micros, captured, wire] = [0, 4, 8, 12].map(|field| word(at + field));
        let ticks = u64::from(seconds) * 1_000_000 + u64::from(micros);
        let [high, low] = [(ticks >> 32) as u32, ticks as u32];
        let header = [0, high, low, captured, wire].map(u32::to_le_bytes).concat();
        at += 16;
        block(&mut out, 6, &[&header, &pcap[at..at + captured as usize]]);
        at += captured as usize;
    }
    out
}

fn open(path: &Path) -> FileSource {
    FileSource::open(&[path.to_owned()], TimeWindow::default()).unwrap()
}

/// Reads and parses everything; returns the number of TCP packets.
fn read_all(mut source: impl PacketSource) -> u64 {
    let parser = Parser::default();
    let mut packets = 0;
    while let Some(frame) = source.next_frame().unwrap() {
        packets += u64::from(black_box(parser.parse(&frame)).is_ok());
    }
    packets
}

#[test]
fn reading_and_parsing_allocate_nothing_per_packet() {
    let _alone = alone();
    for link in [Link::Raw, Link::Ethernet] {
        for (name, files) in [("pcap", Files::pcap(link)), ("pcapng", Files::new(link, as_pcapng))]
        {
            let growth = growth(&files, |path| read_all(open(path)));
            assert!(growth <= GROWTH_MAX, "{name}, {link:?}: {growth} more allocations");
        }
    }
}

#[test]
fn the_engine_allocates_nothing_per_packet() {
    let _alone = alone();
    let files = Files::pcap(Link::Raw);
    let filters = [Backend::Kbf, Backend::Bhbf, Backend::Sbf, Backend::Dbf];
    for backend in filters.into_iter().chain([Backend::Exact, Backend::Fcf]) {
        for workers in [1, 2] {
            let mut plan = replay_plan(backend, workers);
            plan.store.flows = 10_000;
            let never = AtomicBool::new(false);
            let growth = growth(&files, |path| {
                let (mut source, parser) = (open(path), Parser::default());
                let outcome = run(&plan, &mut source, &parser, &mut NullSink, &never, &mut |_| {});
                outcome.unwrap().frames.tcp_packets
            });
            let name = backend.name();
            assert!(growth <= GROWTH_MAX, "{name}, {workers} workers: {growth} more allocations");
        }
    }
}

#[test]
fn pending_tables_allocate_nothing_per_packet() {
    let _alone = alone();
    let files = Files::pcap(Link::Raw);
    let mut plan = replay_plan(Backend::Kbf, 1);
    plan.keyer.kind = FlowKeyKind::Connection;
    plan.store.pending = Some(100);
    let never = AtomicBool::new(false);
    let growth = growth(&files, |path| {
        let (mut source, parser) = (open(path), Parser::default());
        let outcome = run(&plan, &mut source, &parser, &mut NullSink, &never, &mut |_| {}).unwrap();
        assert!(outcome.pending.unwrap().admitted > 50);
        outcome.frames.tcp_packets
    });
    assert!(growth <= GROWTH_MAX, "{growth} more allocations");
}

#[test]
fn comparisons_allocate_nothing_per_packet() {
    let _alone = alone();
    let files = Files::pcap(Link::Raw);
    for threads in [1, 2] {
        let mut replay = replay_plan(Backend::Kbf, threads);
        replay.store.flows = 10_000;
        let plan = compare_plan(replay, &[Backend::Kbf, Backend::Exact], &[0.1, 0.001]);
        let never = AtomicBool::new(false);
        let growth = growth(&files, |path| {
            let outcome = compare(&plan, &mut open(path), &Parser::default(), &never, &mut |_| {});
            outcome.unwrap().frames.tcp_packets
        });
        assert!(growth <= GROWTH_MAX, "{threads} threads: {growth} more allocations");
    }
}

#[test]
fn thresholds_allocate_nothing_at_all() {
    let _alone = alone();
    let files = Files::pcap(Link::Raw);
    let mut packets: Vec<Packet> = Vec::new();
    let (mut source, parser) = (open(&files.long), Parser::default());
    while let Some(frame) = source.next_frame().unwrap() {
        packets.extend(parser.parse(&frame));
    }
    let rules = Rules::load("tcp-flags").unwrap().thresholds;
    assert!(!rules.is_empty());
    let mut thresholds = Thresholds::new(&rules, Seed::Number(1), SketchLimits::default());
    let count = allocations(|| {
        for packet in &packets {
            thresholds.observe(packet, &mut |_| {});
        }
        thresholds.finish(&mut |_| {});
    });
    assert!(count <= GROWTH_MAX, "{count} allocations for {} packets", packets.len());
}

/// A source that allocates for every n-th frame.
struct Wasteful(FileSource, u64, u64);

impl PacketSource for Wasteful {
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        self.2 += 1;
        if self.2.is_multiple_of(self.1) {
            black_box(Box::new(self.2));
        }
        self.0.next_frame()
    }
}

#[test]
fn what_allocates_is_caught() {
    let _alone = alone();
    let files = Files::pcap(Link::Raw);
    let every_frame = growth(&files, |path| read_all(Wasteful(open(path), 1, 0)));
    // What the harness allocates meanwhile can fall on the short trace too.
    let added = LONG_PACKETS - SHORT_PACKETS - GROWTH_MAX;
    assert!(every_frame >= added, "only {every_frame}");
    let every_2048th = growth(&files, |path| read_all(Wasteful(open(path), 2048, 0)));
    assert!(every_2048th > GROWTH_MAX, "only {every_2048th}");
}
