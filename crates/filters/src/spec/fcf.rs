//! What `fcf` takes: how wide its slots are, and how many of them there are.
//!
//! A slot is a number: 0 if it is empty, else 1 + fingerprint · states + state. So neither the
//! states nor "empty" cost a fraction of a bit more than they must, and the number of fingerprints
//! need not be a power of two. Slots are as wide as the lines can share out: a rate that leaves
//! bits over gets longer fingerprints for nothing.

use super::{
    Backend, Budget, Expire, LINE_BYTES, LayoutKind, MEMORY_LIMIT_BYTES, Sizing, SpecError,
    StoreSpec,
};
use crate::digest::FlowId;

/// Slots of a bucket. A flow is in one of two buckets.
pub const FCF_BUCKET_SLOTS: usize = 4;

/// Buckets that a flow can be in.
const BUCKETS: usize = 2;
/// The part of the slots that is in use when as many flows are alive as were asked for.
const LOAD_PLANNED: f64 = 0.95;
/// Shards do not get equally many flows. The fullest, three standard deviations above the mean,
/// stays below the load at which cuckoo tables of this shape fill up (0.9768).
const LOAD_OF_FULLEST: f64 = 0.975;
/// With fewer, flows of one fingerprint could not be told apart by their buckets either: they
/// crowd the same few pairs of buckets, and tables fill up before their time.
const FINGERPRINTS_LEAST: u64 = 64;
/// As many as the digest has bits for.
const FINGERPRINTS_MOST: u64 = u32::MAX as u64;
const SHARDS: u64 = FlowId::SHARDS as u64;

/// How many fingerprints there are, if a slot of so many bits also holds one of so many states.
pub const fn fcf_fingerprints(slot_bits: u32, states: usize) -> u64 {
    let values = (1 << slot_bits) - 1;
    let fingerprints = values / states as u64;
    if fingerprints < FINGERPRINTS_MOST { fingerprints } else { FINGERPRINTS_MOST }
}

/// How many buckets fit a line. With the timer each bucket has a byte of stamps beside it, and each
/// line a 32-bit epoch.
pub const fn fcf_buckets_per_line(slot_bits: u32, expire: Expire) -> usize {
    let bucket_bits = FCF_BUCKET_SLOTS * slot_bits as usize;
    match expire {
        Expire::Timer => (8 * LINE_BYTES - 32) / (bucket_bits + 8),
        _ => 8 * LINE_BYTES / bucket_bits,
    }
}

/// The widest slots of which so many buckets fit a line.
const fn widest_slot_bits(buckets_per_line: usize, expire: Expire) -> u32 {
    let bucket_bits = match expire {
        Expire::Timer => (8 * LINE_BYTES - 32) / buckets_per_line - 8,
        _ => 8 * LINE_BYTES / buckets_per_line,
    };
    (bucket_bits / FCF_BUCKET_SLOTS) as u32
}

impl StoreSpec {
    /// Slots by the rate, or as wide as memory allows.
    pub(super) fn fcf_sizing(&self) -> Result<Sizing, SpecError> {
        for (option, given) in
            [("--hashes", self.hashes.is_some()), ("--cell-bits", self.cell_bits.is_some())]
        {
            if given {
                return Err(SpecError::NotFor { option, backend: Backend::Fcf.name() });
            }
        }
        if self.layout != LayoutKind::Spread {
            return Err(SpecError::NotFor { option: "--layout", backend: Backend::Fcf.name() });
        }
        if self.expire.recycles() {
            let option = "--expire recycle or two-phase";
            return Err(SpecError::NotFor { option, backend: Backend::Fcf.name() });
        }
        let (slot_bits, lines) = match self.budget {
            Budget::FpRate(rate) => self.slots_for(rate)?,
            Budget::MemoryBytes(bytes) => self.slots_in(bytes)?,
        };
        let buckets = lines * fcf_buckets_per_line(slot_bits, self.expire) as u64;
        let slots = SHARDS * buckets * FCF_BUCKET_SLOTS as u64;
        Ok(self.sized(slots, BUCKETS, slot_bits, line_bytes(lines)))
    }

