//! From a wish to cells, hashes and bits.

use std::f64::consts::LN_2;

use super::{
    Backend, Budget, EXACT_FLOW_BYTES, Expire, HASHES_LIMIT, LINE_BYTES, MEMORY_LIMIT_BYTES,
    Sizing, SpecError, StoreSpec, cells_per_line, kbf_code_bits,
};
use crate::flow::FlowId;
use crate::state::State;

const SHARDS: u64 = FlowId::SHARDS as u64;
/// The exact store's index needs an empty bucket.
const EXACT_LEAST: u64 = 2;

impl StoreSpec {
    /// What it takes, or why it cannot be.
    pub fn sizing(&self) -> Result<Sizing, SpecError> {
        self.check()?;
        if self.backend == Backend::Exact {
            return self.exact_sizing();
        }
        if self.backend == Backend::Fcf {
            return self.fcf_sizing();
        }
        let cell_bits = self.resolve_cell_bits()?;
        let (cells, hashes) = match self.budget {
            Budget::FpRate(p) => {
                (self.cells_for(p), self.hashes.map_or_else(|| hashes_for(p), Ok)?)
            }
            Budget::MemoryBytes(bytes) => self.cells_in(bytes, cell_bits)?,
        };
        self.whole_lines(cells, hashes, cell_bits)
    }

    fn check(&self) -> Result<(), SpecError> {
        if self.flows == 0 {
            return Err(SpecError::NoFlows);
        }
        if self.states == 0 || self.states > State::LIMIT {
            return Err(SpecError::States(self.states));
        }
        match self.budget {
            // Written so that NaN fails too.
            Budget::FpRate(p) if !(p > 0.0 && p < 1.0) => return Err(SpecError::FpRate(p)),
            Budget::MemoryBytes(bytes) if bytes > MEMORY_LIMIT_BYTES => {
                return Err(SpecError::TooLarge { bytes: bytes as f64 });
            }
            _ => {}
        }
        if let Some(hashes) = self.hashes {
            if self.backend == Backend::Exact {
                return Err(SpecError::NotFor { option: "--hashes", backend: "exact" });
            }
            if hashes == 0 || hashes > HASHES_LIMIT {
                return Err(SpecError::Hashes(hashes));
            }
        }
        if self.backend == Backend::Dbf && !self.dbf_counters && self.expire == Expire::None {
            return Err(SpecError::NeverEmptied);
        }
        Ok(())
    }

    fn resolve_cell_bits(&self) -> Result<u32, SpecError> {
        let needed = match self.backend {
            Backend::Dbf | Backend::Exact | Backend::Fcf => {
                let narrowest = if self.dbf_counters { 2 } else { 1 };
                return match self.cell_bits {
                    None => Ok(narrowest),
                    Some(_) => Err(SpecError::NotFor { option: "--cell-bits", backend: "dbf" }),
                };
            }
            // 16 states, "don't know", empty: 5 bits; and a 3-bit count.
            Backend::Sbf => 8,
            Backend::Kbf => 3 + kbf_code_bits(self.states),
        };
        match self.cell_bits {
            None => Ok(if needed <= 8 { 8 } else { 16 }),
            Some(bits @ (8 | 16 | 32)) if bits >= needed => Ok(bits),
            Some(bits) => Err(SpecError::CellBits { bits, needed, states: self.states }),
        }
    }

    /// m = −N ln P / ln² 2, as a float: no number of flows overflows it.
    fn cells_for(&self, fp_rate: f64) -> f64 {
        (-(self.flows as f64) * fp_rate.ln() / (LN_2 * LN_2)).ceil()
    }

    /// The cells that fit, and the number of hashes that makes the most of them.
    fn cells_in(&self, bytes: u64, cell_bits: u32) -> Result<(f64, usize), SpecError> {
        let per_line = cells_per_line(cell_bits, self.expire) as u64;
        let lines = bytes / SHARDS / LINE_BYTES as u64;
        let cells_per_shard = lines.saturating_mul(per_line);
        let least_lines = (self.hashes.unwrap_or(1) as u64).div_ceil(per_line);
        if lines < least_lines {
            let least = least_lines * SHARDS * LINE_BYTES as u64;
            return Err(SpecError::TooSmall { bytes, least });
        }
        let cells = SHARDS.saturating_mul(cells_per_shard);
        let fitting = HASHES_LIMIT.min(cells_per_shard.min(u64::from(u32::MAX)) as usize);
        let hashes = match self.hashes {
            Some(hashes) => hashes,
            None => best_hashes(cells as f64, self.flows as f64).min(fitting),
        };
        // Each hash has an equal part of a shard: what does not divide is left unused.
        let used = SHARDS * (cells_per_shard - cells_per_shard % hashes as u64);
        Ok((used as f64, hashes))
    }

