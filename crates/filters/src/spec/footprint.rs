//! What a store takes in memory: cells, slots or entries, and the lines they lie in.
//!
//! # Properties
//!
//! The only place that knows how a line is divided into cells and stamps. All arithmetic is in
//! floats and has no limits: exact below 2^53, so that [`StoreSpec::sizing`](super::StoreSpec) can
//! round it to integers, and good enough beyond, so that a planner can search over stores that no
//! machine could hold.
//!
//! # Usage
//!
//! A [`CellFormat`] or [`SlotFormat`] says how cells or slots are arranged; it turns a number of
//! cells, flows or bits into a [`Footprint`].
//!
//! ```
//! use acsm_filters::{CellFormat, Expire, LayoutKind};
//!
//! let format =
//!     CellFormat { cell_bits: 8, hashes: 7, layout: LayoutKind::Blocked(2), expire: Expire::Timer };
//! let footprint = format.in_bits(8e6).ok_or("too small")?;
//! assert_eq!((format.cells_per_line(), footprint.cells), (30, 468_480.0));
//! # Ok::<(), &str>(())
//! ```
//!
//! # Implementation
//!
//! A store is cut into [`FlowId::SHARDS`] shards, each of one array of lines, or of two in two
//! phases. A line has [`LINE_BYTES`]. If flows leave by time, a line of cells holds an epoch of 32
//! bits, and what else that takes: [`Expire::Timer`] a second half with as many cells as the first,
//! [`Expire::Stamps`] 2 bits of stamp for each cell. A line of `fcf` holds an epoch of 12 bits for
//! either, and one bit of stamp for each slot.

use super::{Expire, LayoutKind};
use crate::aging::ShortMark;
use crate::digest::FlowId;

/// Filters are made of lines of this size, each within one cache line.
pub const LINE_BYTES: usize = 64;
/// What one flow takes in the exact store: its entry and two buckets of the index.
pub const EXACT_FLOW_BYTES: u64 = 72;
/// Slots of a window of `fcf`.
pub const FCF_WINDOW_SLOTS: usize = 2;
/// Windows of `fcf` that a flow can be in.
pub(crate) const FCF_WINDOWS: usize = 2;

/// The part of the slots of `fcf` in use when the planned number of flows is alive.
pub(super) const FCF_LOAD_PLANNED: f64 = 0.93;
/// Shards do not get equally many flows. The fullest, three standard deviations above the mean,
/// stays below the load at which cuckoo tables of this shape fill up (0.9650), and at which a
/// search examines a few hundred slots.
const FCF_LOAD_OF_FULLEST: f64 = 0.945;
/// With fewer fingerprints, flows with equal ones compete for the same few pairs of windows, and
/// inserts fail below the planned load.
pub(super) const FINGERPRINTS_LEAST: u64 = 64;
/// As many fingerprints as the digest has bits for.
pub(super) const FINGERPRINTS_MOST: u64 = u32::MAX as u64;
/// The index of the exact store needs an empty bucket.
const ENTRIES_LEAST: f64 = 2.0;

const LINE_BITS: usize = 8 * LINE_BYTES;
const SHARDS: f64 = FlowId::SHARDS as f64;

/// Bits of a line for cells, and for their stamps or other halves.
const fn shared_bits(expire: Expire) -> usize {
    match expire {
        Expire::Timer | Expire::Stamps => LINE_BITS - 32,
        Expire::Recycle | Expire::TwoPhase | Expire::None => LINE_BITS,
    }
}

/// Bits of the stamp of a cell that has one.
const fn stamp_bits(expire: Expire) -> usize {
    if expire.is_timed() { 2 } else { 0 }
}

/// How many cells fit a line, or each of its halves.
pub const fn cells_per_line(cell_bits: u32, expire: Expire) -> usize {
    match expire {
        Expire::Timer => shared_bits(expire) / 2 / cell_bits as usize,
        _ => shared_bits(expire) / (cell_bits as usize + stamp_bits(expire)),
    }
}

/// Bits of a line that slots of `fcf` share with their stamps, and those of a stamp.
const fn fcf_line_bits(expire: Expire) -> (usize, usize) {
    match expire {
        Expire::Timer | Expire::Stamps => (LINE_BITS - ShortMark::BITS as usize, 1),
        Expire::Recycle | Expire::TwoPhase | Expire::None => (LINE_BITS, 0),
    }
}

/// How many slots of `fcf` fit a line.
pub const fn fcf_slots_per_line(slot_bits: u32, expire: Expire) -> usize {
    let (shared, stamp) = fcf_line_bits(expire);
    shared / (slot_bits as usize + stamp)
}

