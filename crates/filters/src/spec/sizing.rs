//! From a specification to cells, hashes and bits: [`StoreSpec::sizing`].
//!
//! Decides how many cells and hashes a rate or a memory budget buys, asks
//! [`footprint`](super::footprint) what they take, and refuses what is beyond a limit.

use std::f64::consts::LN_2;

use super::error::Setting;
use super::footprint::{
    FCF_LOAD_PLANNED, FCF_WINDOWS, FINGERPRINTS_LEAST, FINGERPRINTS_MOST, fcf_lines, fcf_slots,
    slot_bits_for,
};
use super::layout::{best_hashes, most_hashes};
use super::{
    BHBF_CELL_BITS, BLOCKED_LINES_LIMIT, Backend, Budget, CellFormat, Expire, Footprint,
    HASHES_LIMIT, LINE_BYTES, LayoutKind, MEMORY_LIMIT_BYTES, RecycleAt, Sizing, SlotFormat,
    SpecError, Storage, StoreSpec, fcf_slots_per_line, kbf_cell_bits,
};
use crate::digest::FlowId;
use crate::state::State;

/// The most hashes that sizing chooses for a bhbf. A specification may ask for more.
const BHBF_HASHES_MAX: f64 = 8.0;
const SHARDS: u64 = FlowId::SHARDS as u64;
/// One line of each shard.
const LINES_BYTES: u64 = SHARDS * LINE_BYTES as u64;

impl StoreSpec {
    /// What it takes, or why it cannot be.
    pub fn sizing(&self) -> Result<Sizing, SpecError> {
        self.check()?;
        match self.backend.info().storage {
            Storage::Entries => self.exact_sizing(),
            Storage::Slots => self.fcf_sizing(),
            Storage::Cells => self.cell_sizing(),
        }
    }

    fn check(&self) -> Result<(), SpecError> {
        if self.flows == 0 {
            return Err(SpecError::NoFlows);
        }
        if self.stored_states() == 0 || self.states > State::LIMIT {
            return Err(SpecError::States { states: self.states });
        }
        match self.budget {
            // Written so that NaN fails too.
            Budget::FpRate(rate) if !(rate > 0.0 && rate < 1.0) => {
                return Err(SpecError::FpRate { rate });
            }
            Budget::MemoryBytes(bytes) if bytes > MEMORY_LIMIT_BYTES => {
                return Err(SpecError::TooLarge { bytes: bytes as f64 });
            }
            _ => {}
        }
        if let Some(hashes) = self.hashes {
            if self.backend == Backend::Exact {
                return Err(self.not_supported(Setting::Hashes));
            }
            if hashes == 0 || hashes > HASHES_LIMIT {
                return Err(SpecError::Hashes { hashes });
            }
        }
        match self.recycle_at {
            Some(at) if self.expire.recycles() => at.check()?,
            Some(_) => return Err(SpecError::NotRecycling { setting: Setting::RecycleAt }),
            None => {}
        }
        if self.backend == Backend::Dbf && !self.dbf_counters && self.expire == Expire::None {
            return Err(SpecError::NeverEmptied);
        }
        Ok(())
    }

    fn not_supported(&self, setting: Setting) -> SpecError {
        SpecError::NotSupported { setting, backend: self.backend }
    }

    /// Refuses the first of these settings that is given.
    fn refuse<const N: usize>(&self, settings: [Setting; N]) -> Result<(), SpecError> {
        let is_given = |setting: &Setting| match setting {
            Setting::Hashes => self.hashes.is_some(),
            Setting::CellBits => self.cell_bits.is_some(),
            Setting::Layout => self.layout != LayoutKind::Spread,
            Setting::Recycling => self.expire.recycles(),
            _ => false,
        };
        match settings.into_iter().find(is_given) {
            Some(setting) => Err(self.not_supported(setting)),
            None => Ok(()),
        }
    }

