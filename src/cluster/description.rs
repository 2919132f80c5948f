//! What a store was made with: its parameters and its slabs, kept in the cluster as a hash.

use std::collections::HashMap;

use redis::Cmd;

use super::error::ClusterError;
use super::layout::{SLOTS, SlabId, description_key};
use acsm_filters::HashKey;
use acsm_filters::kv::{KbfParameters, KvError, KvSpec};

/// The version of the description.
const FORMAT: u32 = 1;
/// The most bytes of a slab: the module's limit, less its header and what lines are rounded up to.
const SLAB_BYTES_MAX: usize = (4 << 20) - 2048;
/// Standard deviations of the number of pairs of a slab that it has room for beyond the mean.
const DEVIATIONS: f64 = 4.0;

/// What a store is wanted for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// How many pairs.
    pub pairs: u64,
    /// How many different values.
    pub values: usize,
    /// p: the error rate.
    pub rate: f64,
    /// What keys are hashed with.
    pub hash_key: HashKey,
    /// How many slabs; by default as many as slabs of the largest size take.
    pub slabs: Option<u32>,
    /// The least number of slabs that is chosen by default.
    pub slabs_least: u32,
}

/// A store: all slabs have the same parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// How many slabs.
    pub slabs: u32,
    /// Of each filter.
    pub parameters: KbfParameters,
    /// How many values there can be, as they were asked for.
    pub values_max: u32,
    /// Of slabs that have more than one: how many filters.
    pub grown: HashMap<u32, u32>,
}

impl Description {
    /// The store that is wanted.
    pub fn new(wanted: &Wanted) -> Result<Description, KvError> {
        let whole = |slabs: u32| {
            let mean = wanted.pairs as f64 / f64::from(slabs);
            // The number of pairs of a slab is nearly a Poisson variable.
            let pairs = (mean + DEVIATIONS * mean.sqrt()).ceil() as u64;
            let spec = KvSpec::new(pairs.max(1).min(wanted.pairs.max(1)), wanted.values);
            KbfParameters::new(&KvSpec { rate: wanted.rate, hash_key: wanted.hash_key, ..spec })
        };
        let bytes =
            |parameters: &KbfParameters| parameters.cells() * parameters.cell_bits as usize / 8;
        let too_large = |parameters: &KbfParameters| KvError::TooLarge {
            bytes: bytes(parameters) as f64,
            limit: SLAB_BYTES_MAX as u64,
        };
        // As errors do not depend on their number, all slabs but the largest are a matter of division.
        let mut slabs = wanted.slabs.unwrap_or(wanted.slabs_least).clamp(1, SLOTS as u32);
        let mut parameters = whole(slabs)?;
        while wanted.slabs.is_none() && bytes(&parameters) > SLAB_BYTES_MAX && slabs < SLOTS as u32
        {
            slabs = (slabs + slabs.div_ceil(8)).min(SLOTS as u32);
            parameters = whole(slabs)?;
        }
        if bytes(&parameters) > SLAB_BYTES_MAX {
            return Err(too_large(&parameters));
        }
        let values_max = wanted.values as u32;
        Ok(Description { slabs, parameters, values_max, grown: HashMap::new() })
    }

    /// How many filters a slab has.
    pub fn generations(&self, slab: u32) -> u32 {
        self.grown.get(&slab).copied().unwrap_or(1).max(1)
    }

    /// All filters of a slab.
    pub fn filters(&self, slab: u32) -> impl Iterator<Item = SlabId> + use<> {
        (0..self.generations(slab)).map(move |generation| SlabId { slab, generation })
    }

    /// All filters of all slabs.
    pub fn all_filters(&self) -> impl Iterator<Item = SlabId> {
        (0..self.slabs).flat_map(|slab| self.filters(slab))
    }

    /// The command that makes one filter with this key.
    pub fn create_command(&self, key: &str) -> Cmd {
        let KbfParameters { hashes, capacity, rate, hash_key, values, .. } = self.parameters;
        let mut command = redis::cmd("KBF.CREATE");
        command.arg(key).arg("VALUES").arg(values);
        command.arg("CELLS").arg(self.parameters.cells()).arg("HASHES").arg(hashes);
        command.arg("CAPACITY").arg(capacity).arg("ERROR").arg(rate.to_string());
        command.arg("HASHKEY").arg(format!("{:032x}", hash_key.bits()));
        command
    }

    /// The command that keeps the description.
    pub fn save_command(&self, prefix: &str) -> Cmd {
        let KbfParameters { hashes, capacity, rate, hash_key, .. } = self.parameters;
        let mut command = redis::cmd("HSET");
        command.arg(description_key(prefix));
        let numbers = [
            ("format", u64::from(FORMAT)),
            ("slabs", self.slabs.into()),
            ("values", self.values_max.into()),
            ("cells", self.parameters.cells() as u64),
            ("hashes", hashes.into()),
            ("capacity", capacity),
        ];
        for (name, number) in numbers {
            command.arg(name).arg(number);
        }
        command.arg("error").arg(rate.to_string());
        command.arg("hash_key").arg(format!("{:032x}", hash_key.bits()));
        command
    }