    /// The width that so many fingerprints take.
    fn slot_bits(&self, fingerprints: u64) -> u32 {
        (fingerprints * self.states as u64).ilog2() + 1
    }

    /// Slots of a shard that flows of this number find room in; a float, as it may be beyond all
    /// integers.
    fn slots_per_shard(&self) -> f64 {
        let mean = self.flows as f64 / SHARDS as f64;
        let deviation = (mean * (1.0 - 1.0 / SHARDS as f64)).sqrt();
        (mean / LOAD_PLANNED).max((mean + 3.0 * deviation) / LOAD_OF_FULLEST)
    }

    /// Lines of a shard with so many buckets a line, if they are within the limit.
    fn lines_for(&self, buckets_per_line: usize) -> Result<u64, SpecError> {
        let buckets = (self.slots_per_shard() / FCF_BUCKET_SLOTS as f64).ceil();
        let lines = (buckets / buckets_per_line as f64).ceil();
        let bytes = lines * line_bytes(1) as f64;
        match bytes > MEMORY_LIMIT_BYTES as f64 {
            true => Err(SpecError::TooLarge { bytes }),
            false => Ok(lines as u64),
        }
    }

    /// 8 · 0.95 / fingerprints ≤ rate. Returns the width of a slot, and the lines of a shard.
    fn slots_for(&self, rate: f64) -> Result<(u32, u64), SpecError> {
        let compared = (BUCKETS * FCF_BUCKET_SLOTS) as f64 * LOAD_PLANNED;
        let fingerprints = (compared / rate).ceil();
        if fingerprints > FINGERPRINTS_MOST as f64 {
            let least = compared / FINGERPRINTS_MOST as f64;
            return Err(SpecError::FingerprintRate { rate, least });
        }
        let needed = self.slot_bits((fingerprints as u64).max(FINGERPRINTS_LEAST));
        let lines = self.lines_for(fcf_buckets_per_line(needed, self.expire))?;
        Ok((self.widest_slots(lines), lines))
    }

    /// The widest slots that leave room for the flows.
    fn slots_in(&self, bytes: u64) -> Result<(u32, u64), SpecError> {
        let most = fcf_buckets_per_line(self.slot_bits(FINGERPRINTS_LEAST), self.expire);
        let lines = bytes / line_bytes(1);
        let lines_least = self.lines_for(most)?;
        if lines < lines_least {
            return Err(SpecError::TooSmall { bytes, least: line_bytes(lines_least) });
        }
        Ok((self.widest_slots(lines), lines))
    }

    /// The widest slots that make sense and leave room for the flows in so many lines a shard.
    fn widest_slots(&self, lines: u64) -> u32 {
        let buckets = (self.slots_per_shard() / FCF_BUCKET_SLOTS as f64).ceil();
        let buckets_per_line = (buckets / lines as f64).ceil().max(1.0) as usize;
        let widest = widest_slot_bits(buckets_per_line, self.expire);
        widest.min(self.slot_bits(FINGERPRINTS_MOST))
    }
}

