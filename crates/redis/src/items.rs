//! Digests and values, from items or from records.

use acsm_filters::HashKey;
use acsm_filters::kv::KEY_BYTES_LIMIT;

use crate::arguments::{ITEMS_MAX, Items, number, shown, syntax};
use crate::error::CommandError;

/// A record of `PACKED` without a value: a digest, little-endian.
const DIGEST_BYTES: usize = 16;
/// A record with a value.
const PAIR_BYTES: usize = DIGEST_BYTES + 4;

impl Items<'_> {
    /// Digests and values.
    pub fn pairs(self, key: HashKey) -> Result<Vec<(u128, u32)>, CommandError> {
        match self {
            Items::Listed(arguments) => {
                let (pairs, rest) = arguments.as_chunks();
                if !rest.is_empty() {
                    return Err(syntax("the last item is without a value".to_owned()));
                }
                check_count(pairs.len())?;
                let pair = |[item, value]: &[&[u8]; 2]| Ok((digest(item, key)?, value_of(value)?));
                pairs.iter().map(pair).collect()
            }
            Items::Packed(bytes) => {
                let records = records::<PAIR_BYTES>(bytes)?;
                Ok(records.iter().map(|record| (u128_at(record), u32_at(record))).collect())
            }
        }
    }

    /// Digests alone.
    pub fn digests(self, key: HashKey) -> Result<Vec<u128>, CommandError> {
        match self {
            Items::Listed(items) => {
                check_count(items.len())?;
                items.iter().map(|item| digest(item, key)).collect()
            }
            Items::Packed(bytes) => {
                Ok(records::<DIGEST_BYTES>(bytes)?.iter().map(|record| u128_at(record)).collect())
            }
        }
    }

    pub const fn is_packed(&self) -> bool {
        matches!(self, Items::Packed(_))
    }
}

fn check_count(count: usize) -> Result<(), CommandError> {
    match count <= ITEMS_MAX {
        true => Ok(()),
        false => {
            Err(CommandError::Invalid(format!("{count} items; a call has at most {ITEMS_MAX}")))
        }
    }
}

fn records<const N: usize>(bytes: &[u8]) -> Result<&[[u8; N]], CommandError> {
    let (records, rest) = bytes.as_chunks();
    if !rest.is_empty() || records.is_empty() {
        let what = format!("{} bytes are not records of {N} bytes", bytes.len());
        return Err(CommandError::Invalid(what));
    }
    check_count(records.len())?;
    Ok(records)
}

fn digest(item: &[u8], key: HashKey) -> Result<u128, CommandError> {
    match item.len() {
        0 => Err(CommandError::Invalid("an item is empty".to_owned())),
        bytes if bytes >= KEY_BYTES_LIMIT => {
            let what =
                format!("an item has {bytes} bytes; it must have fewer than {KEY_BYTES_LIMIT}");
            Err(CommandError::Invalid(what))
        }
        _ => Ok(key.digest_bytes(item)),
    }
}

/// A value. Whether it is below V is checked by the slab.
fn value_of(argument: &[u8]) -> Result<u32, CommandError> {
    let Some(value) = number(argument) else {
        return Err(syntax(format!("the value {} is not a number", shown(argument))));
    };
    u32::try_from(value)
        .map_err(|_| CommandError::Invalid(format!("the value {value} is too large")))
}

fn u128_at(record: &[u8]) -> u128 {
    record.first_chunk().map_or(0, |digest| u128::from_le_bytes(*digest))
}

/// The last four bytes.
fn u32_at(record: &[u8]) -> u32 {
    record.last_chunk().map_or(0, |value| u32::from_le_bytes(*value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: HashKey = HashKey::from_seed(3);

    #[test]
    fn both_forms_give_the_same() {
        let words: [&[u8]; 4] = [b"apple", b"7", b"pear", b"4294967294"];
        let listed = Items::Listed(&words).pairs(KEY).unwrap();
        let digests = [b"apple".as_slice(), b"pear"].map(|item| KEY.digest_bytes(item));
        assert_eq!(listed, [(digests[0], 7), (digests[1], u32::MAX - 1)]);
        let records: Vec<u8> = listed
            .iter()
            .flat_map(|(digest, value)| [&digest.to_le_bytes()[..], &value.to_le_bytes()].concat())
            .collect();
        assert_eq!(Items::Packed(&records).pairs(KEY).unwrap(), listed);
        let items: [&[u8]; 2] = [b"apple", b"pear"];
        assert_eq!(Items::Listed(&items).digests(KEY).unwrap(), digests);
        let records: Vec<u8> = digests.iter().flat_map(|digest| digest.to_le_bytes()).collect();
        assert_eq!(Items::Packed(&records).digests(KEY).unwrap(), digests);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let pairs = |words: &[&[u8]]| Items::Listed(words).pairs(KEY).unwrap_err().to_string();
        assert_eq!(pairs(&[b"a"]), "ERR syntax error: the last item is without a value");
        assert_eq!(pairs(&[b"a", b"x"]), "ERR syntax error: the value 'x' is not a number");
        assert_eq!(pairs(&[b"a", b"-1"]), "ERR syntax error: the value '-1' is not a number");
        assert_eq!(pairs(&[b"", b"1"]), "ERR an item is empty");
        let many: Vec<&[u8]> = vec![b"1"; 2 * ITEMS_MAX + 2];
        assert_eq!(pairs(&many), "ERR 65537 items; a call has at most 65536");
        for len in [0, 1, 15, 17, 16 * (ITEMS_MAX + 1)] {
            assert!(Items::Packed(&vec![0; len]).digests(KEY).is_err(), "{len}");
        }
        let long = vec![1; 1 << 20];
        assert!(Items::Listed(&[&long]).digests(KEY).is_err());
        assert_eq!(pairs(&[b"a", b"99999999999"]), "ERR the value 99999999999 is too large");
    }
}