    /// The description in the fields of a hash, if they are those of one.
    pub fn from_fields(fields: &HashMap<String, String>) -> Option<Description> {
        let number = |name: &str| fields.get(name)?.parse::<u64>().ok();
        if number("format")? != u64::from(FORMAT) {
            return None;
        }
        let slabs = u32::try_from(number("slabs")?).ok()?;
        let values_max = u32::try_from(number("values")?).ok()?;
        let hash_key = u128::from_str_radix(fields.get("hash_key")?, 16).ok()?;
        let spec = KvSpec {
            rate: fields.get("error")?.parse().ok()?,
            hash_key: HashKey::from_bits(hash_key),
            ..KvSpec::new(1, values_max as usize)
        };
        let (cells, hashes) = (number("cells")?, number("hashes")? as usize);
        let mut parameters = KbfParameters::with_cells(&spec, cells, hashes).ok()?;
        parameters.capacity = number("capacity")?.max(1);
        if !(1..=SLOTS as u32).contains(&slabs) || parameters.cells() as u64 != cells {
            return None;
        }
        let grown = fields.iter().filter_map(|(name, count)| {
            Some((name.strip_prefix(GROWN)?.parse().ok()?, count.parse().ok()?))
        });
        Some(Description { slabs, parameters, values_max, grown: grown.collect() })
    }

    /// The command that notes that a slab has this number of filters, or more.
    pub fn grown_command(prefix: &str, slab: u32, generations: u32) -> Cmd {
        let mut command = redis::cmd("EVAL");
        command.arg(GROW_SCRIPT).arg(1).arg(description_key(prefix));
        command.arg(format!("{GROWN}{slab}")).arg(generations);
        command
    }
}

/// Raises a field: a client that knows of fewer filters than another must not hide the other's.
const GROW_SCRIPT: &str = "\
local count = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '1')
if count < tonumber(ARGV[2]) then redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) end
return 1";

/// The beginning of the fields of slabs that have grown.
const GROWN: &str = "filters.";

/// An error of a description that cannot be read.
pub(super) fn unreadable(prefix: &str) -> ClusterError {
    ClusterError::reply(format!("{} is not the description of a store", description_key(prefix)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(pairs: u64, values: usize) -> Wanted {
        let hash_key = HashKey::from_seed(3);
        Wanted { pairs, values, rate: 1e-3, hash_key, slabs: None, slabs_least: 24 }
    }

    #[test]
    fn slabs_fit_and_have_room_for_all_pairs() {
        for (pairs, least) in [(1, 24), (10_000, 24), (1_000_000, 24), (100_000_000, 400)] {
            let made = Description::new(&wanted(pairs, 3000)).unwrap();
            assert!((least..2 * least).contains(&made.slabs), "{pairs}: {}", made.slabs);
            let mean = pairs as f64 / f64::from(made.slabs);
            assert!(made.parameters.capacity as f64 >= mean.max(1.0), "{pairs}");
            assert!(made.parameters.cells() * 4 <= SLAB_BYTES_MAX);
        }
        let given = Wanted { slabs: Some(3), ..wanted(10_000_000, 3000) };
        assert!(matches!(Description::new(&given), Err(KvError::TooLarge { .. })));
        assert_eq!(Description::new(&Wanted { slabs: Some(7), ..wanted(50, 3) }).unwrap().slabs, 7);
    }

    #[test]
    fn a_description_is_read_as_it_was_written() {
        for values in [3, 3000, 20_000] {
            let mut made = Description::new(&wanted(100_000, values)).unwrap();
            // HSET key, or EVAL script 1 key: then names and texts.
            let (saved, grown) = (made.save_command("x"), Description::grown_command("x", 5, 2));
            let words: Vec<String> = saved
                .args_iter()
                .skip(2)
                .chain(grown.args_iter().skip(4))
                .map(|arg| match arg {
                    redis::Arg::Simple(word) => String::from_utf8(word.to_vec()).unwrap(),
                    _ => panic!("a cursor"),
                })
                .collect();
            let (pairs, _) = words.as_chunks();
            let mut fields: HashMap<String, String> =
                pairs.iter().map(|[name, text]| (name.clone(), text.clone())).collect();
            made.grown.insert(5, 2);
            assert_eq!(Description::from_fields(&fields), Some(made.clone()));
            assert_eq!((made.generations(5), made.generations(6)), (2, 1));
            fields.insert("hashes".to_owned(), "0".to_owned());
            assert_eq!(Description::from_fields(&fields), None);
        }
        assert_eq!(Description::from_fields(&HashMap::new()), None);
    }
}
