//! The seed of a run, from which all its randomness comes.

use std::array;
use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use acsm_filters::HashKey;
use acsm_filters::rng::Random;

/// The hexadecimal digits of 128 bits.
const HEX_DIGITS: usize = 32;

/// Purpose of the key of the flows' digests.
const HASH_KEY: u64 = 0x6861_7368;

/// The seed of a run: the same input, options and seed give the same output.
///
/// Text and JSON have a number in decimal, and 128 bits as a string of 32 hexadecimal digits. The text
/// of a seed can be parsed again.
///
/// ```
/// use acsm::seed::Seed;
///
/// assert_eq!("7".parse(), Ok(Seed::Number(7)));
/// let derived = Seed::of_input(b"the first bytes of a capture");
/// assert_eq!(derived.to_string().len(), 32);
/// assert_eq!(derived.to_string().parse(), Ok(derived));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seed {
    /// A number chosen by the user, or drawn by a live run.
    Number(u64),
    /// 128 bits derived from an input.
    Bits(u128),
}

/// Text that is not a seed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a seed; write a number below 2^64, or 32 hexadecimal digits as a run shows them"
)]
pub struct SeedError(String);

impl Seed {
    /// The number of bytes of an input that its seed is derived from.
    pub const INPUT_BYTES: usize = 64 << 10;

    /// The seed of an input that begins with these decoded bytes: their SipHash-1-3-128 under a key of
    /// zeros.
    ///
    /// Who cannot predict all of the bytes cannot predict the seed. Who writes the whole file can.
    pub fn of_input(first_bytes: &[u8]) -> Seed {
        let bytes = first_bytes.get(..Seed::INPUT_BYTES).unwrap_or(first_bytes);
        Seed::Bits(HashKey::from_bits(0).digest_bytes(bytes))
    }

    /// The seed `n` after this one, for repetitions.
    pub fn plus(self, n: u64) -> Seed {
        match self {
            Seed::Number(number) => Seed::Number(number.wrapping_add(n)),
            Seed::Bits(bits) => Seed::Bits(bits.wrapping_add(n.into())),
        }
    }

    /// The key of all digests of the run.
    pub fn hash_key(self) -> HashKey {
        match self {
            Seed::Number(number) => HashKey::from_seed(number),
            Seed::Bits(bits) => HashKey::from_bits(HashKey::from_bits(bits).digest([HASH_KEY])),
        }
    }

    /// Random numbers for one purpose, independent of the hash key and of those for other purposes.
    pub fn numbers<const N: usize>(self, purpose: u64) -> [u64; N] {
        match self {
            Seed::Number(number) => {
                let mut random = Random::for_purpose(number, purpose);
                array::from_fn(|_| random.next_u64())
            }
            Seed::Bits(bits) => {
                let key = HashKey::from_bits(bits);
                array::from_fn(|n| key.digest([purpose, n as u64]) as u64)
            }
        }
    }
}

/// The seed of an input without a single byte.
impl Default for Seed {
    fn default() -> Seed {
        Seed::of_input(&[])
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Seed::Number(number) => write!(f, "{number}"),
            Seed::Bits(bits) => write!(f, "{bits:0HEX_DIGITS$x}"),
        }
    }
}

impl FromStr for Seed {
    type Err = SeedError;

    /// A number, or exactly 32 hexadecimal digits: no number below 2^64 has as many digits.
    fn from_str(text: &str) -> Result<Seed, SeedError> {
        let is_hex = text.len() == HEX_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let seed = match is_hex {
            true => u128::from_str_radix(text, 16).map(Seed::Bits),
            false => text.parse().map(Seed::Number),
        };
        seed.map_err(|_| SeedError(text.to_owned()))
    }
}

impl Serialize for Seed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Seed::Number(number) => serializer.serialize_u64(*number),
            Seed::Bits(_) => serializer.collect_str(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_a_number_or_32_hexadecimal_digits() {
        let digits = "00ff00ff00ff00ff00ff00ff00ff00fe";
        let bits = Seed::Bits(0x00ff_00ff_00ff_00ff_00ff_00ff_00ff_00fe);
        assert_eq!(digits.parse(), Ok(bits));
        assert_eq!(digits.to_uppercase().parse(), Ok(bits));
        assert_eq!(bits.to_string(), digits);
        assert_eq!("0".repeat(32).parse(), Ok(Seed::Bits(0)), "not the number 0");
        assert_eq!(u64::MAX.to_string().parse(), Ok(Seed::Number(u64::MAX)));
        let too_long = format!("{digits}0");
        let wrong_digit = digits.replace('e', "g");
        let sign = digits.replacen('0', "+", 1);
        let too_large = "18446744073709551616";
        for wrong in ["", "x", "-1", "1.5", &digits[1..], &too_long, &wrong_digit, &sign, too_large]
        {
            let error = wrong.parse::<Seed>().unwrap_err().to_string();
            assert!(error.contains(&format!("`{wrong}`")) && error.contains("32"), "{error}");
        }
    }

    #[test]
    fn json_has_a_number_or_a_string() {
        let json = |seed: Seed| serde_json::to_string(&seed).unwrap();
        assert_eq!(json(Seed::Number(u64::MAX)), "18446744073709551615");
        assert_eq!(json(Seed::Bits(1)), "\"00000000000000000000000000000001\"");
    }

    /// Seeds that were printed must keep their meaning; docs/replay.md names the first.
    #[test]
    fn seeds_of_inputs_are_fixed_for_good() {
        let seed = |bytes: &[u8]| Seed::of_input(bytes).to_string();
        assert_eq!(seed(b""), "b91c5ed031fb33032134935d61d9b40d");
        assert_eq!(Seed::default().to_string(), seed(b""));
        assert_eq!(seed(b"acsm"), "24155ce8d185656f89273b4193f8c13b");
        let long = vec![7; Seed::INPUT_BYTES + 1];
        assert_eq!(seed(&long), seed(&long[1..]), "what follows does not matter");
        assert_ne!(seed(&long), seed(&long[2..]));
    }

    #[test]
    fn every_bit_counts_for_every_purpose() {
        let seeds: Vec<Seed> = (0..128).map(|n| Seed::Bits(1 << n)).collect();
        let mut keys: Vec<u128> = seeds.iter().map(|seed| seed.hash_key().digest([1])).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 128);
        let mut numbers: Vec<u64> = seeds
            .iter()
            .flat_map(|seed| [seed.numbers::<4>(1), seed.numbers(2)])
            .flatten()
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 128 * 8);
    }

    #[test]
    fn a_number_gives_what_it_always_gave() {
        assert_eq!(Seed::Number(7).hash_key(), HashKey::from_seed(7));
        let mut random = Random::for_purpose(7, 3);
        assert_eq!(Seed::Number(7).numbers(3), [random.next_u64(), random.next_u64()]);
    }

    #[test]
    fn repetitions_wrap_around() {
        assert_eq!(Seed::Number(u64::MAX).plus(2), Seed::Number(1));
        assert_eq!(Seed::Bits(u128::MAX).plus(2), Seed::Bits(1));
        assert_eq!(Seed::Bits(u64::MAX.into()).plus(1), Seed::Bits(1 << 64));
    }
}