    /// Cells by the rate, or as many as memory holds.
    fn cell_sizing(&self) -> Result<Sizing, SpecError> {
        let cell_bits = self.resolve_cell_bits()?;
        // One hash, until the number of hashes is decided.
        let format = CellFormat { cell_bits, hashes: 1, layout: self.layout, expire: self.expire };
        self.check_layout(&format)?;
        let (cells, hashes) = match self.budget {
            Budget::FpRate(rate) => {
                let cells = self.cells_for(rate);
                let hashes =
                    self.hashes.map_or_else(|| self.hashes_for(rate, cells, &format), Ok)?;
                (cells, hashes)
            }
            Budget::MemoryBytes(bytes) => self.cells_in(bytes, &format)?,
        };
        self.within_limits(cells, &CellFormat { hashes, ..format })
    }

    fn check_layout(&self, format: &CellFormat) -> Result<(), SpecError> {
        let LayoutKind::Blocked(lines) = self.layout else { return Ok(()) };
        if lines == 0 || lines > BLOCKED_LINES_LIMIT {
            return Err(SpecError::Layout);
        }
        let most = most_hashes(self.layout, format.cells_per_line());
        match self.hashes {
            Some(hashes) if hashes > most => {
                Err(SpecError::HashesInLines { hashes, layout: self.layout, most })
            }
            _ => Ok(()),
        }
    }

    fn resolve_cell_bits(&self) -> Result<u32, SpecError> {
        let has_halves = self.expire == Expire::Timer;
        let narrowest = self.backend.narrowest_cell_bits(self.coded_states(), has_halves);
        let Some(bits) = self.cell_bits else {
            let without_counters = self.backend == Backend::Dbf && !self.dbf_counters;
            return Ok(if without_counters { 1 } else { narrowest });
        };
        let needed = match self.backend {
            Backend::Bhbf if bits == BHBF_CELL_BITS => return Ok(bits),
            Backend::Bhbf => return Err(SpecError::BhbfCellBits { bits }),
            Backend::Kbf => kbf_cell_bits(self.coded_states()),
            Backend::Sbf => narrowest,
            _ => return Err(self.not_supported(Setting::CellBits)),
        };
        match bits {
            8 | 16 | 32 if bits >= needed => Ok(bits),
            _ => Err(SpecError::CellBits { bits, needed, states: self.states }),
        }
    }

    /// m = −N ln P / ln² 2, as a float: no number of flows overflows it. Each of two halves takes as
    /// many, as all flows can send packets within one epoch. A lookup in both keeps the rate: an
    /// absent flow found in either would be found in one filter of all flows.
    fn cells_for(&self, fp_rate: f64) -> f64 {
        (-(self.flows as f64) * fp_rate.ln() / (LN_2 * LN_2)).ceil()
    }

    /// k = round(log2 1/P), at least 1, for spread cells; else the best for this many cells.
    fn hashes_for(&self, rate: f64, cells: f64, format: &CellFormat) -> Result<usize, SpecError> {
        let hashes = (-rate.log2()).round().max(1.0);
        if hashes > HASHES_LIMIT as f64 {
            return Err(SpecError::FpRate { rate });
        }
        Ok(match self.layout {
            LayoutKind::Spread => hashes as usize,
            LayoutKind::Blocked(lines) if self.decodes_jointly() => {
                joint_hashes(hashes as usize, lines)
                    .min(most_hashes(self.layout, format.cells_per_line()))
            }
            layout => best_hashes(layout, cells, self.flows as f64, format.cells_per_line()),
        })
    }

    /// The cells that fit, and the number of hashes that makes the most of them.
    fn cells_in(&self, bytes: u64, format: &CellFormat) -> Result<(f64, usize), SpecError> {
        let (bits, per_line) = (8.0 * bytes as f64, format.cells_per_line());
        let lines = format.lines_in(bits);
        let least_lines = match self.layout {
            LayoutKind::Spread => self.hashes.unwrap_or(1).div_ceil(per_line),
            LayoutKind::Blocked(lines) => lines.min(self.hashes.unwrap_or(lines)),
        };
        let too_small = SpecError::TooSmall {
            bytes,
            least: least_lines as u64 * self.expire.phases() * LINES_BYTES,
        };
        if lines < least_lines as f64 {
            return Err(too_small);
        }
        let cells_per_array = lines * per_line as f64;
        let hashes = self.hashes.unwrap_or_else(|| {
            let fitting = HASHES_LIMIT.min(cells_per_array as usize);
            self.best_hashes(format.arrays() * cells_per_array, per_line).min(fitting)
        });
        let footprint = CellFormat { hashes, ..*format }.in_bits(bits).ok_or(too_small)?;
        Ok((footprint.cells, hashes))
    }

