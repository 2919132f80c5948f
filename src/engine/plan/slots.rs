//! `fcf`: how wide its slots are, and how many fit.
//!
//! A slot holds a fingerprint and a state as one number, as wide as the buckets of a line can
//! share out; so the number of buckets a line is all there is to choose.

use super::room::{Room, SHARDS};
use super::shape::Shape;
use acsm_filters::{Expire, LINE_BYTES};
use acsm_model::fcf::{LOAD_PLANNED, SLOTS};
use acsm_model::{ErrorRates, StateMix, fcf};

const BUCKET_SLOTS: u64 = 4;
const LINE_BITS: u64 = 8 * LINE_BYTES as u64;
/// With fewer, tables fill up before their time.
const FINGERPRINTS_LEAST: f64 = 64.0;
/// As many as the digest has bits for.
const FINGERPRINTS_MOST: f64 = u32::MAX as f64;
/// The fullest of the shards stays below the load at which cuckoo tables fill up.
const LOAD_OF_FULLEST: f64 = 0.975;

/// One width of slots.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slots {
    buckets_per_line: u64,
    slot_bits: u32,
    fingerprints: f64,
}

impl Slots {
    /// All widths that make sense, the narrowest first.
    pub fn all(shape: Shape, states: usize) -> impl Iterator<Item = Slots> {
        let (stamps, epoch) = match shape.expire {
            Expire::Timer => (8, 32),
            _ => (0, 0),
        };
        let widest = (FINGERPRINTS_MOST * states as f64).log2().floor() as u64 + 1;
        (1..=LINE_BITS / BUCKET_SLOTS).rev().filter_map(move |buckets_per_line| {
            let bucket_bits = ((LINE_BITS - epoch) / buckets_per_line).checked_sub(stamps)?;
            let slot_bits = (bucket_bits / BUCKET_SLOTS).min(widest) as u32;
            let values = f64::from(slot_bits).exp2() - 1.0;
            let fingerprints = (values / states as f64).floor().min(FINGERPRINTS_MOST);
            (fingerprints >= FINGERPRINTS_LEAST).then_some(Slots {
                buckets_per_line,
                slot_bits,
                fingerprints,
            })
        })
    }

    /// Lines of a shard for so many flows in all.
    fn lines_for(&self, flows: f64) -> f64 {
        let mean = flows / SHARDS;
        let deviation = (mean * (1.0 - 1.0 / SHARDS)).sqrt();
        let slots = (mean / LOAD_PLANNED).max((mean + 3.0 * deviation) / LOAD_OF_FULLEST);
        (slots / self.slots_per_line()).ceil().max(1.0)
    }

    fn slots_per_line(&self) -> f64 {
        (BUCKET_SLOTS * self.buckets_per_line) as f64
    }

    fn of_lines(&self, lines: f64) -> Room {
        Room {
            cells: SHARDS * lines * self.slots_per_line(),
            hashes: SLOTS / BUCKET_SLOTS as usize,
            cell_bits: self.slot_bits,
            bits: SHARDS * lines * LINE_BITS as f64,
        }
    }

    /// The room that so many flows take.
    pub fn room_for(&self, flows: f64) -> Room {
        self.of_lines(self.lines_for(flows))
    }

    /// The room in so many bits; at least a line of each shard.
    pub fn room_in(&self, bits: f64) -> Room {
        self.of_lines((bits / LINE_BITS as f64 / SHARDS).floor().max(1.0))
    }

    /// How many flows find a slot there.
    pub fn flows_in(&self, room: &Room) -> f64 {
        let slots = room.cells / SHARDS;
        // The larger root of mean + 3 √(15/16 mean) = 0.975 slots, and 95 %.
        let three = 3.0 * (1.0 - 1.0 / SHARDS).sqrt();
        let root = ((three * three + 4.0 * LOAD_OF_FULLEST * slots).sqrt() - three) / 2.0;
        (SHARDS * (root * root).min(LOAD_PLANNED * slots)).floor().max(1.0)
    }

    /// Errors with so many flows, of which those that find no slot are not found.
    pub fn errors(&self, room: &Room, flows: f64, mix: &StateMix) -> ErrorRates {
        self.errors_at(flows / room.cells, mix)
    }

    /// Errors with so many flows a slot.
    pub fn errors_at(&self, load: f64, mix: &StateMix) -> ErrorRates {
        let in_use = load.min(fcf::LOAD_THRESHOLD);
        let errors = fcf::errors_among(self.fingerprints, in_use, mix);
        let lost = if load > in_use { 1.0 - in_use / load } else { 0.0 };
        ErrorRates { false_negative: lost, dont_know: errors.dont_know * (1.0 - lost), ..errors }
    }

    /// The slots of a store that was sized already.
    pub fn of_bits(slot_bits: u32, states: usize) -> Slots {
        let values = f64::from(slot_bits.min(60)).exp2() - 1.0;
        let fingerprints = (values / states.max(1) as f64).floor().clamp(1.0, FINGERPRINTS_MOST);
        Slots { buckets_per_line: 1, slot_bits, fingerprints }
    }
}