/// The number of fingerprints, if a slot of `slot_bits` also holds one of `states` states.
///
/// A slot is a number: 0 if it is empty, else 1 + (2 · fingerprint + n) · states + state, with n = 0
/// or 1 for the first or second slot of a window. So the number of fingerprints need not be a power
/// of two, and neither the states nor "empty" waste part of a bit.
pub const fn fcf_fingerprints(slot_bits: u32, states: usize) -> u64 {
    let values = (1 << slot_bits) - 1;
    let fingerprints = values / (FCF_WINDOW_SLOTS * states) as u64;
    if fingerprints < FINGERPRINTS_MOST { fingerprints } else { FINGERPRINTS_MOST }
}

/// The memory of a store: totals over all shards and phases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Footprint {
    /// Cells that flows can hash to, those of one half if there are two (entries of `exact`, slots
    /// of `fcf`).
    pub cells: f64,
    /// Cells per flow (0 for `exact`; for `fcf` the two windows that a flow can be in).
    pub hashes: usize,
    /// Bits of a cell (entry, slot) without its stamp.
    pub cell_bits: u32,
    /// All that is allocated.
    pub bits: f64,
}

impl Footprint {
    /// The exact store for this many flows.
    pub fn of_entries(flows: f64) -> Footprint {
        let cells = SHARDS * (flows / SHARDS).ceil().max(ENTRIES_LEAST);
        let cell_bits = 8 * EXACT_FLOW_BYTES as u32;
        Footprint { cells, hashes: 0, cell_bits, bits: cells * f64::from(cell_bits) }
    }

    /// The exact store that fits in this many bits, or the smallest there is.
    pub fn of_entries_in(bits: f64) -> Footprint {
        let per_shard = (bits / 8.0 / SHARDS / EXACT_FLOW_BYTES as f64).floor();
        Footprint::of_entries(SHARDS * per_shard)
    }
}

/// How the cells of a filter are arranged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellFormat {
    /// Bits of a cell without its stamp.
    pub cell_bits: u32,
    /// Cells per flow, at least 1.
    pub hashes: usize,
    /// Where the cells of a flow lie.
    pub layout: LayoutKind,
    /// How flows expire: a timer takes a second half in each line, stamps take bits, two phases take
    /// two arrays per shard.
    pub expire: Expire,
}

impl CellFormat {
    /// How many cells fit a line, or each of its halves.
    pub const fn cells_per_line(&self) -> usize {
        cells_per_line(self.cell_bits, self.expire)
    }

    /// Arrays that the cells are cut into, over all shards.
    pub(super) fn arrays(&self) -> f64 {
        SHARDS * self.expire.phases() as f64
    }

    /// Lines per array, if all arrays together take at most this many bits.
    pub(super) fn lines_in(&self, bits: f64) -> f64 {
        (bits / LINE_BITS as f64 / self.arrays()).floor()
    }

    /// The fewest lines with this many cells, and those cells rounded up: to equal parts for each
    /// hash of each array, or to whole lines of a blocked layout.
    pub fn of_cells(&self, cells: f64) -> Footprint {
        let (hashes, per_line) = (self.hashes as f64, self.cells_per_line() as f64);
        let of_array = (cells / self.arrays()).ceil().max(hashes);
        match self.layout {
            LayoutKind::Spread => {
                let whole_parts = (of_array / hashes).ceil() * hashes;
                self.footprint((whole_parts / per_line).ceil(), whole_parts)
            }
            LayoutKind::Blocked(_) => {
                let lines_of_flow = self.layout.lines(self.hashes) as f64;
                let lines = (of_array / per_line).ceil().max(lines_of_flow);
                self.footprint(lines, lines * per_line)
            }
        }
    }

    /// The fewest lines with this many cells, and all cells of those lines. `None` if the lines of a
    /// flow have too few cells for its hashes.
    pub fn filling_lines_of(&self, cells: f64) -> Option<Footprint> {
        self.in_bits(self.of_cells(cells).bits)
    }

    /// As many cells as fit in this many bits. `None` if that is too little for one flow.
    pub fn in_bits(&self, bits: f64) -> Option<Footprint> {
        let (lines, per_line) = (self.lines_in(bits), self.cells_per_line() as f64);
        let in_lines = lines * per_line;
        let cells = match self.layout {
            // Each hash has an equal part of an array: the remainder is not used.
            LayoutKind::Spread => in_lines - in_lines % self.hashes as f64,
            LayoutKind::Blocked(_) => {
                let lines_of_flow = self.layout.lines(self.hashes) as f64;
                let fits = lines >= lines_of_flow && self.hashes as f64 <= lines_of_flow * per_line;
                if fits { in_lines } else { 0.0 }
            }
        };
        (cells >= 1.0).then(|| self.footprint(lines, cells))
    }

