//! The stores there are: one table with the name, description and capabilities of each.

use super::{BHBF_CELL_BITS, BHBF_TABLE_COUNTS, kbf_cell_bits, kbf_code_bits};
use crate::digest::FlowId;
use crate::state::State;

const SHARDS: u64 = FlowId::SHARDS as u64;
/// A mask of states has one bit for each.
const MASK_BITS: u64 = State::LIMIT as u64;

/// The structures that can keep flow state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Backend {
    /// Hash table of full keys: the reference for all others.
    Exact,
    /// Direct Bloom filter (ACSM 2006 §3.1): the elements are (flow, state).
    Dbf,
    /// Stateful Bloom filter (ACSM 2006 §3.3): a cell holds a state and a count.
    Sbf,
    /// Key-value Bloom filter (2014): a cell holds a count and the XOR of encoded states.
    Kbf,
    /// B_h-sequence Bloom filter: a cell holds a count and the sum of salted codes of states.
    Bhbf,
    /// Fingerprints and states in a cuckoo table: ACSM 2006's best structure, as a maplet.
    Fcf,
}

/// What a store keeps its flows in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Storage {
    /// One entry per flow, with its full key.
    Entries,
    /// k cells per flow, shared with other flows. Cells have a [layout](super::LayoutKind), and a
    /// store of cells can empty itself when it is full ([`Expire::recycles`](super::Expire)).
    Cells,
    /// One slot per flow, with a fingerprint of its key. Inserts fail when no slot is free.
    Slots,
}

/// One row of the table of stores.
#[derive(Debug, Clone, Copy)]
pub struct StoreInfo {
    /// Its name on the command line and in reports.
    pub name: &'static str,
    /// What it is, in one sentence.
    pub description: &'static str,
    /// What flows are kept in.
    pub storage: Storage,
    /// Whether answers can be wrong. Such a store is sized by a rate of false positives, and its
    /// number of live flows is an estimate.
    pub approximate: bool,
    /// Whether the width of a cell can be chosen.
    pub cell_bits_can_be_chosen: bool,
    /// The width of the narrowest cells for a number of states, without stamps; 0 without cells.
    pub narrowest_cell_bits: fn(states: usize, in_halves: bool) -> u32,
    /// Tables for decoding, in bits, for all shards together.
    pub table_bits: fn(states: usize) -> u64,
    /// Whether flows are distinguished by their full key; all others use the digest alone.
    pub needs_full_key: bool,
    /// Whether a flow whose state is not known can still be given a new one.
    pub writes_without_old_state: bool,
}

const CELLS: StoreInfo = StoreInfo {
    name: "",
    description: "",
    storage: Storage::Cells,
    approximate: true,
    cell_bits_can_be_chosen: false,
    narrowest_cell_bits: |_, _| 0,
    table_bits: |_| 0,
    needs_full_key: false,
    writes_without_old_state: false,
};

impl Backend {
    /// Every store, in the order of documentation and help.
    pub const ALL: [Backend; 6] =
        [Backend::Exact, Backend::Dbf, Backend::Sbf, Backend::Kbf, Backend::Bhbf, Backend::Fcf];

    /// Its row of the table.
    ///
    /// ```
    /// use acsm_filters::{Backend, Storage};
    ///
    /// let with_layout = Backend::ALL.into_iter().filter(|b| b.info().storage == Storage::Cells);
    /// assert_eq!(with_layout.map(Backend::name).collect::<Vec<_>>(), ["dbf", "sbf", "kbf", "bhbf"]);
    /// ```
    pub const fn info(self) -> StoreInfo {
        match self {
            Backend::Exact => StoreInfo {
                name: "exact",
                description: "A hash table of full keys; with a memory limit it evicts the longest idle flow",
                storage: Storage::Entries,
                approximate: false,
                needs_full_key: true,
                ..CELLS
            },
            Backend::Dbf => StoreInfo {
                name: "dbf",
                description: "Direct Bloom filter of (flow, state)",
                // A counter. In a half it does not age before the half does, and must not stick.
                narrowest_cell_bits: |_, in_halves| if in_halves { 4 } else { 2 },
                ..CELLS
            },
            Backend::Sbf => StoreInfo {
                name: "sbf",
                description: "Stateful Bloom filter, with \"don't know\"",
                cell_bits_can_be_chosen: true,
                // 16 states, "don't know", empty: 5 bits; and a 3-bit count.
                narrowest_cell_bits: |_, _| 8,
                writes_without_old_state: true,
                ..CELLS
            },
            Backend::Kbf => StoreInfo {
                name: "kbf",
                description: "Key-value Bloom filter: superimposed encodings of states",
                cell_bits_can_be_chosen: true,
                narrowest_cell_bits: |states, _| if kbf_cell_bits(states) <= 8 { 8 } else { 16 },
                // For each shard, and for cells of one, two and three flows: a 16-bit mask per sum. (With
                // salts the codes can be wider, and the shards share one table, which is smaller.)
                table_bits: |states| SHARDS * 3 * (1 << kbf_code_bits(states)) * MASK_BITS,
                ..CELLS
            },
            Backend::Bhbf => StoreInfo {
                name: "bhbf",
                description: "B_h-sequence Bloom filter: sums of salted codes; 16-bit cells, few of them",
                narrowest_cell_bits: |_, _| BHBF_CELL_BITS,
                // One for all shards: a mask for each count, none included, and each 12-bit sum.
                table_bits: |_| (u64::from(BHBF_TABLE_COUNTS) + 1) * (1 << 12) * MASK_BITS,
                ..CELLS
            },
            Backend::Fcf => StoreInfo {
                name: "fcf",
                description: "Fingerprints and states in a cuckoo table: the least memory, and it can be full",
                storage: Storage::Slots,
                ..CELLS
            },
        }
    }

    /// Its name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// Whether flows are kept in cells: then there is a layout and a number of hashes to choose,
    /// and the store can recycle.
    pub const fn has_cells(self) -> bool {
        matches!(self.info().storage, Storage::Cells)
    }

    /// The width of its narrowest cells for this many states, without stamps, in two halves or not; 0
    /// without cells.
    pub fn narrowest_cell_bits(self, states: usize, in_halves: bool) -> u32 {
        (self.info().narrowest_cell_bits)(states, in_halves)
    }

    /// Whether answers can be wrong, and the number of live flows is an estimate.
    pub const fn is_approximate(self) -> bool {
        self.info().approximate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_descriptions_are_distinct() {
        for (index, backend) in Backend::ALL.into_iter().enumerate() {
            assert!(!backend.name().is_empty() && !backend.info().description.is_empty());
            for other in Backend::ALL.into_iter().skip(index + 1) {
                assert_ne!(backend.name(), other.name());
                assert_ne!(backend.info().description, other.info().description);
            }
        }
    }
}
