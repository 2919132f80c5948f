//! The rate of false positives of a store that is as full as it is planned for.
//!
//! On a trace a store fills up slowly and may never be full, so a rate over the trace says little about the
//! memory that the store takes. Here a store of the same bits per flow is filled with random flows, and asked
//! about others.

use crate::engine::build::build_shards;
use crate::flow::{FlowId, FlowKey};
use acsm_filters::rng::Random;
use acsm_filters::{Budget, Epoch, Lookup, State, StoreError, StoreSpec};

/// Flows put into a store, at most: a larger one is scaled down.
const FLOWS_MAX: u64 = 100_000;
/// Random flows are the same every time.
const SEED: u64 = 0x6675_6c6c;

/// Absent flows asked about, at least and at most.
const ASKED: [f64; 2] = [10_000.0, 1_000_000.0];
/// Errors wanted, if that many flows may be asked.
const FOUND_WANTED: f64 = 30.0;

/// How a full store answered about absent flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtCapacity {
    /// Flows asked about.
    pub asked: u64,
    /// Answers other than "absent".
    pub found: u64,
}

/// Fills a store as planned and asks it about absent flows: enough of them for an error rate of about
/// `expected`. `shares`: the parts of the flows in each state. A table of full keys is never wrong about them.
pub fn at_capacity(
    spec: &StoreSpec,
    shares: &[f64],
    expected: f64,
) -> Result<AtCapacity, StoreError> {
    let asked = (FOUND_WANTED / expected).clamp(ASKED[0], ASKED[1]) as u64;
    if !spec.backend.is_approximate() {
        return Ok(AtCapacity { asked, found: 0 });
    }
    let scale = FLOWS_MAX as f64 / spec.flows.max(FLOWS_MAX) as f64;
    let budget = match spec.budget {
        Budget::MemoryBytes(bytes) => Budget::MemoryBytes((bytes as f64 * scale) as u64),
        by_rate @ Budget::FpRate(_) => by_rate,
    };
    let flows = spec.flows.min(FLOWS_MAX);
    let mut shards = build_shards(&StoreSpec { flows, budget, ..spec.clone() }, true)?;
    let (mut random, now, key) = (Random::new(SEED), Epoch(0), FlowKey::default());
    let id = |random: &mut Random| {
        FlowId(u128::from(random.next_u64()) << 64 | u128::from(random.next_u64()))
    };
    for _ in 0..flows {
        let (id, state) = (id(&mut random), state(shares, random.unit()));
        if let Some(shard) = shards.get_mut(id.shard()) {
            shard.put(id, key, state, now);
        }
    }
    let found = (0..asked).filter(|_| {
        let id = id(&mut random);
        shards.get_mut(id.shard()).is_some_and(|shard| shard.ask(id, key, now) != Lookup::Absent)
    });
    Ok(AtCapacity { asked, found: found.count() as u64 })
}

/// The state at this point of the sum of shares.
fn state(shares: &[f64], mut point: f64) -> State {
    let at = shares.iter().position(|share| {
        point -= share;
        point < 0.0
    });
    at.and_then(State::new).unwrap_or(State::FIRST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use acsm_filters::{Backend, Expire};

    /// (1 − e^{−kn/m})^k by the sizing of each store, five standard deviations allowed.
    #[test]
    fn full_stores_have_the_rate_that_they_are_planned_for() {
        for backend in [Backend::Kbf, Backend::Sbf] {
            for p in [0.1, 0.01] {
                let spec = StoreSpec {
                    flows: 1_000_000,
                    budget: Budget::FpRate(p),
                    expire: Expire::None,
                    ..StoreSpec::new(backend, 6)
                };
                let sizing = spec.sizing().unwrap();
                let load = sizing.hashes as f64 * 1e6 / sizing.cells as f64;
                let expected = (1.0 - (-load).exp()).powi(sizing.hashes as i32);
                let AtCapacity { asked, found } = at_capacity(&spec, &[1.0], p / 30.0).unwrap();
                let (rate, deviation) =
                    (found as f64 / asked as f64, (expected / asked as f64).sqrt());
                // Shards have more and fewer flows than the average: 2 % of play.
                assert!(
                    (rate - expected).abs() < 5.0 * deviation + 0.02 * expected,
                    "{backend:?} {p}: {rate}, {expected}"
                );
            }
        }
    }
}
