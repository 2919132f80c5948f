//! Salts: numbers by which the same state looks different on each cell of a flow.
//!
//! A flow rotates the codes of states by its salt on a cell. So what other flows have left on its
//! cells points to different states, and what all its cells agree on is its own.

use crate::rng::Random;

/// Separates the random words of salts from those of positions.
const SALT_STREAM: u64 = 0x6a09_e667_f3bc_c908;

/// The salts of one flow, one for each of its cells: below 16.
pub(crate) struct Salts {
    words: Random,
    word: u64,
    left: u32,
}

impl Salts {
    pub(crate) const BITS: u32 = 4;

    /// Those of the flow with this digest.
    #[inline]
    pub(crate) const fn new(digest: u64) -> Salts {
        Salts { words: Random::new(digest ^ SALT_STREAM), word: 0, left: 0 }
    }
}

impl Iterator for Salts {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        if self.left == 0 {
            (self.word, self.left) = (self.words.next_u64(), 16);
        }
        let salt = self.word as u32 % 16;
        self.word >>= 4;
        self.left -= 1;
        Some(salt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn salts_are_even_and_differ_by_position() {
        let mut counts = [[0u32; 16]; 32];
        let mut random = Random::new(5);
        let flows = 16_000;
        for _ in 0..flows {
            for (count, salt) in counts.iter_mut().zip(Salts::new(random.next_u64())) {
                count[salt as usize] += 1;
            }
        }
        let (mean, deviation) = (flows / 16, f64::from(flows / 16).sqrt());
        let farthest = counts.iter().flatten().map(|&count| count.abs_diff(mean)).max();
        assert!(farthest.is_some_and(|off| f64::from(off) < 5.0 * deviation), "{farthest:?}");
        let salts: Vec<u32> = Salts::new(7).take(32).collect();
        assert!(salts[..16] != salts[16..], "{salts:?}");
    }
}
