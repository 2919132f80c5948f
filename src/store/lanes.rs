//! Several cells at once: a word of 64 bits as lanes of `BITS` bits (1, 2, 8, 16 or 32).

use super::aging::STAMPS_PER_WORD;

/// Cells whose stamps and lanes are taken from one word each.
pub(super) const fn lanes_per_word(bits: u32) -> usize {
    let lanes = u64::BITS as usize / bits as usize;
    if lanes < STAMPS_PER_WORD { lanes } else { STAMPS_PER_WORD }
}

/// All bits of the lanes whose stamps, two bits each, have their lower bit set in `stamps`. Only
/// as many stamps are looked at as there are lanes.
#[inline]
pub(super) const fn lanes_of<const BITS: u32>(stamps: u64) -> u64 {
    match BITS {
        1 => {
            // From every second bit to every bit.
            let pairs = (stamps | stamps >> 1) & 0x3333_3333_3333_3333;
            let nibbles = (pairs | pairs >> 2) & 0x0f0f_0f0f_0f0f_0f0f;
            let bytes = (nibbles | nibbles >> 4) & 0x00ff_00ff_00ff_00ff;
            let halves = (bytes | bytes >> 8) & 0x0000_ffff_0000_ffff;
            (halves | halves >> 16) & 0xffff_ffff
        }
        2 => stamps * 3,
        8 => {
            // From every second bit to every eighth: the upper half moves away at each step.
            let stamps = stamps & 0xffff;
            let halves = (stamps | stamps << 24) & 0x0000_00ff_0000_00ff;
            let quarters = (halves | halves << 12) & 0x000f_000f_000f_000f;
            ((quarters | quarters << 6) & 0x0101_0101_0101_0101) * 0xff
        }
        16 => {
            let stamps = stamps & 0xff;
            let halves = (stamps | stamps << 28) & 0x0000_000f_0000_000f;
            ((halves | halves << 14) & 0x0001_0001_0001_0001) * 0xffff
        }
        _ => ((stamps & 1) | (stamps & 4) << 30) * 0xffff_ffff,
    }
}

/// How many lanes are not zero.
#[inline]
pub(super) const fn lanes_in_use<const BITS: u32>(word: u64) -> u32 {
    let lowest = u64::MAX / (u64::MAX >> (u64::BITS - BITS));
    let highest = lowest << (BITS - 1);
    // Any other bit of a lane carries into its highest.
    let carried = (word & !highest) + !highest;
    let in_use = (carried | word) & highest;
    match BITS {
        // Few lanes, and wide: their sum fits the uppermost, and is told quicker.
        8.. => ((in_use >> (BITS - 1)).wrapping_mul(lowest) >> (u64::BITS - BITS)) as u32,
        _ => in_use.count_ones(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn check<const BITS: u32>() {
        let lane = u64::MAX >> (u64::BITS - BITS);
        let mut random = Random::new(BITS.into());
        for _ in 0..1000 {
            let stamps = random.next_u64() & 0x5555_5555_5555_5555;
            let expected = (0..lanes_per_word(BITS))
                .filter(|n| stamps >> (2 * n) & 1 == 1)
                .fold(0, |lanes, n| lanes | lane << (n * BITS as usize));
            let looked_at = stamps & u64::MAX >> (64 - 2 * lanes_per_word(BITS));
            assert_eq!(lanes_of::<BITS>(looked_at), expected, "{BITS} {stamps:x}");
            assert_eq!(lanes_of::<BITS>(stamps), expected, "others are left out: {BITS}");

            let word = random.next_u64() & random.next_u64() & random.next_u64();
            let in_use = (0..64 / BITS).filter(|n| word >> (n * BITS) & lane != 0).count();
            assert_eq!(lanes_in_use::<BITS>(word) as usize, in_use, "{BITS} {word:x}");
        }
    }

    #[test]
    fn lanes_are_what_a_loop_over_cells_makes_of_them() {
        check::<1>();
        check::<2>();
        check::<8>();
        check::<16>();
        check::<32>();
    }
}