    /// Rounds up to equal parts for each shard and hash, and counts what is allocated for them.
    fn whole_lines(&self, cells: f64, hashes: usize, cell_bits: u32) -> Result<Sizing, SpecError> {
        let bytes = cells * f64::from(cell_bits) / 8.0;
        if bytes > MEMORY_LIMIT_BYTES as f64 {
            return Err(SpecError::TooLarge { bytes });
        }
        let parts = SHARDS * hashes as u64;
        let cells_per_part = (cells as u64).div_ceil(parts).max(1);
        // Stores count the cells of a shard in 32 bits.
        if cells_per_part * hashes as u64 > u64::from(u32::MAX) {
            return Err(SpecError::TooManyCells { cells });
        }
        let cells_per_shard = cells_per_part * hashes as u64;
        let lines = cells_per_shard.div_ceil(cells_per_line(cell_bits, self.expire) as u64);
        let bytes = SHARDS * lines * LINE_BYTES as u64;
        if bytes > MEMORY_LIMIT_BYTES {
            return Err(SpecError::TooLarge { bytes: bytes as f64 });
        }
        Ok(self.sized(SHARDS * cells_per_shard, hashes, cell_bits, bytes))
    }

    fn exact_sizing(&self) -> Result<Sizing, SpecError> {
        if self.cell_bits.is_some() {
            return Err(SpecError::NotFor { option: "--cell-bits", backend: "exact" });
        }
        let flows_per_shard = match self.budget {
            Budget::FpRate(_) => self.flows.div_ceil(SHARDS).max(EXACT_LEAST),
            Budget::MemoryBytes(bytes) => match bytes / SHARDS / EXACT_FLOW_BYTES {
                0..EXACT_LEAST => {
                    let least = SHARDS * EXACT_LEAST * EXACT_FLOW_BYTES;
                    return Err(SpecError::TooSmall { bytes, least });
                }
                flows => flows,
            },
        };
        let bytes = flows_per_shard as f64 * (SHARDS * EXACT_FLOW_BYTES) as f64;
        if bytes > MEMORY_LIMIT_BYTES as f64 {
            return Err(SpecError::TooLarge { bytes });
        }
        let flows = SHARDS * flows_per_shard;
        Ok(self.sized(flows, 0, 8 * EXACT_FLOW_BYTES as u32, flows * EXACT_FLOW_BYTES))
    }

    pub(super) fn sized(&self, cells: u64, hashes: usize, cell_bits: u32, bytes: u64) -> Sizing {
        let bits = 8 * bytes;
        let table_bits = match self.backend {
            // For each shard, and for cells of one, two and three flows: a 16-bit mask per sum.
            Backend::Kbf => SHARDS * 3 * (1 << kbf_code_bits(self.states)) * State::LIMIT as u64,
            Backend::Exact | Backend::Dbf | Backend::Sbf | Backend::Fcf => 0,
        };
        let bits_per_flow = bits as f64 / self.flows as f64;
        Sizing { cells, hashes, cell_bits, bits, bits_per_flow, table_bits }
    }
}

/// k = round(log2 1/P), at least 1.
fn hashes_for(fp_rate: f64) -> Result<usize, SpecError> {
    let hashes = (-fp_rate.log2()).round().max(1.0);
    if hashes > HASHES_LIMIT as f64 { Err(SpecError::FpRate(fp_rate)) } else { Ok(hashes as usize) }
}

