//! Stores in a snapshot: parameters, the table of values, and the filters one after another.

use std::io::{self, Read, Write};

use thiserror::Error;

use super::decode::Decoding;
use super::error::KvError;
use super::fcf::{FcfMap, FcfParameters};
use super::kbf::KbfMap;
use super::maplet::Maplet;
use super::parameters::KbfParameters;
use super::store::KvStore;
use super::values::ValueTable;
use crate::codes::CodeFamily;
use crate::digest::HashKey;
use crate::snapshot::{
    Decoder, Encoder, SectionKind, SnapshotError, SnapshotReader, SnapshotWriter,
};

const PARAMETERS: SectionKind = SectionKind(*b"KVPA");
const VALUES: SectionKind = SectionKind(*b"KVVA");
const FILTER: SectionKind = SectionKind(*b"KVFI");

/// Why a store could not be loaded.
#[derive(Debug, Error)]
pub enum KvLoadError {
    /// The snapshot is not right.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// No store has such parts.
    #[error(transparent)]
    Kv(#[from] KvError),
}

/// A store from a snapshot, over the structure that the snapshot says.
pub enum LoadedKv {
    /// Over a key-value Bloom filter.
    Kbf(KvStore<KbfMap>),
    /// Over a fingerprint cuckoo table.
    Fcf(KvStore<FcfMap>),
}

/// What a structure saves of itself beside its bytes and pairs.
pub trait SavedMaplet: Maplet {
    /// Its number in snapshots.
    const STRUCTURE: u8;

    /// Writes the parameters.
    fn encode_parameters(&self, out: &mut Encoder<'_>);
}

impl LoadedKv {
    /// The store that is saved in a snapshot. Counts of what happened start at zero.
    pub fn load<R: Read>(input: &mut SnapshotReader<R>) -> Result<LoadedKv, KvLoadError> {
        let section = input.section(PARAMETERS)?;
        let mut parameters = section.decoder();
        let structures = [KbfMap::STRUCTURE, FcfMap::STRUCTURE];
        let is_known = |structure: &u8| structures.contains(structure);
        let structure = parameters.checked("the structure of a store", Decoder::u8, is_known)?;
        let filters =
            parameters.checked("the number of filters", Decoder::u32, |&filters| filters > 0)?;
        Ok(if structure == KbfMap::STRUCTURE {
            let kbf = decode_kbf(&mut parameters)?;
            parameters.finish()?;
            let make = |first: Option<&KbfMap>, pairs, bytes: &[u8]| match first {
                Some(first) => first.another_from_parts(pairs, bytes),
                None => KbfMap::from_parts(kbf, pairs, bytes),
            };
            LoadedKv::Kbf(load_rest(input, (kbf.values, kbf.hash_key), filters, make)?)
        } else {
            let fcf = decode_fcf(&mut parameters)?;
            parameters.finish()?;
            let make = |_: Option<&FcfMap>, _pairs, bytes: &[u8]| FcfMap::from_parts(fcf, bytes);
            LoadedKv::Fcf(load_rest(input, (fcf.values, fcf.hash_key), filters, make)?)
        })
    }
}

impl<M: SavedMaplet> KvStore<M> {
    /// Adds the store to a snapshot.
    pub fn save<W: Write>(&self, out: &mut SnapshotWriter<W>) -> io::Result<()> {
        let mut parameters = Encoder::default();
        parameters.u8(M::STRUCTURE);
        parameters.u32(self.filters().len() as u32);
        if let Some(first) = self.filters().first() {
            first.encode_parameters(&mut parameters);
        }
        out.encoded_section(PARAMETERS, &parameters)?;
        let mut values = Encoder::default();
        values.u64(self.values().secondary().bytes().len() as u64);
        values.borrowed_bytes(self.values().secondary().bytes());
        values.u32(self.values().len() as u32);
        for value in self.values().values() {
            values.u32(value.len() as u32);
            values.bytes(value);
        }
        out.encoded_section(VALUES, &values)?;
        for filter in self.filters() {
            let mut content = Encoder::default();
            content.u64(filter.pairs());
            content.borrowed_bytes(filter.bytes());
            out.encoded_section(FILTER, &content)?;
        }
        Ok(())
    }
}

/// Values first: they take memory in proportion to the number of values that the parameters claim, and
/// are read completely before any is allocated. `make` makes a filter of its pairs and bytes, given the
/// first filter if there is one already.
fn load_rest<R: Read, M: Maplet>(
    input: &mut SnapshotReader<R>,
    (values_max, hash_key): (u32, HashKey),
    filters: u32,
    make: impl Fn(Option<&M>, u64, &[u8]) -> Result<M, KvError>,
) -> Result<KvStore<M>, KvLoadError> {
    let section = input.section(VALUES)?;
    let mut content = section.decoder();
    let secondary_bytes = content.u64()?;
    let secondary = content.bytes(secondary_bytes)?;
    let count = content.u32()?;
    let mut values = vec![];
    for _ in 0..count {
        let len = content.u32()?;
        values.push(content.bytes(len.into())?);
    }
    content.finish()?;
    let values = ValueTable::from_parts(values_max as usize, hash_key, &values, secondary)?;
    let mut loaded: Vec<M> = vec![];
    for _ in 0..filters {
        let section = input.section(FILTER)?;
        let mut content = section.decoder();
        let pairs = content.count("the number of pairs")?;
        let bytes = content.bytes(content.remaining())?;
        let filter = make(loaded.first(), pairs, bytes)?;
        loaded.push(filter);
    }
    Ok(KvStore::from_parts(loaded, values)?)
}

impl SavedMaplet for KbfMap {
    const STRUCTURE: u8 = 0;