    /// The number of hashes with the lowest error rate for this many cells.
    fn best_hashes(&self, cells: f64, per_line: usize) -> usize {
        let flows = self.flows as f64;
        match self.backend {
            Backend::Bhbf => bhbf_hashes(cells / flows).min(most_hashes(self.layout, per_line)),
            Backend::Kbf if self.decodes_jointly() => match self.layout {
                LayoutKind::Spread => best_hashes(self.layout, cells, flows, per_line),
                LayoutKind::Blocked(lines) => {
                    let spread = best_hashes(LayoutKind::Spread, cells, flows, per_line);
                    joint_hashes(spread, lines).min(most_hashes(self.layout, per_line))
                }
            },
            _ => best_hashes(self.layout, cells, flows, per_line),
        }
    }

    /// Whether it is a kbf that decodes all cells of a flow together.
    fn decodes_jointly(&self) -> bool {
        self.backend == Backend::Kbf && self.kbf_decode().is_joint()
    }

    /// How many states need a code of a kbf: with joint decoding, those that can be in the store.
    fn coded_states(&self) -> usize {
        let is_joint = self.backend == Backend::Kbf && self.kbf_decode().is_joint();
        if is_joint { self.stored_states() } else { self.states }
    }

    /// The sizing for this many cells, if it is within all limits.
    fn within_limits(&self, cells: f64, format: &CellFormat) -> Result<Sizing, SpecError> {
        let bytes = cells * f64::from(format.cell_bits) / 8.0;
        if bytes > MEMORY_LIMIT_BYTES as f64 {
            return Err(SpecError::TooLarge { bytes });
        }
        let (footprint, per_line) = (format.of_cells(cells), format.cells_per_line());
        // A layout addresses the cells of an array with 32 bits: a line, and a cell of the line.
        let most_lines = f64::from(u32::BITS - per_line.next_power_of_two().ilog2()).exp2();
        if format.lines_in(footprint.bits) > most_lines {
            let limit = format.arrays() * most_lines * per_line as f64;
            return Err(SpecError::TooManyCells { cells, limit });
        }
        let sized = self.sized(&footprint)?;
        let recycle_at = self.expire.recycles().then(|| self.resolve_recycle_at(&sized));
        Ok(Sizing { cells_per_line: per_line, recycle_at, ..sized })
    }

    /// As full as the planned number of flows makes it; each of two halves is for half of them.
    fn resolve_recycle_at(&self, sized: &Sizing) -> RecycleAt {
        let load = sized.hashes as f64 * self.flows as f64 / sized.cells as f64;
        self.recycle_at.unwrap_or(RecycleAt::Fill(-(-load).exp_m1()))
    }

    /// Entries for the planned number of flows, or as many as memory holds.
    fn exact_sizing(&self) -> Result<Sizing, SpecError> {
        self.refuse([Setting::CellBits, Setting::Recycling, Setting::Layout])?;
        let footprint = match self.budget {
            Budget::FpRate(_) => Footprint::of_entries(self.flows as f64),
            Budget::MemoryBytes(bytes) => {
                let footprint = Footprint::of_entries_in(8.0 * bytes as f64);
                if footprint.bits > 8.0 * bytes as f64 {
                    let least = (footprint.bits / 8.0) as u64;
                    return Err(SpecError::TooSmall { bytes, least });
                }
                footprint
            }
        };
        self.sized(&footprint)
    }

    /// Slots by the rate, or as wide as memory allows.
    fn fcf_sizing(&self) -> Result<Sizing, SpecError> {
        self.refuse([Setting::Hashes, Setting::CellBits, Setting::Layout, Setting::Recycling])?;
        let lines = match self.budget {
            Budget::FpRate(rate) => self.fcf_lines_for(rate)?,
            Budget::MemoryBytes(bytes) => self.fcf_lines_in(bytes)?,
        };
        // Bits that a line has left over make the slots wider, and the fingerprints longer.
        let needed = (fcf_slots(self.flows as f64) / lines).ceil().max(1.0) as usize;
        let slot_bits = SlotFormat::widest(needed, self.stored_states(), self.expire).slot_bits();
        let fitting = fcf_slots_per_line(slot_bits, self.expire);
        self.sized(&SlotFormat::widest(fitting, self.stored_states(), self.expire).of_lines(lines))
    }

