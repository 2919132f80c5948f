//! Several cells at once: a word of 64 bits as lanes of `BITS` bits (1, 2, 8, 16 or 32).

/// Cells that one word holds.
pub(super) const fn lanes_per_word(bits: u32) -> usize {
    (u64::BITS / bits) as usize
}

/// All bits of the lanes whose bits are set in `cells`. Only as many are looked at as there are
/// lanes.
#[inline]
pub(super) const fn lanes_of<const BITS: u32>(cells: u64) -> u64 {
    // From bits side by side to one in each lane: the upper half moves away at each step.
    match BITS {
        1 => cells,
        2 => {
            let cells = cells & 0xffff_ffff;
            let halves = (cells | cells << 16) & 0x0000_ffff_0000_ffff;
            let quarters = (halves | halves << 8) & 0x00ff_00ff_00ff_00ff;
            let eighths = (quarters | quarters << 4) & 0x0f0f_0f0f_0f0f_0f0f;
            let pairs = (eighths | eighths << 2) & 0x3333_3333_3333_3333;
            ((pairs | pairs << 1) & 0x5555_5555_5555_5555) * 3
        }
        8 => {
            let cells = cells & 0xff;
            let halves = (cells | cells << 28) & 0x0000_000f_0000_000f;
            let quarters = (halves | halves << 14) & 0x0003_0003_0003_0003;
            ((quarters | quarters << 7) & 0x0101_0101_0101_0101) * 0xff
        }
        16 => {
            let cells = cells & 0xf;
            let halves = (cells | cells << 30) & 0x0000_0003_0000_0003;
            ((halves | halves << 15) & 0x0001_0001_0001_0001) * 0xffff
        }
        _ => ((cells & 1) | (cells & 2) << 31) * 0xffff_ffff,
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
    use crate::rng::Random;

    fn check<const BITS: u32>() {
        let lane = u64::MAX >> (u64::BITS - BITS);
        let mut random = Random::new(BITS.into());
        for _ in 0..1000 {
            let cells = random.next_u64();
            let expected = (0..lanes_per_word(BITS))
                .filter(|n| cells >> n & 1 == 1)
                .fold(0, |lanes, n| lanes | lane << (n * BITS as usize));
            let looked_at = cells & u64::MAX >> (64 - lanes_per_word(BITS));
            assert_eq!(lanes_of::<BITS>(looked_at), expected, "{BITS} {cells:x}");
            assert_eq!(lanes_of::<BITS>(cells), expected, "others are left out: {BITS}");

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