    fn encode_parameters(&self, out: &mut Encoder<'_>) {
        let KbfParameters {
            cells_per_part,
            hashes,
            cell_bits,
            family,
            values,
            decoding,
            salted,
            hash_key,
            rate,
            capacity,
        } = *self.parameters();
        let degree = match family {
            CodeFamily::Greedy => 0,
            CodeFamily::Algebraic { degree } => degree,
        };
        for number in [cells_per_part, hashes, cell_bits, degree, values] {
            out.u32(number);
        }
        out.u8(number_of(decoding));
        out.u8(salted.into());
        out.bytes(&hash_key.bits().to_le_bytes());
        out.f64(rate);
        out.u64(capacity);
    }
}

fn decode_kbf(input: &mut Decoder<'_>) -> Result<KbfParameters, SnapshotError> {
    let [cells_per_part, hashes, cell_bits] = [input.u32()?, input.u32()?, input.u32()?];
    let family = match input.u32()? {
        0 => CodeFamily::Greedy,
        degree => CodeFamily::Algebraic { degree },
    };
    let values = input.u32()?;
    let number = input.checked("the decoding", Decoder::u8, |&n| decoding_of(n).is_some())?;
    Ok(KbfParameters {
        cells_per_part,
        hashes,
        cell_bits,
        family,
        values,
        decoding: decoding_of(number).unwrap_or(Decoding::Joint),
        salted: input.checked("whether codes are salted", Decoder::u8, |&salted| salted <= 1)? == 1,
        hash_key: HashKey::from_bits(u128::from_le_bytes(input.array()?)),
        rate: input.f64()?,
        capacity: decode_capacity(input)?,
    })
}

impl SavedMaplet for FcfMap {
    const STRUCTURE: u8 = 1;

    fn encode_parameters(&self, out: &mut Encoder<'_>) {
        let FcfParameters { slots, slot_bits, values, hash_key, rate, capacity } =
            *self.parameters();
        out.u64(slots);
        out.u32(slot_bits);
        out.u32(values);
        out.bytes(&hash_key.bits().to_le_bytes());
        out.f64(rate);
        out.u64(capacity);
    }
}

fn decode_fcf(input: &mut Decoder<'_>) -> Result<FcfParameters, SnapshotError> {
    Ok(FcfParameters {
        slots: input.u64()?,
        slot_bits: input.u32()?,
        values: input.u32()?,
        hash_key: HashKey::from_bits(u128::from_le_bytes(input.array()?)),
        rate: input.f64()?,
        capacity: decode_capacity(input)?,
    })
}

/// With a capacity of 0, every insertion would add a filter.
fn decode_capacity(input: &mut Decoder<'_>) -> Result<u64, SnapshotError> {
    let what = "the capacity";
    input.checked(what, |input| input.count(what), |&capacity| capacity > 0)
}

/// The number of a decoding in snapshots.
const fn number_of(decoding: Decoding) -> u8 {
    match decoding {
        Decoding::Joint => 0,
        Decoding::Option1 => 1,
        Decoding::Option2 => 2,
        Decoding::Literal => 3,
    }
}

fn decoding_of(number: u8) -> Option<Decoding> {
    let all = [Decoding::Joint, Decoding::Option1, Decoding::Option2, Decoding::Literal];
    all.into_iter().find(|&decoding| number_of(decoding) == number)
}

#[cfg(test)]
mod tests {
    use super::super::parameters::{CodeChoice, KvSpec};
    use super::*;
    use crate::rng::Random;

