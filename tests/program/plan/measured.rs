//! What theory predicts for a store against what the store does, open loop: it is given the
//! true states, and each flow counts once. Closed loop, where it continues from its own answers, is
//! measured too.

use acsm::engine::plan::{Shape, Theory, Traffic};
use acsm::flow::{FlowId, FlowKey};
use acsm_filters::rng::Random;
use acsm_filters::{
    Backend, Budget, Epoch, Expire, LayoutKind, Lookup, Sizing, State, Store, StoreError, StoreSpec,
};
use acsm_test_support::stores::{StoreVisitor, TestKey, with_store};

const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];
/// Student's t for a 99 % interval of five values.
const T_99_OF_5: f64 = 4.604;
/// Erring flows that must be predicted over all seeds, for the comparison to mean anything.
const ERRING_LEAST: f64 = 200.0;
/// Flows of the one shard that is filled.
const FLOWS: u64 = 20_000;
const STATES: usize = 6;

/// What is compared with theory: one line per store, layout and expiry.
fn specs() -> Vec<StoreSpec> {
    let spec = |backend| StoreSpec { expire: Expire::None, ..StoreSpec::new(backend, STATES) };
    let stores = [Backend::Kbf, Backend::Sbf, Backend::Bhbf, Backend::Fcf, Backend::Dbf].map(spec);
    let filters = stores.iter().filter(|spec| spec.backend != Backend::Fcf);
    let in_lines = filters.map(|spec| StoreSpec { layout: LayoutKind::Blocked(2), ..spec.clone() });
    stores.iter().cloned().chain(in_lines).collect()
}

/// Flows that keep their first state: what open loop with single insertions is.
fn traffic() -> Traffic {
    Traffic { kept: 1.0, ..Traffic::typical(STATES) }
}

/// Sizes with enough errors to be counted.
fn budgets(backend: Backend) -> [Budget; 2] {
    let total = FLOWS * FlowId::SHARDS as u64;
    match backend {
        Backend::Bhbf => [Budget::MemoryBytes(3 * total), Budget::MemoryBytes(4 * total)],
        Backend::Fcf => [Budget::FpRate(0.1), Budget::FpRate(0.02)],
        _ => [Budget::FpRate(0.1), Budget::FpRate(0.01)],
    }
}

fn name(spec: &StoreSpec, sizing: &Sizing) -> String {
    let (layout, expire) = (spec.layout.name(), spec.expire.name());
    let (store, bits) = (spec.backend.name(), sizing.bits_per_flow);
    format!("{store} {layout} {expire}, {bits:.1} bits per flow")
}

fn flows(seed: u64) -> impl Iterator<Item = FlowId> {
    let mut random = Random::new(seed);
    std::iter::repeat_with(move || {
        FlowId(u128::from(random.next_u64()) << 64 | u128::from(random.next_u64()))
    })
}

fn draw(random: &mut Random, traffic: &Traffic) -> State {
    let mut at = random.unit();
    let found = traffic.mix.parts().iter().position(|part| {
        at -= part;
        at < 0.0
    });
    State::new(found.unwrap_or(0)).unwrap()
}

/// Fills one shard and looks up each flow, and as many absent flows: counts the errors.
struct Static {
    seed: u64,
    traffic: Traffic,
    /// Whether a new flow is written by what the store answers for it, not by the truth.
    closed_loop: bool,
}

impl StoreVisitor for Static {
    type Output = f64;

    fn visit<S: Store<Key: TestKey>>(self, make: impl Fn() -> Result<S, StoreError>) -> f64 {
        let (mut store, key) = (make().unwrap(), TestKey::of(FlowKey::default()));
        let now = Epoch(0);
        let mut random = Random::for_purpose(self.seed, 1);
        let mut source = flows(self.seed);
        let mut places = vec![];
        for flow in source.by_ref().take(FLOWS as usize) {
            let (place, state) = (store.locate(flow, key), draw(&mut random, &self.traffic));
            let found = store.lookup(&place, now);
            match found.answer {
                answer if self.closed_loop && answer != Lookup::Absent => {
                    store.modify(&place, &found, state, now.stamp());
                }
                _ => drop(store.insert(&place, state, now.stamp())),
            }
            places.push((place, Lookup::Known(state)));
        }
        let absent =
            source.take(FLOWS as usize).map(|flow| (store.locate(flow, key), Lookup::Absent));
        places.extend(absent.collect::<Vec<_>>());
        places.iter().filter(|(place, truth)| store.lookup(place, now).answer != *truth).count()
            as f64
    }
}

