//! Memory given in place of an error rate: what of it is for the pending table, and for how many flows it is.

use acsm_filters::StoreSpec;
use acsm_filters::pending::PendingTable;

/// More flows are never derived from memory.
const FLOWS_MAX: u64 = 1 << 36;

/// The most flows that a store has room for in this memory, beside its pending table. `spec` is the store for a number of
/// flows, sized by its error rate.
pub fn flows_in(bytes: u64, spec: impl Fn(u64) -> StoreSpec) -> u64 {
    let fits = |flows: u64| {
        let spec = spec(flows);
        let pending = pending_bytes(spec.pending);
        spec.sizing().is_ok_and(|sizing| sizing.bits / 8 + pending <= bytes)
    };
    // Bit by bit, the highest first.
    let mut flows = 0;
    for bit in (0..FLOWS_MAX.ilog2()).rev() {
        let more = flows | 1 << bit;
        if fits(more) {
            flows = more;
        }
    }
    // Three digits, so that people can say it; a memory too small for one flow is reported later.
    let unit = 10u64.pow(flows.max(1).ilog10().saturating_sub(2));
    (flows / unit * unit).max(1)
}

/// The least memory for a store that takes at least `least` bytes and its pending table: of these slots if they are
/// `chosen`, else of `default` ones or in a quarter of the memory.
pub fn least_with_pending(least: u64, chosen: Option<Option<u64>>, default: Option<u64>) -> u64 {
    match (chosen, default) {
        (Some(slots), _) => least + pending_bytes(slots),
        // The whole table, or a quarter of the memory.
        (None, slots @ Some(_)) if PendingTable::slots_in(least / 4) > 0 => {
            (least + pending_bytes(slots)).min(4 * least.div_ceil(3))
        }
        (None, _) => least,
    }
}

/// The bytes of a pending table, if there is one.
pub fn pending_bytes(slots: Option<u64>) -> u64 {
    slots.map_or(0, |slots| PendingTable::bits(slots) / 8)
}
