//! From a wish to cells, hashes and bits.

use std::f64::consts::LN_2;

use super::layout::{best_hashes, most_hashes};
use super::{
    BHBF_CELL_BITS, BHBF_TABLE_COUNTS, BLOCKED_LINES_LIMIT, Backend, Budget, EXACT_FLOW_BYTES,
    Expire, HASHES_LIMIT, LINE_BYTES, LayoutKind, MEMORY_LIMIT_BYTES, RecycleAt, Sizing, SpecError,
    StoreSpec, cells_per_line, kbf_code_bits, slot_bits,
};
use crate::digest::FlowId;
use crate::state::State;

/// More hashes than this a bhbf takes only when told.
const BHBF_HASHES_MAX: f64 = 8.0;
const SHARDS: u64 = FlowId::SHARDS as u64;
/// The exact store's index needs an empty bucket.
const EXACT_LEAST: u64 = 2;

impl StoreSpec {
    /// What it takes, or why it cannot be.
    pub fn sizing(&self) -> Result<Sizing, SpecError> {
        if let Some(gate) = &self.gate {
            return gate.sizing_with(self);
        }
        self.check()?;
        if self.backend == Backend::Exact {
            return self.exact_sizing();
        }
        if self.backend == Backend::Fcf {
            return self.fcf_sizing();
        }
        let cell_bits = self.resolve_cell_bits()?;
        self.check_layout(cell_bits)?;
        let (cells, hashes) = match self.budget {
            Budget::FpRate(p) => {
                let cells = self.cells_for(p);
                (cells, self.hashes.map_or_else(|| self.hashes_for(p, cells, cell_bits), Ok)?)
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
        match self.recycle_at {
            Some(at) if self.expire.recycles() => at.check()?,
            Some(_) => {
                return Err(SpecError::NotRecycling {
                    option: "--recycle-at",
                    with: "recycle or two-phase",
                });
            }
            None => {}
        }
        if self.backend == Backend::Dbf && !self.dbf_counters && self.expire == Expire::None {
            return Err(SpecError::NeverEmptied);
        }
        Ok(())
    }

    fn check_layout(&self, cell_bits: u32) -> Result<(), SpecError> {
        let LayoutKind::Blocked(lines) = self.layout else { return Ok(()) };
        if lines == 0 || lines > BLOCKED_LINES_LIMIT {
            return Err(SpecError::Layout);
        }
        let most = most_hashes(self.layout, cells_per_line(cell_bits, self.expire));
        match self.hashes {
            Some(hashes) if hashes > most => {
                Err(SpecError::HashesInLines { hashes, layout: self.layout.name(), most })
            }
            _ => Ok(()),
        }
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
            Backend::Bhbf => {
                return match self.cell_bits {
                    None | Some(BHBF_CELL_BITS) => Ok(BHBF_CELL_BITS),
                    Some(bits) => Err(SpecError::BhbfCellBits(bits)),
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

    /// k = round(log2 1/P), at least 1, for spread cells; else the best for so many cells.
    fn hashes_for(&self, fp_rate: f64, cells: f64, cell_bits: u32) -> Result<usize, SpecError> {
        let hashes = (-fp_rate.log2()).round().max(1.0);
        if hashes > HASHES_LIMIT as f64 {
            return Err(SpecError::FpRate(fp_rate));
        }
        let per_line = cells_per_line(cell_bits, self.expire);
        Ok(match self.layout {
            LayoutKind::Spread => hashes as usize,
            layout => best_hashes(layout, cells, self.flows as f64, per_line),
        })
    }

    /// The cells that fit, and the number of hashes that makes the most of them.
    fn cells_in(&self, bytes: u64, cell_bits: u32) -> Result<(f64, usize), SpecError> {
        let per_line = cells_per_line(cell_bits, self.expire) as u64;
        let arrays = SHARDS * self.expire.phases();
        let lines = bytes / arrays / LINE_BYTES as u64;
        let cells_per_array = lines.saturating_mul(per_line);
        let least_lines = match self.layout {
            LayoutKind::Spread => (self.hashes.unwrap_or(1) as u64).div_ceil(per_line),
            LayoutKind::Blocked(lines) => lines.min(self.hashes.unwrap_or(lines)) as u64,
        };
        if lines < least_lines {
            let least = least_lines * arrays * LINE_BYTES as u64;
            return Err(SpecError::TooSmall { bytes, least });
        }
        let cells = arrays.saturating_mul(cells_per_array);
        let fitting = HASHES_LIMIT.min(cells_per_array.min(u64::from(u32::MAX)) as usize);
        let hashes = match self.hashes {
            Some(hashes) => hashes,
            None => self.best_hashes(cells as f64, per_line as usize).min(fitting),
        };
        let unused = match self.layout {
            // Each hash has an equal part of an array: what does not divide is left unused.
            LayoutKind::Spread => cells_per_array % hashes as u64,
            LayoutKind::Blocked(_) => 0,
        };
        Ok(((arrays * (cells_per_array - unused)) as f64, hashes))
    }

    /// The number of hashes that errs least with so many cells.
    fn best_hashes(&self, cells: f64, per_line: usize) -> usize {
        let flows = self.flows as f64;
        match self.backend {
            Backend::Bhbf => bhbf_hashes(cells / flows).min(most_hashes(self.layout, per_line)),
            _ => best_hashes(self.layout, cells, flows, per_line),
        }
    }

    /// Rounds up to equal parts for each array and hash, or to whole lines, and counts what is
    /// allocated for them.
    fn whole_lines(&self, cells: f64, hashes: usize, cell_bits: u32) -> Result<Sizing, SpecError> {
        let bytes = cells * f64::from(cell_bits) / 8.0;
        if bytes > MEMORY_LIMIT_BYTES as f64 {
            return Err(SpecError::TooLarge { bytes });
        }
        let per_line = cells_per_line(cell_bits, self.expire);
        let arrays = SHARDS * self.expire.phases();
        let (cells_per_array, lines) = match self.layout {
            LayoutKind::Spread => {
                let cells_per_part = (cells as u64).div_ceil(arrays * hashes as u64).max(1);
                let cells_per_array = cells_per_part * hashes as u64;
                (cells_per_array, cells_per_array.div_ceil(per_line as u64))
            }
            LayoutKind::Blocked(_) => {
                let lines = (cells as u64).div_ceil(arrays * per_line as u64);
                let lines = lines.max(self.layout.lines(hashes) as u64);
                (lines * per_line as u64, lines)
            }
        };
        // Layouts number cells in 32 bits.
        let most_lines = 1 << (u32::BITS - slot_bits(per_line));
        if lines > most_lines {
            let limit = (arrays * most_lines * per_line as u64) as f64;
            return Err(SpecError::TooManyCells { cells, limit });
        }
        let bytes = arrays * lines * LINE_BYTES as u64;
        if bytes > MEMORY_LIMIT_BYTES {
            return Err(SpecError::TooLarge { bytes: bytes as f64 });
        }
        let sized = self.sized(arrays * cells_per_array, hashes, cell_bits, bytes);
        let recycle_at = self.expire.recycles().then(|| self.resolve_recycle_at(&sized));
        Ok(Sizing { cells_per_line: per_line, recycle_at, ..sized })
    }

    /// As full as the flows it is made for make it; each of two halves is made for half of them.
    fn resolve_recycle_at(&self, sized: &Sizing) -> RecycleAt {
        let load = sized.hashes as f64 * self.flows as f64 / sized.cells as f64;
        self.recycle_at.unwrap_or(RecycleAt::Fill(-(-load).exp_m1()))
    }

    fn exact_sizing(&self) -> Result<Sizing, SpecError> {
        if self.cell_bits.is_some() {
            return Err(SpecError::NotFor { option: "--cell-bits", backend: "exact" });
        }
        if self.expire.recycles() {
            let option = "--expire recycle or two-phase";
            return Err(SpecError::NotFor { option, backend: "exact" });
        }
        if self.layout != LayoutKind::Spread {
            return Err(SpecError::NotFor { option: "--layout", backend: "exact" });
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
            // One for all shards: a mask for each count, none included, and each 12-bit sum.
            Backend::Bhbf => (u64::from(BHBF_TABLE_COUNTS) + 1) * (1 << 12) * State::LIMIT as u64,
            Backend::Exact | Backend::Dbf | Backend::Sbf | Backend::Fcf => 0,
        };
        let bits_per_flow = bits as f64 / self.flows as f64;
        Sizing {
            cells,
            hashes,
            cell_bits,
            cells_per_line: 0,
            layout: self.layout,
            phases: self.expire.phases(),
            recycle_at: None,
            retain: self.retain,
            bits,
            gate_bits: 0,
            bits_per_flow,
            table_bits,
        }
    }
}

/// k = 2 m/N: a cell with up to four flows still rules most codes out, so a bhbf does best with two
/// flows on a cell, where a Bloom filter has ln 2. That is what the sum over mask sizes in
/// `model::bhbf` comes to for any number of states (`tests/model/filters.rs` holds it to that).
/// From 4 cells a flow on, where six states err below 3e-5, more hashes would only cost time.
fn bhbf_hashes(cells_per_flow: f64) -> usize {
    (2.0 * cells_per_flow).round().clamp(1.0, BHBF_HASHES_MAX) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKENDS: [Backend; 6] =
        [Backend::Kbf, Backend::Bhbf, Backend::Sbf, Backend::Dbf, Backend::Exact, Backend::Fcf];

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
        let bhbf = |cell_bits| StoreSpec { cell_bits, ..StoreSpec::new(Backend::Bhbf, 2) };
        assert_eq!([None, Some(16)].map(|bits| bhbf(bits).sizing().unwrap().cell_bits), [16, 16]);
        assert!(message(bhbf(Some(32))).starts_with("--cell-bits 32: bhbf has cells of 16 bits"));
    }

    const LAYOUTS: [LayoutKind; 3] =
        [LayoutKind::Spread, LayoutKind::Blocked(1), LayoutKind::Blocked(3)];
    const EXPIRES: [Expire; 3] = [Expire::Timer, Expire::Recycle, Expire::TwoPhase];

    /// Every layout with every way to expire.
    fn variants(spec: StoreSpec) -> impl Iterator<Item = StoreSpec> {
        let of = move |(layout, expire)| StoreSpec { layout, expire, ..spec.clone() };
        LAYOUTS.into_iter().flat_map(|layout| EXPIRES.map(|expire| (layout, expire))).map(of)
    }

    #[test]
    fn memory_is_used_up_and_never_exceeded() {
        for bytes in [6144, 10_000, 1 << 20, 12_345_678] {
            for flows in [1, 1000, 1_000_000_000] {
                for spec in variants(kbf(flows, Budget::MemoryBytes(bytes))) {
                    let sizing = spec.sizing().unwrap();
                    assert!(sizing.bits <= 8 * bytes, "{sizing:?}");
                    let spare = bytes - sizing.bits / 8;
                    // At most a line an array is left, and the cells that k does not divide.
                    let line_each = SHARDS * sizing.phases * LINE_BYTES as u64;
                    assert!(spare < 2 * line_each, "{spare} of {bytes}, {spec:?}");
                }
            }
        }
        let best = kbf(1_000_000, Budget::MemoryBytes(12_800_000));
        assert_eq!(best.sizing().unwrap().hashes, 7);
        for (bytes, expire, hashes) in [
            (5_000_000, Expire::Timer, 4),
            (7_000_000, Expire::Timer, 6),
            (7_000_000, Expire::None, 7),
            (12_800_000, Expire::Timer, 8),
        ] {
            let budget = Budget::MemoryBytes(bytes);
            let bhbf = StoreSpec { expire, budget, backend: Backend::Bhbf, ..best.clone() };
            assert_eq!(bhbf.sizing().unwrap().hashes, hashes, "{bytes} {expire:?}");
        }
    }

    /// A store that recycles does so with the flows that it is made for, however it got its size.
    #[test]
    fn stores_are_full_with_the_flows_they_are_made_for() {
        for budget in [Budget::FpRate(0.01), Budget::FpRate(0.1), Budget::MemoryBytes(2_000_000)] {
            for spec in variants(kbf(100_000, budget)) {
                let sizing = spec.sizing().unwrap();
                let load = sizing.hashes as f64 * 100_000.0 / sizing.cells as f64;
                match sizing.recycle_at {
                    None => assert_eq!(spec.expire, Expire::Timer),
                    Some(RecycleAt::Fill(fill)) => {
                        assert!((fill + (-load).exp() - 1.0).abs() < 1e-12)
                    }
                    Some(at) => panic!("{at}"),
                }
                assert_eq!(sizing.phases, if spec.expire == Expire::TwoPhase { 2 } else { 1 });
            }
        }
        // As many cells, whatever the layout and the number of arrays, but for rounding.
        for spec in variants(kbf(1_000_000, Budget::FpRate(0.01))) {
            let cells = spec.sizing().unwrap().cells as f64 / 1e6;
            assert!((cells / 9.585 - 1.0).abs() < 2e-3, "{cells}, {spec:?}");
        }
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
                let one_shape = matches!(backend, Backend::Exact | Backend::Fcf);
                let hashes = hashes.filter(|_| !one_shape);
                let variants = variants(StoreSpec { hashes, ..StoreSpec::new(backend, 16) });
                // exact and fcf have no layout; and in one line there is no room for 32 cells of
                // 16 bits with stamps.
                let crowded = |spec: &StoreSpec| hashes.is_some() && spec.layout.lines(2) == 1;
                for of in variants.take(if one_shape { 1 } else { 9 }).filter(|spec| !crowded(spec))
                {
                    let spec =
                        |bytes| StoreSpec { budget: Budget::MemoryBytes(bytes), ..of.clone() };
                    let Err(SpecError::TooSmall { least, .. }) = spec(10).sizing() else {
                        panic!("10 bytes are too small for {of:?}")
                    };
                    assert!(spec(least).sizing().is_ok(), "{of:?}");
                    assert!(spec(least - 1).sizing().is_err(), "{of:?}");
                }
            }
        }
    }
}