    /// `lines` lines and `cells` cells, both per array.
    fn footprint(&self, lines: f64, cells: f64) -> Footprint {
        Footprint {
            cells: self.arrays() * cells,
            hashes: self.hashes,
            cell_bits: self.cell_bits,
            bits: self.arrays() * lines * LINE_BITS as f64,
        }
    }
}

/// How the slots of `fcf` are arranged: slots are as wide as their number in a line allows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlotFormat {
    slots_per_line: usize,
    slot_bits: u32,
    fingerprints: u64,
}

impl SlotFormat {
    /// Every number of slots per line that leaves enough bits for a slot, the narrowest slots
    /// first.
    pub fn all(states: usize, expire: Expire) -> impl Iterator<Item = SlotFormat> {
        let widths =
            slot_bits_for(FINGERPRINTS_LEAST, states)..=slot_bits_for(FINGERPRINTS_MOST, states);
        let of_width = move |slot_bits| {
            let slots_per_line = fcf_slots_per_line(slot_bits, expire);
            SlotFormat::widest(slots_per_line, states, expire)
        };
        // Where slots of some width leave enough bits for wider ones, those take their place.
        let mut last_bits = 0;
        widths.map(of_width).filter(move |format| {
            format.slot_bits > std::mem::replace(&mut last_bits, format.slot_bits)
        })
    }

    /// The widest useful slots of which this many fit a line.
    pub(super) fn widest(slots_per_line: usize, states: usize, expire: Expire) -> SlotFormat {
        let (shared, stamp) = fcf_line_bits(expire);
        let fitting = (shared / slots_per_line).saturating_sub(stamp) as u32;
        let slot_bits = fitting.min(slot_bits_for(FINGERPRINTS_MOST, states));
        let fingerprints = fcf_fingerprints(slot_bits, states);
        SlotFormat { slots_per_line, slot_bits, fingerprints }
    }

    /// The width of a slot.
    pub const fn slot_bits(&self) -> u32 {
        self.slot_bits
    }

    /// The number of different fingerprints.
    pub const fn fingerprints(&self) -> u64 {
        self.fingerprints
    }

    /// The store for this many flows.
    pub fn of_flows(&self, flows: f64) -> Footprint {
        self.of_lines(fcf_lines(flows, self.slots_per_line))
    }

    /// The store that fits in this many bits; at least one line per shard.
    pub fn in_bits(&self, bits: f64) -> Footprint {
        self.of_lines((bits / LINE_BITS as f64 / SHARDS).floor())
    }

    /// So many lines of each shard, at least one.
    pub(super) fn of_lines(&self, lines: f64) -> Footprint {
        let lines = lines.max(1.0);
        Footprint {
            cells: SHARDS * lines * self.slots_per_line as f64,
            hashes: FCF_WINDOWS,
            cell_bits: self.slot_bits,
            bits: SHARDS * lines * LINE_BITS as f64,
        }
    }

    /// How many flows find a slot in a store of this size; the inverse of
    /// [`of_flows`](SlotFormat::of_flows).
    pub fn flows_in(footprint: &Footprint) -> f64 {
        let slots = footprint.cells / SHARDS;
        // The larger root of mean + 3 √(15/16 mean) = 0.945 slots, and 93 %.
        let three = 3.0 * (1.0 - 1.0 / SHARDS).sqrt();
        let root = ((three * three + 4.0 * FCF_LOAD_OF_FULLEST * slots).sqrt() - three) / 2.0;
        (SHARDS * (root * root).min(FCF_LOAD_PLANNED * slots)).floor().max(1.0)
    }
}

/// The width of a slot that holds one of `fingerprints` values, one of `states` states and which
/// slot of a window it is.
pub(super) const fn slot_bits_for(fingerprints: u64, states: usize) -> u32 {
    (fingerprints * (FCF_WINDOW_SLOTS * states) as u64).ilog2() + 1
}

/// Slots per shard of `fcf`, for this many flows in all shards.
pub(super) fn fcf_slots(flows: f64) -> f64 {
    let mean = flows / SHARDS;
    let deviation = (mean * (1.0 - 1.0 / SHARDS)).sqrt();
    (mean / FCF_LOAD_PLANNED).max((mean + 3.0 * deviation) / FCF_LOAD_OF_FULLEST).ceil()
}

/// Lines per shard of `fcf`, for this many flows in all shards.
pub(super) fn fcf_lines(flows: f64, slots_per_line: usize) -> f64 {
    (fcf_slots(flows) / slots_per_line as f64).ceil()
}
