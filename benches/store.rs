//! What a packet costs in each store: locate, look up and touch, on a million live flows in
//! random order, or as many as `scripts/bench store COUNT` says; `scripts/bench store growth` shows how it grows
//! from 10^5 to 10^8 live flows. Times are this thread's time on the processor where the system reports it, so that
//! a busy machine disturbs them less.

mod harness {
    pub mod on_cpu;
}

use std::hint::black_box;

use acsm::flow::{FlowId, FlowKey, FlowKeyKind, Keyer};
use acsm_filters::digest::HashKey;
use acsm_filters::rng::Random;
use acsm_filters::{
    Backend, Budget, Epoch, Expire, LayoutKind, Lookup, State, Store, StoreError, StoreSpec,
};
use acsm_test_support::stores::{StoreVisitor, TestKey, with_store};
use harness::on_cpu::Stopwatch;

const PACKETS: usize = 2_000_000;
const BATCH: usize = 16;

#[derive(Clone, Copy)]
struct Flow {
    key: FlowKey,
    id: FlowId,
}

/// The packets come as an engine has them: in order, in memory that is read ahead.
struct Measure<'a> {
    /// The flows are those with numbers below this.
    flows: u32,
    packets: &'a [Flow],
}

impl Flow {
    fn new(n: u32) -> Flow {
        let keyer = Keyer {
            kind: FlowKeyKind::Pair,
            vlan_in_key: false,
            hash_key: HashKey::from_seed(1),
            pairs_directions: false,
        };
        let (src, dst) = (n.to_be_bytes().into(), [10, 0, 0, 1].into());
        let key = FlowKey { src, dst, src_port: 0, dst_port: 0, vlan: [0; 2] };
        Flow { key, id: keyer.id(&key) }
    }
}

/// Packets of the flows with numbers below `flows`, in random order.
fn packets_of(flows: u32) -> Vec<Flow> {
    let mut random = Random::new(1);
    (0..PACKETS).map(|_| Flow::new(random.below(flows.into()) as u32)).collect()
}

/// Nanoseconds per packet: one by one, and in batches whose cells are fetched first.
impl StoreVisitor for Measure<'_> {
    type Output = Result<[f64; 2], StoreError>;

    fn visit<S: Store<Key: TestKey>>(
        self,
        make: impl Fn() -> Result<S, StoreError>,
    ) -> Result<[f64; 2], StoreError> {
        let mut shards = (0..FlowId::SHARDS).map(|_| make()).collect::<Result<Vec<_>, _>>()?;
        for n in 0..self.flows {
            let flow = Flow::new(n);
            let shard = &mut shards[flow.id.shard()];
            let place = shard.locate(flow.id, TestKey::of(flow.key));
            shard.insert(&place, State::new(n as usize % 6).unwrap(), Epoch(0).stamp());
        }
        let mut known = 0u32;
        let mut now = 0;
        let mut time = |fetch: bool| {
            now += 1;
            let stopwatch = Stopwatch::start();
            for batch in self.packets.chunks(BATCH) {
                for flow in batch.iter().filter(|_| fetch) {
                    let shard = &mut shards[flow.id.shard()];
                    let place = shard.locate(flow.id, TestKey::of(flow.key));
                    shard.prefetch(&place);
                }
                for flow in batch {
                    let shard = &mut shards[flow.id.shard()];
                    let place = shard.locate(flow.id, TestKey::of(flow.key));
                    let found = shard.lookup(&place, Epoch(now));
                    known += u32::from(matches!(found.answer, Lookup::Known(_)));
                    shard.touch(&place, &found, Epoch(now).stamp());
                }
            }
            stopwatch.nanos() / self.packets.len() as f64
        };
        time(false);
        let nanos = [time(false), time(true)];
        black_box(known);
        Ok(nanos)
    }
}

/// A store that would take more is left out.
const GROWTH_BYTES_MAX: u64 = 3 << 30;

