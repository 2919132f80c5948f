//! What a packet costs in each store: locate, look up and touch, on a million live flows in
//! random order. `cargo bench --bench store`.

use std::hint::black_box;
use std::time::Instant;

use acsm::flow::{FlowId, FlowKey, FlowKeyKind, Keyer};
use acsm::hash::HashKey;
use acsm::random::Random;
use acsm::spec::{Backend, Budget, Expire, StoreSpec};
use acsm::state::{Lookup, State};
use acsm::store::{Epoch, Flow, Store, StoreError, StoreUser, with_store};

const FLOWS: u32 = 1_000_000;
const PACKETS: usize = 4_000_000;
const BATCH: usize = 64;

struct Measure<'a> {
    flows: &'a [Flow],
    order: &'a [u32],
}

/// Nanoseconds a packet: one by one, and in batches whose cells are fetched first.
impl StoreUser for Measure<'_> {
    type Output = Result<[f64; 2], StoreError>;

    fn run<S: Store + 'static>(
        self,
        make: impl Fn() -> Result<S, StoreError>,
    ) -> Result<[f64; 2], StoreError> {
        let mut shards = (0..FlowId::SHARDS).map(|_| make()).collect::<Result<Vec<_>, _>>()?;
        for (n, flow) in self.flows.iter().enumerate() {
            let shard = &mut shards[flow.id.shard()];
            let place = shard.locate(flow);
            shard.insert(&place, State::new(n % 6).unwrap(), Epoch(0).stamp());
        }
        let mut known = 0u32;
        let mut now = 0;
        let mut time = |fetch: bool| {
            now += 1;
            let begin = Instant::now();
            for batch in self.order.chunks(BATCH) {
                for &n in batch.iter().filter(|_| fetch) {
                    let flow = &self.flows[n as usize];
                    let shard = &shards[flow.id.shard()];
                    shard.prefetch(&shard.locate(flow));
                }
                for &n in batch {
                    let flow = &self.flows[n as usize];
                    let shard = &mut shards[flow.id.shard()];
                    let place = shard.locate(flow);
                    let found = shard.lookup(&place, Epoch(now));
                    known += u32::from(matches!(found, Lookup::Known(_)));
                    shard.touch(&place, found, Epoch(now).stamp());
                }
            }
            begin.elapsed().as_nanos() as f64 / self.order.len() as f64
        };
        let nanos = [time(false), time(true)];
        black_box(known);
        Ok(nanos)
    }
}

fn main() {
    let mut random = Random::new(1);
    let keyer =
        Keyer { kind: FlowKeyKind::Pair, vlan_in_key: false, hash_key: HashKey::from_seed(1) };
    let flow = |n: u32| {
        let src = n.to_be_bytes().into();
        let key =
            FlowKey { src, dst: [10, 0, 0, 1].into(), src_port: 0, dst_port: 0, vlan: [0; 2] };
        Flow { key, id: keyer.id(&key) }
    };
    let flows: Vec<Flow> = (0..FLOWS).map(flow).collect();
    let order: Vec<u32> = (0..PACKETS).map(|_| random.below(FLOWS.into()) as u32).collect();

    println!("{:28} {:>10} {:>10}  bits/flow", "ns per packet, 1 M flows", "one by one", "fetched");
    let row = |name: &str, spec: StoreSpec| {
        let measured = with_store(&spec, Measure { flows: &flows, order: &order });
        let [alone, fetched] = measured.and_then(|nanos| nanos).expect("memory for the store");
        let bits = spec.sizing().map_or(0.0, |sizing| sizing.bits_per_flow);
        println!("{name:28} {alone:10.1} {fetched:10.1}  {bits:9.1}");
    };
    for (name, expire) in [("timer", Expire::Timer), ("none", Expire::None)] {
        for backend in [Backend::Kbf, Backend::Sbf, Backend::Exact] {
            let spec = StoreSpec { expire, ..StoreSpec::new(backend, 6) };
            row(&format!("{} 0.01, {name}", backend.name()), spec);
        }
    }
    for fp_rate in [0.001, 0.0001] {
        let budget = Budget::FpRate(fp_rate);
        row(
            &format!("kbf {fp_rate}, timer"),
            StoreSpec { budget, ..StoreSpec::new(Backend::Kbf, 6) },
        );
    }
}