/// One shard's part of a store for [`FLOWS`] flows in it.
fn sized(spec: &StoreSpec, budget: Budget) -> (StoreSpec, Sizing) {
    let flows = FLOWS * FlowId::SHARDS as u64;
    let spec = StoreSpec { flows, budget, ..spec.clone() };
    let sizing = spec.sizing().unwrap();
    (spec, sizing)
}

/// The ratio of measured to predicted over five seeds, with its 99 % interval.
fn ratio(measured: &[f64; 5], predicted: f64) -> (f64, [f64; 2]) {
    let ratios = measured.map(|measured| measured / predicted);
    let mean = ratios.iter().sum::<f64>() / 5.0;
    let variance = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum::<f64>() / 4.0;
    let half = T_99_OF_5 * (variance / 5.0).sqrt();
    (mean, [mean - half, mean + half])
}

fn assert_meets(name: &str, measured: &[f64; 5], predicted: f64) {
    let (mean, [low, high]) = ratio(measured, predicted);
    println!("{name}: {predicted:.0} predicted, ratio {mean:.3} ({low:.3} to {high:.3})");
    assert!(5.0 * predicted >= ERRING_LEAST, "{name}: {predicted:.0} say too little");
    assert!(low <= 2.0 && high >= 0.5, "{name}: {mean:.2} ({low:.2} to {high:.2})");
}

#[test]
fn stores_err_as_often_as_predicted() {
    for spec in specs() {
        for budget in budgets(spec.backend) {
            let (spec, sizing) = sized(&spec, budget);
            let theory = Theory::for_store(&spec, traffic());
            let errors = theory.predict(&spec, &sizing, spec.flows as f64);
            let predicted = FLOWS as f64 * (errors.of_extant() + errors.of_absent());
            let measured = |closed_loop| {
                SEEDS.map(|seed| {
                    let user = Static { seed, traffic: traffic(), closed_loop };
                    with_store(&spec, user).unwrap()
                })
            };
            assert_meets(&name(&spec, &sizing), &measured(false), predicted);
            let (closed, [low, high]) = ratio(&measured(true), predicted);
            println!("  closed loop: ratio {closed:.3} ({low:.3} to {high:.3})");
            // Errors lead to errors, but their number stays bounded in a store that is not overfull.
            assert!((0.5..2.0).contains(&closed), "closed loop: {closed}");
        }
    }
}

/// Flows arrive at a constant rate, send for five seconds and become idle: each is looked up once,
/// half-way, and with each an absent flow.
struct Timed {
    seed: u64,
    traffic: Traffic,
}

impl StoreVisitor for Timed {
    type Output = f64;

    fn visit<S: Store<Key: TestKey>>(self, make: impl Fn() -> Result<S, StoreError>) -> f64 {
        let (mut store, key) = (make().unwrap(), TestKey::of(FlowKey::default()));
        let mut random = Random::for_purpose(self.seed, 1);
        let mut source = flows(self.seed);
        let per_second = FLOWS as f64 / self.traffic.held_seconds();
        let phase = self.traffic.idle_seconds;
        let lag = (0.5 * self.traffic.lifetime_seconds * per_second) as usize;
        let (phases, first_counted) = (8.0, 4.0);
        let (mut recent, mut wrong, mut counted) = (vec![], 0.0, 0.0);
        for n in 0..(phases * phase * per_second) as usize {
            let now = Epoch((n as f64 / per_second / phase) as u32);
            let flow = source.next().unwrap();
            let (place, state) = (store.locate(flow, key), draw(&mut random, &self.traffic));
            store.insert(&place, state, now.stamp());
            recent.push((place, state));
            // Again at the end of its lifetime, and once before.
            if let Some((old, _)) = n.checked_sub(2 * lag).and_then(|at| recent.get(at)) {
                let found = store.lookup(old, now);
                store.touch(old, &found, now.stamp());
            }
            let asked = n.checked_sub(lag).and_then(|at| recent.get(at));
            if let Some((old, state)) = asked.filter(|_| f64::from(now.0) >= first_counted) {
                let flow = store.locate(source.next().unwrap(), key);
                wrong += f64::from(store.lookup(old, now).answer != Lookup::Known(*state));
                wrong += f64::from(store.lookup(&flow, now).answer != Lookup::Absent);
                counted += 1.0;
            }
            store.sweep(now, 64);
        }
        // Scaled to the number of flows of a static store.
        wrong * FLOWS as f64 / counted
    }
}