    /// Lines of a shard of `fcf` with slots of this width, if they are within the limit.
    fn fcf_lines_of(&self, slot_bits: u32) -> Result<f64, SpecError> {
        let lines = fcf_lines(self.flows as f64, fcf_slots_per_line(slot_bits, self.expire));
        let bytes = lines * LINES_BYTES as f64;
        if bytes > MEMORY_LIMIT_BYTES as f64 {
            return Err(SpecError::TooLarge { bytes });
        }
        Ok(lines)
    }

    /// 2 · 0.93 / fingerprints ≤ rate: each window has one slot in which a flow would be found.
    fn fcf_lines_for(&self, rate: f64) -> Result<f64, SpecError> {
        let compared = FCF_WINDOWS as f64 * FCF_LOAD_PLANNED;
        let fingerprints = (compared / rate).ceil();
        if fingerprints > FINGERPRINTS_MOST as f64 {
            // Rounded up to the two digits that are shown.
            let least = (compared / FINGERPRINTS_MOST as f64 * 1e11).ceil() / 1e11;
            return Err(SpecError::FingerprintRate { rate, least });
        }
        let fingerprints = (fingerprints as u64).max(FINGERPRINTS_LEAST);
        self.fcf_lines_of(slot_bits_for(fingerprints, self.stored_states()))
    }

    fn fcf_lines_in(&self, bytes: u64) -> Result<f64, SpecError> {
        let least = self.fcf_lines_of(slot_bits_for(FINGERPRINTS_LEAST, self.stored_states()))?;
        let lines = (bytes / LINES_BYTES) as f64;
        if lines < least {
            return Err(SpecError::TooSmall { bytes, least: least as u64 * LINES_BYTES });
        }
        Ok(lines)
    }

    /// A footprint in integers, if it is within the memory limit.
    fn sized(&self, footprint: &Footprint) -> Result<Sizing, SpecError> {
        let bytes = footprint.bits / 8.0;
        if bytes > MEMORY_LIMIT_BYTES as f64 {
            return Err(SpecError::TooLarge { bytes });
        }
        let table_bits = (self.backend.info().table_bits)(self.states);
        Ok(Sizing {
            flows: self.flows,
            cells: footprint.cells as u64,
            hashes: footprint.hashes,
            cell_bits: footprint.cell_bits,
            cells_per_line: 0,
            layout: self.layout,
            phases: self.expire.phases(),
            recycle_at: None,
            retain: self.retain,
            bits: footprint.bits as u64,
            bits_per_flow: footprint.bits / self.flows as f64,
            table_bits,
        })
    }
}

/// k = 2 m/N: a cell with up to four flows still rules most codes out, so a bhbf does best with two
/// flows on a cell, where a Bloom filter has ln 2. That is what the sum over mask sizes in
/// `acsm_model::bhbf` comes to for any number of states (the tests of the model hold it to that).
/// From 4 cells per flow on, where six states err below 3e-5, more hashes would only cost time.
fn bhbf_hashes(cells_per_flow: f64) -> usize {
    (2.0 * cells_per_flow).round().clamp(1.0, BHBF_HASHES_MAX) as usize
}