/// What so many lines of each shard take in all.
const fn line_bytes(lines: u64) -> u64 {
    lines * SHARDS * LINE_BYTES as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fcf(flows: u64, budget: Budget, expire: Expire) -> StoreSpec {
        StoreSpec { flows, budget, expire, ..StoreSpec::new(Backend::Fcf, 6) }
    }

    #[test]
    fn a_rate_buys_fingerprints_and_no_line_is_wasted() {
        let flows = 1_000_000;
        for (rate, expire, slot_bits, buckets_per_line) in [
            (0.01, Expire::Timer, 13, 8),
            (0.001, Expire::None, 16, 8),
            // 17 bits would do: the line has 18.
            (0.000_4, Expire::None, 18, 7),
            (0.000_4, Expire::Timer, 18, 6),
            (0.5, Expire::None, 9, 14),
        ] {
            let sizing = fcf(flows, Budget::FpRate(rate), expire).sizing().unwrap();
            assert_eq!((sizing.cell_bits, sizing.hashes), (slot_bits, 2), "{rate} {expire:?}");
            assert_eq!(fcf_buckets_per_line(slot_bits, expire), buckets_per_line);
            assert!(8.0 * 0.95 / fcf_fingerprints(slot_bits, 6) as f64 <= rate);
            let load = flows as f64 / sizing.cells as f64;
            assert!((0.949..=0.95).contains(&load), "{load}");
            let bits_per_slot = 512.0 / (4.0 * buckets_per_line as f64);
            assert!((sizing.bits as f64 / sizing.cells as f64 - bits_per_slot).abs() < 1e-9);
        }
    }

    #[test]
    fn the_widest_slots_that_fit_are_taken() {
        for expire in [Expire::Timer, Expire::None] {
            for bytes_per_flow in [2, 3, 4, 6, 20] {
                let flows = 100_000;
                let bytes = bytes_per_flow * flows;
                let spec = fcf(flows, Budget::MemoryBytes(bytes), expire);
                let sizing = spec.sizing().unwrap();
                assert!(sizing.bits <= 8 * bytes && 8 * bytes - sizing.bits < 8 * line_bytes(1));
                let fit = |slot_bits: u32| {
                    let buckets = fcf_buckets_per_line(slot_bits, expire) as u64;
                    let slots = sizing.bits / 8 / line_bytes(1) * 4 * buckets;
                    slots as f64 >= spec.slots_per_shard()
                };
                let widest = spec.slot_bits(FINGERPRINTS_MOST);
                assert!(fit(sizing.cell_bits), "{sizing:?}");
                assert!(sizing.cell_bits == widest || !fit(sizing.cell_bits + 1), "{sizing:?}");
            }
        }
    }

    #[test]
    fn slots_hold_every_fingerprint_in_every_state() {
        for states in 1..=16 {
            for slot_bits in 7..=36 {
                let fingerprints = fcf_fingerprints(slot_bits, states);
                assert!(fingerprints * (states as u64) < 1 << slot_bits);
                assert!(fingerprints <= FINGERPRINTS_MOST);
            }
        }
    }

    #[test]
    fn small_shards_get_room_for_their_differences() {
        let load = |flows: u64| {
            let sizing = fcf(flows, Budget::FpRate(0.01), Expire::None).sizing().unwrap();
            flows as f64 / sizing.cells as f64
        };
        assert!(load(2_000) < 0.80 && load(100_000) < 0.945 && load(10_000_000) > 0.9499);
    }

    #[test]
    fn wishes_that_cannot_be_met_are_refused_with_a_reason() {
        let message = |spec: StoreSpec| spec.sizing().expect_err("no such store").to_string();
        let wish = fcf(1000, Budget::FpRate(0.01), Expire::Timer);
        let hashes = StoreSpec { hashes: Some(3), ..wish.clone() };
        assert!(message(hashes).contains("--hashes does not apply to --backend fcf"));
        let wide = StoreSpec { cell_bits: Some(8), ..wish };
        assert!(message(wide).contains("--cell-bits does not apply to --backend fcf"));
        let tiny = message(fcf(1000, Budget::FpRate(1e-9), Expire::Timer));
        assert!(tiny.contains("1.8e-9"), "{tiny}");
        assert!(fcf(1000, Budget::FpRate(1.8e-9), Expire::Timer).sizing().is_ok());
        for flows in [1 << 40, u64::MAX] {
            for budget in [Budget::FpRate(0.01), Budget::MemoryBytes(1 << 30)] {
                assert!(message(fcf(flows, budget, Expire::Timer)).contains("limit is 64 GiB"));
            }
        }
    }
}
