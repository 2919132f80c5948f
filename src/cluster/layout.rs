//! Where the parts of a store are: keys, hash tags, hash slots, and the slab of a key.
//!
//! Slab s of S is in slot (s + 1/2) · 16384 / S, the middle of its share of the slots: servers which share
//! the slots evenly share the slabs evenly, however the bounds are rounded. A key's slot is the CRC of its *hash tag*, the part between braces; each slot has a tag of its
//! own, the least number that leads to it:
//!
//! ```text
//! acsm:{39847}:12.0      prefix : { tag of the slot } : slab . generation
//! {acsm}:store           the description, and the values: in one slot
//! {acsm}:values
//! ```

use acsm_filters::HashKey;

/// The hash slots of a cluster.
pub const SLOTS: usize = 16_384;

/// A filter of a slab: 0 is the first, further ones are added when it is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlabId {
    /// The number of the slab.
    pub slab: u32,
    /// The number of the filter in it.
    pub generation: u32,
}

/// The keys of one store.
#[derive(Debug, Clone)]
pub struct Layout {
    prefix: String,
    /// Of each slab: its slot, and the tag of that slot.
    slabs: Vec<(u16, u32)>,
    /// What slabs are chosen with: another secret than the cells, so that both are independent.
    slab_hash: HashKey,
}

impl Layout {
    /// The layout of a store with these slabs, at most [`SLOTS`] of them.
    pub fn new(prefix: &str, slabs: u32, hash_key: HashKey) -> Layout {
        let tags = tags();
        let slots = (0..slabs as usize).map(|slab| (2 * slab + 1) * SLOTS / (2 * slabs as usize));
        Layout {
            prefix: prefix.to_owned(),
            slabs: slots.map(|slot| (slot as u16, tags[slot])).collect(),
            slab_hash: HashKey::from_bits(hash_key.digest_bytes(b"slab")),
        }
    }

    /// The number of slabs.
    pub fn slabs(&self) -> u32 {
        self.slabs.len() as u32
    }

    /// The slab that a key belongs to.
    pub fn slab_of(&self, key: &[u8]) -> u32 {
        let digest = self.slab_hash.digest_bytes(key) as u64;
        ((u128::from(digest) * self.slabs.len() as u128) >> 64) as u32
    }

    /// The slot of a slab, the same for all generations.
    pub fn slot(&self, slab: u32) -> u16 {
        self.slabs[slab as usize].0
    }

    /// The key of a slab.
    pub fn slab_key(&self, id: SlabId) -> String {
        let tag = self.slabs[id.slab as usize].1;
        format!("{}:{{{tag}}}:{}.{}", self.prefix, id.slab, id.generation)
    }

    /// The slab in this slot, if there is one.
    pub fn slab_in(&self, slot: u16) -> Option<u32> {
        let at = self.slabs.binary_search_by_key(&slot, |(slot, _)| *slot).ok()?;
        Some(at as u32)
    }
}

/// The key of a store's description.
pub fn description_key(prefix: &str) -> String {
    format!("{{{prefix}}}:store")
}

/// The key of a store's values.
pub fn values_key(prefix: &str) -> String {
    format!("{{{prefix}}}:values")
}

/// The slot of a key.
pub fn slot_of(key: &str) -> u16 {
    let tag = key.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
    let hashed = match tag {
        Some((tag, _)) if !tag.is_empty() => tag,
        _ => key,
    };
    crc16(hashed.as_bytes()) % SLOTS as u16
}

/// For each slot the least number whose decimal digits have it.
fn tags() -> Vec<u32> {
    let mut tags = vec![None; SLOTS];
    let mut missing = SLOTS;
    for number in 0_u32.. {
        let tag = &mut tags[crc16(number.to_string().as_bytes()) as usize % SLOTS];
        if tag.is_none() {
            *tag = Some(number);
            missing -= 1;
            if missing == 0 {
                break;
            }
        }
    }
    tags.into_iter().flatten().collect()
}

/// CRC-16/XMODEM, as the cluster specification has it.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, &byte| {
        (0..8).fold(crc ^ u16::from(byte) << 8, |crc, _| {
            let shifted = crc << 1;
            if crc & 0x8000 == 0 { shifted } else { shifted ^ 0x1021 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!(slot_of("foo"), 12_182);
        assert_eq!(slot_of("{user1000}.following"), slot_of("{user1000}.followers"));
        assert_eq!(slot_of("foo{}{bar}"), crc16(b"foo{}{bar}") % SLOTS as u16);
        assert_eq!(slot_of("foo{{bar}}zap"), crc16(b"{bar") % SLOTS as u16);
    }

    #[test]
    fn every_slab_has_a_slot_of_its_own() {
        for slabs in [1, 3, 24, 1000, SLOTS as u32] {
            let layout = Layout::new("acsm", slabs, HashKey::from_seed(1));
            for slab in 0..slabs {
                let slot = layout.slot(slab);
                for generation in [0, 7] {
                    assert_eq!(slot_of(&layout.slab_key(SlabId { slab, generation })), slot);
                }
                assert_eq!(layout.slab_in(slot), Some(slab));
            }
        }
        assert_eq!(Layout::new("acsm", 2, HashKey::from_seed(1)).slab_in(5), None);
    }

    /// Slab loads are those of independent choices: χ² with 23 degrees of freedom is below 49.7 with
    /// probability 0.999. Within a slab, the digests that cells are taken from are spread as well.
    #[test]
    fn slabs_are_chosen_evenly_and_independently_of_cells() {
        let hash_key = HashKey::from_seed(5);
        let layout = Layout::new("acsm", 24, hash_key);
        let (mut slabs, mut cells_of_one) = ([0_f64; 24], [0_f64; 24]);
        for number in 0..240_000_u32 {
            let key = format!("key {number}");
            let slab = layout.slab_of(key.as_bytes());
            slabs[slab as usize] += 1.0;
            if slab == 3 {
                let digest = hash_key.digest_bytes(key.as_bytes()) as u64;
                cells_of_one[((u128::from(digest) * 24) >> 64) as usize] += 1.0;
            }
        }
        for counts in [slabs, cells_of_one] {
            let mean = counts.iter().sum::<f64>() / 24.0;
            let chi: f64 = counts.iter().map(|count| (count - mean).powi(2) / mean).sum();
            assert!(chi < 49.7, "{chi}");
        }
    }
}
