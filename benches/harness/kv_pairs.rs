//! Pairs as Memcached holds them in a large social network: the sizes of keys and values follow Atikoglu et
//! al., *Workload Analysis of a Large-Scale Key-Value Store* (SIGMETRICS 2012), whose distributions the
//! kBF papers take. The table that it has for values below 15 bytes is left out: the distribution of the
//! others serves for all.

use acsm_filters::rng::Random;

/// Keys, each with one of a few values.
pub struct Pairs {
    /// All different.
    pub keys: Vec<Box<[u8]>>,
    /// All different.
    pub values: Vec<Box<[u8]>>,
}

/// What makes a key or a value different from the others.
const NUMBER_DIGITS: usize = 8;
/// Memcached takes no longer keys.
const KEY_BYTES_MAX: f64 = 250.0;

impl Pairs {
    /// So many keys, and values.
    pub fn new(keys: u64, values: u64) -> Pairs {
        let mut random = Random::new(8);
        let mut several = |count, size: fn(f64) -> f64| {
            (0..count).map(|number| text(number, size(random.unit()))).collect()
        };
        Pairs {
            keys: several(keys, |unit| key_size(unit).min(KEY_BYTES_MAX)),
            values: several(values, value_size),
        }
    }

    /// The index of the value of a key.
    pub fn value_of(&self, key: usize) -> usize {
        key % self.values.len()
    }

    /// All pairs.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let keys = self.keys.iter().enumerate();
        keys.map(|(number, key)| (&**key, &*self.values[self.value_of(number)]))
    }
}

/// A number, and letters up to the size.
fn text(number: u64, bytes: f64) -> Box<[u8]> {
    let mut text = format!("{number:0NUMBER_DIGITS$x}").into_bytes();
    text.resize(text.len().max(bytes as usize), b'x');
    text.into()
}

/// Generalised extreme value distribution (30.7984, 8.20449, 0.078688): the mean is 36.2 bytes.
fn key_size(unit: f64) -> f64 {
    let (location, scale, shape) = (30.7984, 8.20449, 0.078688_f64);
    location + scale / shape * ((-(1.0 - unit).ln()).powf(-shape) - 1.0)
}

/// Generalised Pareto distribution (0, 214.476, 0.348238): the mean is 329 bytes.
fn value_size(unit: f64) -> f64 {
    let (scale, shape) = (214.476, 0.348238);
    scale / shape * ((1.0 - unit).powf(-shape) - 1.0)
}