/// The k that minimises (1−e^{−kN/m})^k: one of the two whole numbers next to (m/N) ln 2.
fn best_hashes(cells: f64, flows: f64) -> usize {
    let ideal = cells / flows * LN_2;
    let fp_rate = |k: f64| (1.0 - (-k * flows / cells).exp()).powf(k);
    let (low, high) = (ideal.floor().max(1.0), ideal.ceil().max(1.0));
    let best = if fp_rate(low) <= fp_rate(high) { low } else { high };
    best.min(HASHES_LIMIT as f64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKENDS: [Backend; 5] =
        [Backend::Kbf, Backend::Sbf, Backend::Dbf, Backend::Exact, Backend::Fcf];

    fn kbf(flows: u64, budget: Budget) -> StoreSpec {
        StoreSpec { flows, budget, ..StoreSpec::new(Backend::Kbf, 6) }
    }

    fn message(spec: StoreSpec) -> String {
        spec.sizing().expect_err("no such store").to_string()
    }

    #[test]
    fn a_rate_buys_what_the_formulas_say() {
        for (fp_rate, cells_per_flow, hashes) in
            [(0.1, 4.7925, 3), (0.01, 9.5850, 7), (0.001, 14.3775, 10)]
        {
            let sizing = kbf(1_000_000, Budget::FpRate(fp_rate)).sizing().unwrap();
            assert_eq!((sizing.hashes, sizing.cell_bits), (hashes, 8));
            let cells = sizing.cells as f64 / 1e6;
            assert!((cells_per_flow..cells_per_flow + 3e-4).contains(&cells), "{cells}");
            // 48 cells in 64 bytes.
            assert!((sizing.bits_per_flow / (cells * 512.0 / 48.0) - 1.0).abs() < 1e-3);
            assert_eq!(sizing.cells % (SHARDS * hashes as u64), 0);
        }
    }

    #[test]
    fn cells_are_the_narrowest_that_fit_unless_told() {
        let bits = |states, cell_bits| {
            let spec = StoreSpec { cell_bits, ..StoreSpec::new(Backend::Kbf, states) };
            spec.sizing().map(|sizing| sizing.cell_bits)
        };
        assert_eq!(bits(6, None), Ok(8));
        assert_eq!(bits(7, None), Ok(16));
        assert_eq!(bits(16, None), Ok(16));
        assert_eq!(bits(16, Some(32)), Ok(32));
        assert!(bits(7, Some(8)).is_err_and(|error| error.to_string().contains("at least 9")));
        assert!(bits(6, Some(12)).is_err());
    }

    #[test]
    fn memory_is_used_up_and_never_exceeded() {
        for bytes in [1024, 5000, 1 << 20, 12_345_678] {
            for flows in [1, 1000, 1_000_000_000] {
                let sizing = kbf(flows, Budget::MemoryBytes(bytes)).sizing().unwrap();
                assert!(sizing.bits <= 8 * bytes, "{sizing:?}");
                let spare = bytes - sizing.bits / 8;
                // At most a line a shard is left, and the cells that k does not divide.
                assert!(spare < 2 * SHARDS * LINE_BYTES as u64, "{spare} of {bytes}");
            }
        }
        let best = kbf(1_000_000, Budget::MemoryBytes(12_800_000)).sizing().unwrap();
        assert_eq!(best.hashes, 7);
    }

    #[test]
    fn wishes_that_cannot_be_met_are_refused_with_a_reason() {
        for fp_rate in [0.0, 1.0, -0.1, 1.5, f64::NAN, f64::INFINITY, 1e-300] {
            assert!(message(kbf(1000, Budget::FpRate(fp_rate))).starts_with("--fp-rate"));
        }
        assert!(message(kbf(0, Budget::FpRate(0.01))).starts_with("--flows 0"));
        let tiny = message(kbf(1000, Budget::MemoryBytes(10)));
        assert!(tiny.contains("10B") && tiny.contains("1024B"), "{tiny}");
        assert!(kbf(1000, Budget::MemoryBytes(1024)).sizing().is_ok());
        for budget in [Budget::MemoryBytes(10_000_000_000_000), Budget::MemoryBytes(u64::MAX)] {
            assert!(message(kbf(1000, budget)).contains("the limit is 64 GiB"));
        }
        for flows in [1 << 40, u64::MAX] {
            for backend in BACKENDS {
                let spec = StoreSpec { flows, ..StoreSpec::new(backend, 6) };
                assert!(message(spec).contains("the limit is 64 GiB"), "{flows} {backend:?}");
            }
        }
        let dbf = StoreSpec { cell_bits: Some(8), ..StoreSpec::new(Backend::Dbf, 6) };
        assert!(message(dbf).contains("--cell-bits does not apply to --backend dbf"));
        let exact = StoreSpec { hashes: Some(3), ..StoreSpec::new(Backend::Exact, 6) };
        assert!(message(exact).contains("--hashes does not apply to --backend exact"));
        let many = StoreSpec { hashes: Some(33), ..kbf(1, Budget::FpRate(0.5)) };
        assert!(message(many).contains("1 to 32"));
        assert!(message(StoreSpec::new(Backend::Kbf, 17)).contains("17 states"));
    }

    #[test]
    fn the_least_that_is_named_works() {
        for backend in BACKENDS {
            for hashes in [None, Some(32)] {
                let takes_hashes = !matches!(backend, Backend::Exact | Backend::Fcf);
                let hashes = hashes.filter(|_| takes_hashes);
                let spec = |bytes| StoreSpec {
                    hashes,
                    budget: Budget::MemoryBytes(bytes),
                    ..StoreSpec::new(backend, 16)
                };
                let Err(SpecError::TooSmall { least, .. }) = spec(10).sizing() else {
                    panic!("10 bytes are too small for {backend:?}")
                };
                assert!(spec(least).sizing().is_ok(), "{backend:?} {hashes:?}");
                assert!(spec(least - 1).sizing().is_err(), "{backend:?} {hashes:?}");
            }
        }
    }
}