/// Compares a store that is `Timed` with theory.
fn assert_timed_as_predicted(spec: &StoreSpec, budget: Budget) {
    let (spec, sizing) = sized(spec, budget);
    let theory = Theory::for_store(&spec, traffic());
    let errors = theory.predict(&spec, &sizing, spec.flows as f64);
    let predicted = FLOWS as f64 * (errors.of_extant() + errors.of_absent());
    let measured = SEEDS.map(|seed| with_store(&spec, Timed { seed, traffic: traffic() }).unwrap());
    assert_meets(&name(&spec, &sizing), &measured, predicted);
}

#[test]
fn stores_with_stamps_err_as_often_as_predicted() {
    for backend in [Backend::Kbf, Backend::Sbf] {
        for budget in budgets(backend) {
            let spec = StoreSpec { expire: Expire::Stamps, ..StoreSpec::new(backend, STATES) };
            assert_timed_as_predicted(&spec, budget);
        }
    }
}

#[test]
fn stores_under_a_timer_err_as_often_as_predicted() {
    for backend in [Backend::Kbf, Backend::Sbf, Backend::Dbf] {
        for rate in [0.2, 0.1] {
            let spec = StoreSpec { expire: Expire::Timer, ..StoreSpec::new(backend, STATES) };
            assert_timed_as_predicted(&spec, Budget::FpRate(rate));
        }
    }
}

/// A store under the arrivals of [`Timed`], and among them flows that never end: the age at which one
/// in twenty of their lookups is wrong, in idle timeouts.
struct LongLived {
    seed: u64,
    traffic: Traffic,
}

impl StoreVisitor for LongLived {
    type Output = f64;

    fn visit<S: Store<Key: TestKey>>(self, make: impl Fn() -> Result<S, StoreError>) -> f64 {
        let (mut store, key) = (make().unwrap(), TestKey::of(FlowKey::default()));
        let mut random = Random::for_purpose(self.seed, 1);
        let mut source = flows(self.seed);
        let per_phase = FLOWS as f64 / self.traffic.held_seconds() * self.traffic.idle_seconds;
        // They come in all parts of a phase, as it makes a difference.
        let (first_phase, checks_per_phase) = (4.0, 8.0);
        let mut long_lived = vec![];
        // By age, in parts of a phase.
        let mut asked_and_wrong = vec![];
        for n in 0.. {
            let phases = f64::from(n) / per_phase;
            let now = Epoch(phases as u32);
            let (place, state) =
                (store.locate(source.next().unwrap(), key), draw(&mut random, &self.traffic));
            store.insert(&place, state, now.stamp());
            if (first_phase..first_phase + 1.0).contains(&phases) && n % 20 == 0 {
                long_lived.push((place, state, phases));
            }
            store.sweep(now, 64);
            if (phases * checks_per_phase).fract() >= checks_per_phase / per_phase {
                continue;
            }
            for (place, state, birth) in &long_lived {
                let found = store.lookup(place, now);
                store.touch(place, &found, now.stamp());
                let age = ((phases - birth) * checks_per_phase) as usize;
                asked_and_wrong.resize(asked_and_wrong.len().max(age + 1), [0, 0]);
                asked_and_wrong[age][0] += 1;
                asked_and_wrong[age][1] += usize::from(found.answer != Lookup::Known(*state));
            }
            // Ages that all of them have reached.
            let complete = ((phases - first_phase - 1.0) * checks_per_phase).max(0.0) as usize;
            let mut ages = asked_and_wrong.iter().take(complete);
            if let Some(age) = ages.position(|[asked, wrong]| 20 * wrong > *asked) {
                return (age as f64 + 0.5) / checks_per_phase;
            }
        }
        unreachable!("ghosts gather without end")
    }
}