    fn saved<M: SavedMaplet>(store: &KvStore<M>) -> Vec<u8> {
        let mut out = SnapshotWriter::new(vec![]).unwrap();
        store.save(&mut out).unwrap();
        out.finish().unwrap()
    }

    fn load(bytes: &[u8]) -> Result<LoadedKv, KvLoadError> {
        let mut input = SnapshotReader::new(bytes)?;
        let loaded = LoadedKv::load(&mut input)?;
        input.finish()?;
        Ok(loaded)
    }

    fn kbf(loaded: LoadedKv) -> KvStore<KbfMap> {
        let LoadedKv::Kbf(store) = loaded else { panic!("an fcf") };
        store
    }

    fn fcf(loaded: LoadedKv) -> KvStore<FcfMap> {
        let LoadedKv::Fcf(store) = loaded else { panic!("a kbf") };
        store
    }

    /// The same operations on two stores, one of which is saved and loaded now and then.
    fn twins<M: SavedMaplet>(make: impl Fn() -> KvStore<M>, of: impl Fn(LoadedKv) -> KvStore<M>) {
        let (mut plain, mut saved_often) = (make(), make());
        let mut random = Random::new(7);
        for n in 0..3000 {
            if random.chance(0.02) {
                saved_often = of(load(&saved(&saved_often)).unwrap());
            }
            let key = random.below(600).to_le_bytes();
            let value = format!("value {}", random.below(40));
            let is_deletion = random.chance(0.3);
            let outcomes = [&mut plain, &mut saved_often].map(|store| match is_deletion {
                true => format!("{:?}", store.delete(&key)),
                false => format!("{:?}", store.set(&key, value.as_bytes())),
            });
            assert_eq!(outcomes[0], outcomes[1], "operation {n}");
            assert_eq!(plain.query(&key), saved_often.query(&key));
        }
        assert!(plain.filters().len() > 1, "grown");
        assert!(saved(&plain) == saved(&saved_often));
    }

    #[test]
    fn stores_are_the_same_after_loading() {
        let spec = KvSpec::new(100, 50);
        for decoding in [Decoding::Joint, Decoding::Option1, Decoding::Option2, Decoding::Literal] {
            let spec = KvSpec { decoding, ..spec };
            twins(|| KvStore::new(&spec).unwrap(), kbf);
        }
        for codes in [CodeChoice::Greedy, CodeChoice::Algebraic] {
            let spec = KvSpec { codes, salted: false, ..spec };
            twins(|| KvStore::new(&spec).unwrap(), kbf);
        }
        twins(|| KvStore::new_fcf(&spec).unwrap(), fcf);
    }

    /// With right checksums: an error, or a store.
    #[test]
    fn altered_content_is_refused_or_is_a_store() {
        let spec = KvSpec::new(10, 5);
        let mut store = KvStore::new(&spec).unwrap();
        store.insert(b"key", b"value").unwrap();
        alter(&saved(&store), kbf);
        let mut store = KvStore::new_fcf(&spec).unwrap();
        store.insert(b"key", b"value").unwrap();
        alter(&saved(&store), fcf);
    }

    /// Loads a snapshot with each of the first bytes of each section changed.
    fn alter<M: SavedMaplet>(bytes: &[u8], of: impl Fn(LoadedKv) -> KvStore<M>) {
        let mut input = SnapshotReader::new(bytes).unwrap();
        let sections = [PARAMETERS, VALUES, FILTER].map(|kind| input.section(kind).unwrap());
        for (n, altered) in sections.iter().enumerate() {
            let places = 5..altered.content.len().min(100);
            for (at, bits) in places.flat_map(|at| [1, 0xff].map(|bits| (at, bits))) {
                let mut out = SnapshotWriter::new(vec![]).unwrap();
                for (other, section) in sections.iter().enumerate() {
                    let mut content = section.content.clone();
                    content[at % section.content.len()] ^= if other == n { bits } else { 0 };
                    out.section(section.kind, &content).unwrap();
                }
                let Ok(loaded) = load(&out.finish().unwrap()) else { continue };
                let mut store = of(loaded);
                for key in 0..20u8 {
                    let _ = store.set(&[key], b"value");
                    store.query(&[key]);
                }
            }
        }
    }
}