/// In joint decoding all cells of a flow must agree, so more of them are better than the fewest false
/// positives of cells alone would have it: as many as spread, the same number in each line.
fn joint_hashes(spread: usize, lines: usize) -> usize {
    (spread - spread % lines).max(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::fcf_fingerprints;

    fn kbf(flows: u64, budget: Budget) -> StoreSpec {
        StoreSpec { flows, budget, ..StoreSpec::new(Backend::Kbf, 6) }
    }

    fn error(spec: StoreSpec) -> SpecError {
        spec.sizing().expect_err("no such store")
    }

    #[test]
    fn a_rate_buys_what_the_formulas_say() {
        for (fp_rate, cells_per_flow, hashes) in
            [(0.1, 4.7925, 3), (0.01, 9.5850, 7), (0.001, 14.3775, 10)]
        {
            // In 64 bytes 30 cells and as many in the other half, or 48 with stamps.
            for (expire, cells_per_line) in [(Expire::Timer, 30.0), (Expire::Stamps, 48.0)] {
                let of = kbf(1_000_000, Budget::FpRate(fp_rate));
                let sizing = StoreSpec { expire, ..of }.sizing().unwrap();
                assert_eq!((sizing.hashes, sizing.cell_bits), (hashes, 8));
                let cells = sizing.cells as f64 / 1e6;
                assert!((cells_per_flow..cells_per_flow + 3e-4).contains(&cells), "{cells}");
                assert!(
                    (sizing.bits_per_flow / (cells * 512.0 / cells_per_line) - 1.0).abs() < 1e-3
                );
                assert_eq!(sizing.cells % (SHARDS * hashes as u64), 0);
            }
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
        assert_eq!(bits(7, Some(8)), Err(SpecError::CellBits { bits: 8, needed: 9, states: 7 }));
        assert!(bits(6, Some(12)).is_err());
        let bhbf = |cell_bits| StoreSpec { cell_bits, ..StoreSpec::new(Backend::Bhbf, 2) };
        assert_eq!([None, Some(16)].map(|bits| bhbf(bits).sizing().unwrap().cell_bits), [16, 16]);
        assert_eq!(error(bhbf(Some(32))), SpecError::BhbfCellBits { bits: 32 });
    }

    const LAYOUTS: [LayoutKind; 3] =
        [LayoutKind::Spread, LayoutKind::Blocked(1), LayoutKind::Blocked(3)];
    const EXPIRES: [Expire; 4] = [Expire::Timer, Expire::Stamps, Expire::Recycle, Expire::TwoPhase];

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
                    // At most one line per array is left, and the cells that k does not divide.
                    let line_each = SHARDS * sizing.phases * LINE_BYTES as u64;
                    assert!(spare < 2 * line_each, "{spare} of {bytes}, {spec:?}");
                }
            }
        }
        let best =
            StoreSpec { expire: Expire::Stamps, ..kbf(1_000_000, Budget::MemoryBytes(12_800_000)) };
        assert_eq!(best.sizing().unwrap().hashes, 7);
        for (bytes, expire, hashes) in [
            (5_000_000, Expire::Stamps, 4),
            (7_000_000, Expire::Stamps, 6),
            (7_000_000, Expire::None, 7),
            (12_800_000, Expire::Stamps, 8),
            (12_800_000, Expire::Timer, 6),
        ] {
            let budget = Budget::MemoryBytes(bytes);
            let bhbf = StoreSpec { expire, budget, backend: Backend::Bhbf, ..best.clone() };
            assert_eq!(bhbf.sizing().unwrap().hashes, hashes, "{bytes} {expire:?}");
        }
    }

    /// A store that recycles does so with the planned number of flows, however it got its size.
    #[test]
    fn stores_recycle_when_they_hold_the_planned_flows() {
        for budget in [Budget::FpRate(0.01), Budget::FpRate(0.1), Budget::MemoryBytes(2_000_000)] {
            for spec in variants(kbf(100_000, budget)) {
                let sizing = spec.sizing().unwrap();
                let load = sizing.hashes as f64 * 100_000.0 / sizing.cells as f64;
                match sizing.recycle_at {
                    None => assert!(spec.expire.is_timed()),
                    Some(RecycleAt::Fill(fill)) => {
                        assert!((fill + (-load).exp() - 1.0).abs() < 1e-12)
                    }
                    Some(at) => panic!("{at}"),
                }
                assert_eq!(sizing.phases, if spec.expire == Expire::TwoPhase { 2 } else { 1 });
            }
        }
        // As many cells, whatever the layout and the number of arrays, but for rounding; of halves,
        // in each.
        for spec in variants(kbf(1_000_000, Budget::FpRate(0.01))) {
            let cells = spec.sizing().unwrap().cells as f64 / 1e6;
            assert!((cells / 9.585 - 1.0).abs() < 2e-3, "{cells}, {spec:?}");
        }
    }

    /// Each half is for all flows: 9.6 cells, of 8 bits for instance 30 with as many others in a line.
    #[test]
    fn halves_take_twice_the_cells_and_no_stamps() {
        for (backend, bits_per_flow) in [
            (Backend::Dbf, 81.8),
            (Backend::Sbf, 163.6),
            (Backend::Kbf, 163.6),
            (Backend::Bhbf, 327.2),
        ] {
            let spec = StoreSpec { expire: Expire::Timer, ..StoreSpec::new(backend, 6) };
            let sizing = spec.sizing().unwrap();
            assert!((sizing.bits_per_flow / bits_per_flow - 1.0).abs() < 2e-3, "{sizing:?}");
            assert_eq!((sizing.phases, sizing.recycle_at), (1, None));
        }
        // Stores without cells have a stamp for each flow either way.
        for backend in [Backend::Exact, Backend::Fcf] {
            let spec = |expire| StoreSpec { expire, ..StoreSpec::new(backend, 6) };
            assert_eq!(spec(Expire::Timer).sizing(), spec(Expire::Stamps).sizing());
        }
    }

    #[test]
    fn impossible_specifications_are_refused_with_what_is_wrong() {
        for rate in [0.0, 1.0, -0.1, 1.5, f64::INFINITY, 1e-300] {
            assert_eq!(error(kbf(1000, Budget::FpRate(rate))), SpecError::FpRate { rate });
        }
        assert!(matches!(error(kbf(1000, Budget::FpRate(f64::NAN))), SpecError::FpRate { .. }));
        assert_eq!(error(kbf(0, Budget::FpRate(0.01))), SpecError::NoFlows);
        let tiny = error(kbf(1000, Budget::MemoryBytes(10)));
        assert_eq!(tiny, SpecError::TooSmall { bytes: 10, least: 1024 });
        assert!(kbf(1000, Budget::MemoryBytes(1024)).sizing().is_ok());
        let is_too_large = |spec| matches!(error(spec), SpecError::TooLarge { .. });
        for budget in [Budget::MemoryBytes(10_000_000_000_000), Budget::MemoryBytes(u64::MAX)] {
            assert!(is_too_large(kbf(1000, budget)));
        }
        for flows in [1 << 40, u64::MAX] {
            for backend in Backend::ALL {
                let spec = StoreSpec { flows, ..StoreSpec::new(backend, 6) };
                assert!(is_too_large(spec), "{flows} {backend:?}");
            }
        }
        let not_supported = |backend, setting| SpecError::NotSupported { setting, backend };
        let dbf = StoreSpec { cell_bits: Some(8), ..StoreSpec::new(Backend::Dbf, 6) };
        assert_eq!(error(dbf), not_supported(Backend::Dbf, Setting::CellBits));
        let exact = StoreSpec { hashes: Some(3), ..StoreSpec::new(Backend::Exact, 6) };
        assert_eq!(error(exact), not_supported(Backend::Exact, Setting::Hashes));
        let many = StoreSpec { hashes: Some(33), ..kbf(1, Budget::FpRate(0.5)) };
        assert_eq!(error(many), SpecError::Hashes { hashes: 33 });
        assert_eq!(error(StoreSpec::new(Backend::Kbf, 17)), SpecError::States { states: 17 });
    }

    #[test]
    fn the_smallest_budget_that_an_error_names_works() {
        for backend in Backend::ALL {
            for hashes in [None, Some(32)] {
                let one_shape = matches!(backend, Backend::Exact | Backend::Fcf);
                let hashes = hashes.filter(|_| !one_shape);
                let variants = variants(StoreSpec { hashes, ..StoreSpec::new(backend, 16) });
                // exact and fcf have no layout; and in one line there is no room for 32 cells of
                // 16 bits with stamps.
                let crowded = |spec: &StoreSpec| hashes.is_some() && spec.layout.lines(2) == 1;
                for of in
                    variants.take(if one_shape { 1 } else { 12 }).filter(|spec| !crowded(spec))
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

    fn fcf(flows: u64, budget: Budget, expire: Expire) -> StoreSpec {
        StoreSpec { flows, budget, expire, ..StoreSpec::new(Backend::Fcf, 6) }
    }

    #[test]
    fn a_rate_buys_fingerprints_and_no_line_is_wasted() {
        let flows = 1_000_000;
        for (rate, expire, states, slot_bits, slots_per_line) in [
            (0.01, Expire::Timer, 6, 12, 38),
            (0.001, Expire::Timer, 14, 16, 29),
            (0.0001, Expire::Timer, 14, 19, 25),
            (0.001, Expire::None, 6, 15, 34),
            (0.000_4, Expire::None, 6, 16, 32),
            // 27 bits would do: the line has 28.
            (2.5e-7, Expire::None, 6, 28, 18),
            (0.000_4, Expire::Timer, 6, 16, 29),
            (0.5, Expire::None, 6, 10, 51),
        ] {
            let spec = StoreSpec { states, ..fcf(flows, Budget::FpRate(rate), expire) };
            let sizing = spec.sizing().unwrap();
            assert_eq!((sizing.cell_bits, sizing.hashes), (slot_bits, 2), "{rate} {expire:?}");
            assert_eq!(fcf_slots_per_line(slot_bits, expire), slots_per_line);
            assert!(2.0 * 0.93 / fcf_fingerprints(slot_bits, states) as f64 <= rate);
            let load = flows as f64 / sizing.cells as f64;
            assert!((0.929..=0.93).contains(&load), "{load}");
            let bits_per_slot = 512.0 / slots_per_line as f64;
            assert!((sizing.bits as f64 / sizing.cells as f64 - bits_per_slot).abs() < 1e-9);
        }
    }

    /// With the states of `tcp-connection` and the timer.
    #[test]
    fn slots_of_fcf_are_dense() {
        for (rate, bits_per_flow) in [(0.001, 19.0), (0.0001, 22.1)] {
            let budget = Budget::FpRate(rate);
            let spec = StoreSpec { states: 14, ..fcf(1_000_000, budget, Expire::Timer) };
            let sizing = spec.sizing().unwrap();
            assert!(sizing.bits_per_flow < bits_per_flow, "{rate}: {}", sizing.bits_per_flow);
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
                assert!(sizing.bits <= 8 * bytes && 8 * bytes - sizing.bits < 8 * LINES_BYTES);
                let fit = |slot_bits: u32| {
                    let per_line = fcf_slots_per_line(slot_bits, expire) as u64;
                    let slots = sizing.bits / 8 / LINES_BYTES * per_line;
                    slots as f64 >= fcf_slots(flows as f64)
                };
                let widest = slot_bits_for(FINGERPRINTS_MOST, 6);
                assert!(fit(sizing.cell_bits), "{sizing:?}");
                assert!(sizing.cell_bits == widest || !fit(sizing.cell_bits + 1), "{sizing:?}");
            }
        }
    }

    #[test]
    fn slots_hold_every_fingerprint_in_every_state() {
        for states in 1..=16 {
            for slot_bits in 8..=37 {
                let fingerprints = fcf_fingerprints(slot_bits, states);
                assert!(2 * fingerprints * (states as u64) < 1 << slot_bits);
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
        assert!(load(2_000) < 0.77 && load(100_000) < 0.92 && load(10_000_000) > 0.9299);
    }

    #[test]
    fn impossible_tables_are_refused_with_what_is_wrong() {
        let spec = fcf(1000, Budget::FpRate(0.01), Expire::Timer);
        let not_supported = |setting| SpecError::NotSupported { setting, backend: Backend::Fcf };
        let hashes = StoreSpec { hashes: Some(3), ..spec.clone() };
        assert_eq!(error(hashes), not_supported(Setting::Hashes));
        let wide = StoreSpec { cell_bits: Some(8), ..spec };
        assert_eq!(error(wide), not_supported(Setting::CellBits));
        let rare = error(fcf(1000, Budget::FpRate(4e-10), Expire::Timer));
        let SpecError::FingerprintRate { least, .. } = rare else { panic!("{rare}") };
        assert!((4.39e-10..4.41e-10).contains(&least), "{least}");
        assert!(fcf(1000, Budget::FpRate(4.4e-10), Expire::Timer).sizing().is_ok());
        for flows in [1 << 40, u64::MAX] {
            for budget in [Budget::FpRate(0.01), Budget::MemoryBytes(1 << 30)] {
                let error = error(fcf(flows, budget, Expire::Timer));
                assert!(matches!(error, SpecError::TooLarge { .. }), "{error}");
            }
        }
    }
}