#[test]
fn flows_in_stores_with_stamps_are_reliable_until_the_predicted_age() {
    for (backend, layout) in [
        (Backend::Kbf, LayoutKind::Spread),
        (Backend::Kbf, LayoutKind::Blocked(2)),
        (Backend::Sbf, LayoutKind::Spread),
    ] {
        for load in [1.0, 0.5] {
            let spec =
                StoreSpec { layout, expire: Expire::Stamps, ..StoreSpec::new(backend, STATES) };
            let planned = (FLOWS as f64 / load) as u64 * FlowId::SHARDS as u64;
            let spec = StoreSpec { flows: planned, ..spec };
            let sizing = spec.sizing().unwrap();
            let cells_per_flow = sizing.cells as f64 / (FLOWS * FlowId::SHARDS as u64) as f64;
            let predicted = Theory::for_store(&spec, traffic()).reliable_seconds(
                Shape::of(&spec),
                sizing.cells_per_line,
                sizing.hashes,
                sizing.hashes as f64 / cells_per_flow,
            );
            let predicted = predicted.unwrap() / traffic().idle_seconds;
            let measured = SEEDS
                .map(|seed| with_store(&spec, LongLived { seed, traffic: traffic() }).unwrap());
            let name = format!("{}, {load} of the plan", name(&spec, &sizing));
            let (mean, [low, high]) = ratio(&measured, predicted);
            println!(
                "{name}: {predicted:.2} idle timeouts, {mean:.2} ({low:.2} to {high:.2}) times"
            );
            assert!((0.7..1.4).contains(&mean), "{name}: {mean} of {predicted}");
        }
    }
}

/// Flows arrive at a store that recycles; each is looked up a little later, unless it was forgotten
/// before, and with it an absent flow.
struct Cycling {
    seed: u64,
    traffic: Traffic,
}

impl StoreVisitor for Cycling {
    type Output = f64;

    fn visit<S: Store<Key: TestKey>>(self, make: impl Fn() -> Result<S, StoreError>) -> f64 {
        let (mut store, key) = (make().unwrap(), TestKey::of(FlowKey::default()));
        let now = Epoch(0);
        let mut random = Random::for_purpose(self.seed, 1);
        let mut source = flows(self.seed);
        let (cycles, lag) = (4, FLOWS as usize / 100);
        let (mut came, mut wrong, mut counted) = (vec![], 0.0, 0.0);
        for n in 0..cycles * FLOWS as usize {
            let flow = source.next().unwrap();
            let (place, state) = (store.locate(flow, key), draw(&mut random, &self.traffic));
            store.insert(&place, state, now.stamp());
            came.push((place, state, store.epoch(now)));
            let asked = n.checked_sub(lag).and_then(|at| came.get(at));
            let Some((old, state, cycle)) = asked else { continue };
            // After the first cycle, before which there was none.
            if n > FLOWS as usize && *cycle == store.epoch(now) {
                let flow = store.locate(source.next().unwrap(), key);
                wrong += f64::from(store.lookup(old, now).answer != Lookup::Known(*state));
                wrong += f64::from(store.lookup(&flow, now).answer != Lookup::Absent);
                counted += 1.0;
            }
        }
        wrong * FLOWS as f64 / counted
    }
}

#[test]
fn stores_that_recycle_err_as_often_as_predicted() {
    for expire in [Expire::Recycle, Expire::TwoPhase] {
        for backend in [Backend::Kbf, Backend::Sbf] {
            let spec = StoreSpec { expire, ..StoreSpec::new(backend, STATES) };
            let (spec, sizing) = sized(&spec, Budget::FpRate(0.05));
            let theory = Theory::for_store(&spec, traffic());
            let errors = theory.predict(&spec, &sizing, spec.flows as f64);
            let predicted = FLOWS as f64 * (errors.of_extant() + errors.of_absent());
            let measured =
                SEEDS.map(|seed| with_store(&spec, Cycling { seed, traffic: traffic() }).unwrap());
            assert_meets(&name(&spec, &sizing), &measured, predicted);
        }
    }
}