/// What a packet costs as the number of live flows grows, in stores that are filled with them.
fn growth() {
    println!(
        "{:28} {:>10} {:>10} {:>10} {:>10}",
        "ns per packet, live flows", "10^5", "10^6", "10^7", "10^8"
    );
    let rates = |backend, fp_rate: f64, layout, states| StoreSpec {
        budget: Budget::FpRate(fp_rate),
        layout,
        ..StoreSpec::new(backend, states)
    };
    let spread = LayoutKind::Spread;
    for (name, spec) in [
        ("fcf 0.0001, 14 states", rates(Backend::Fcf, 0.0001, spread, 14)),
        ("kbf 0.01, blocked:2", rates(Backend::Kbf, 0.01, LayoutKind::Blocked(2), 6)),
        ("exact", StoreSpec::new(Backend::Exact, 6)),
    ] {
        print!("{name:28}");
        for flows in [100_000, 1_000_000, 10_000_000, 100_000_000u32] {
            let spec = StoreSpec { flows: flows.into(), ..spec.clone() };
            let bytes = spec.sizing().map_or(0, |sizing| sizing.bits / 8);
            if bytes > GROWTH_BYTES_MAX {
                print!(" {:>10}", "(memory)");
                continue;
            }
            let packets = packets_of(flows);
            let measured = with_store(&spec, Measure { flows, packets: &packets });
            let [_, fetched] = measured.and_then(|nanos| nanos).expect("memory for the store");
            print!(" {fetched:10.1}");
        }
        println!();
    }
}

fn main() {
    if std::env::args().any(|argument| argument == "growth") {
        return growth();
    }
    let wanted = std::env::args().find_map(|argument| argument.parse().ok());
    let count: u32 = wanted.unwrap_or(1_000_000);
    let packets = packets_of(count);

    println!(
        "{:28} {:>10} {:>10}  bits/flow",
        format!("ns per packet, {count} flows"),
        "one by one",
        "fetched"
    );
    let row = |name: &str, spec: StoreSpec| {
        let measured = with_store(&spec, Measure { flows: count, packets: &packets });
        let [alone, fetched] = measured.and_then(|nanos| nanos).expect("memory for the store");
        let bits = spec.sizing().map_or(0.0, |sizing| sizing.bits_per_flow);
        println!("{name:28} {alone:10.1} {fetched:10.1}  {bits:9.1}");
    };
    for (name, expire) in
        [("timer", Expire::Timer), ("stamps", Expire::Stamps), ("none", Expire::None)]
    {
        for backend in [Backend::Kbf, Backend::Sbf, Backend::Bhbf, Backend::Fcf, Backend::Exact] {
            let spec = StoreSpec { expire, flows: count.into(), ..StoreSpec::new(backend, 6) };
            row(&format!("{} 0.01, {name}", backend.name()), spec);
        }
    }
    let budget = Budget::MemoryBytes(7 * u64::from(count));
    row(
        "bhbf in 7 bytes, timer",
        StoreSpec { budget, flows: count.into(), ..StoreSpec::new(Backend::Bhbf, 6) },
    );
    // The layouts, with seven cells per flow and with the best number.
    for layout in [LayoutKind::Spread, LayoutKind::Blocked(1), LayoutKind::Blocked(2)] {
        for hashes in [Some(7), None] {
            let spec = StoreSpec {
                layout,
                hashes,
                flows: count.into(),
                ..StoreSpec::new(Backend::Kbf, 6)
            };
            let hashes = spec.sizing().map_or(0, |sizing| sizing.hashes);
            row(&format!("kbf 0.01, {}, k = {hashes}", layout.name()), spec);
        }
    }
    // The operator's state machine.
    for fp_rate in [0.001, 0.0001] {
        let budget = Budget::FpRate(fp_rate);
        row(
            &format!("fcf {fp_rate}, timer, 14 states"),
            StoreSpec { budget, flows: count.into(), ..StoreSpec::new(Backend::Fcf, 14) },
        );
    }
    for fp_rate in [0.001, 0.0001] {
        let budget = Budget::FpRate(fp_rate);
        row(
            &format!("kbf {fp_rate}, timer"),
            StoreSpec { budget, flows: count.into(), ..StoreSpec::new(Backend::Kbf, 6) },
        );
    }
}
