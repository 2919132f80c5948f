//! Keys of a file that come twice, told from false positives.
//!
//! A key must not be inserted twice, and a store cannot tell such a key from a false positive. So keys of
//! a file that seem to be in the store are put aside, a thousandth of all or so, and the file is read once
//! more for those.

use std::collections::HashMap;

use anyhow::bail;

use super::format::Pair;
use acsm_filters::HashKey;

/// Keys that were put aside, by their digests, and what the second reading finds.
#[derive(Debug, Default)]
pub struct PutAside {
    /// The line in which a key was put aside first.
    lines: HashMap<u128, u64>,
    /// The first line of each, and the digest of its value.
    firsts: HashMap<u128, (u64, u128)>,
}

/// What a line of the second reading is.
#[derive(Debug, PartialEq, Eq)]
pub enum SecondReading {
    /// A key that was not put aside.
    Other,
    /// The first line of a key that was put aside there: a false positive, to be inserted.
    FalsePositive,
    /// The first line of a key that was put aside later: inserted in the first reading.
    Inserted,
    /// A further line of a key, with the same value.
    Repeated,
}

impl PutAside {
    /// Puts a key aside in the first reading.
    pub fn put(&mut self, digest: u128, line: u64) {
        self.lines.entry(digest).or_insert(line);
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Takes a line of the second reading. A key that has another value in its first line is an error.
    pub fn second(&mut self, hash_key: HashKey, pair: &Pair) -> anyhow::Result<SecondReading> {
        let digest = hash_key.digest_bytes(&pair.key);
        let Some(put_aside_in) = self.lines.get(&digest) else { return Ok(SecondReading::Other) };
        let value = hash_key.digest_bytes(&pair.value);
        match self.firsts.get(&digest) {
            None => {
                self.firsts.insert(digest, (pair.line, value));
                Ok(match *put_aside_in == pair.line {
                    true => SecondReading::FalsePositive,
                    false => SecondReading::Inserted,
                })
            }
            Some((_, first)) if *first == value => Ok(SecondReading::Repeated),
            Some((line, _)) => bail!(
                "the key {} has another value in line {line}; a store has one per key",
                String::from_utf8_lossy(&pair.key)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_false_positive_is_told_from_a_key_that_comes_again() {
        let (mut aside, hash_key) = (PutAside::default(), HashKey::from_seed(1));
        assert!(aside.is_empty());
        let digest = |key: &str| hash_key.digest_bytes(key.as_bytes());
        aside.put(digest("false positive"), 3);
        aside.put(digest("twice"), 4);
        aside.put(digest("twice"), 5);
        let mut second = |line, key: &str, value: &str| {
            let pair = Pair { key: key.into(), value: value.into(), line };
            aside.second(hash_key, &pair).map_err(|error| error.to_string())
        };
        assert_eq!(second(1, "twice", "x"), Ok(SecondReading::Inserted));
        assert_eq!(second(2, "other", "x"), Ok(SecondReading::Other));
        assert_eq!(second(3, "false positive", "y"), Ok(SecondReading::FalsePositive));
        assert_eq!(second(4, "twice", "x"), Ok(SecondReading::Repeated));
        assert_eq!(second(5, "twice", "x"), Ok(SecondReading::Repeated));
        let error = "the key false positive has another value in line 3; a store has one per key";
        assert_eq!(second(6, "false positive", "x"), Err(error.to_owned()));
    }
}
