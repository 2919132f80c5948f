//! What is shown about the structure behind a store, and the errors that theory expects of it.

use serde::Serialize;

use acsm_filters::kv::{Decoding, FcfMap, KbfMap, KbfParameters, KvStore, SavedMaplet};
use acsm_model::kv::KeyValueFilter;
use acsm_model::{StateMix, fcf, kv};

/// A structure as its users see it.
#[derive(Debug, Clone, Copy)]
pub struct Structure {
    /// `kbf` or `fcf`.
    pub name: &'static str,
    /// Cells, or slots, of each filter.
    pub cells: u64,
    /// Those that a key has, or the windows that it can be in.
    pub hashes: u32,
    /// Bits of each.
    pub cell_bits: u32,
    /// The family of the codes, of a kBF.
    pub codes: Option<&'static str>,
    /// How values are decoded, of a kBF.
    pub decode: Option<&'static str>,
    /// p: the error rate that the store was made for.
    pub rate: f64,
}

/// Errors that theory expects.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Predicted {
    /// Of absent keys: the part that gets another answer than "absent".
    pub false_positive_rate: f64,
    /// Of keys in the store: the part that gets another answer than its value.
    pub undecided_rate: f64,
}

/// A maplet that can be described.
pub trait Described: SavedMaplet {
    /// What it is.
    fn structure(&self) -> Structure;

    /// The errors with the pairs that are in it now and this number of values in use.
    fn predicted(&self, assigned: usize) -> Predicted;
}

impl Described for KbfMap {
    fn structure(&self) -> Structure {
        let parameters = self.parameters();
        Structure {
            name: "kbf",
            cells: parameters.cells() as u64,
            hashes: parameters.hashes,
            cell_bits: parameters.cell_bits,
            codes: Some(parameters.family.name()),
            decode: Some(match parameters.decoding {
                Decoding::Joint => "joint",
                Decoding::Option2 => "2",
                Decoding::Option1 => "1",
                Decoding::Literal => "literal",
            }),
            rate: parameters.rate,
        }
    }

    fn predicted(&self, assigned: usize) -> Predicted {
        predicted_kbf(self.parameters(), self.pairs(), assigned)
    }
}

/// The errors of a kBF with these parameters, this number of pairs and of values in use.
pub fn predicted_kbf(parameters: &KbfParameters, pairs: u64, assigned: usize) -> Predicted {
    let decoding = match parameters.decoding {
        Decoding::Joint => kv::Decoding::Joint,
        Decoding::Option2 => kv::Decoding::Option2,
        Decoding::Option1 => kv::Decoding::Option1,
        Decoding::Literal => kv::Decoding::Literal,
    };
    let filter = KeyValueFilter {
        hashes: parameters.hashes as usize,
        load: parameters.load(pairs),
        values: parameters.values.into(),
        assigned: assigned as f64,
        code_bits: parameters.code_bits().into(),
    };
    Predicted {
        false_positive_rate: filter.false_positive(decoding),
        undecided_rate: filter.undecided(decoding),
    }
}

/// Fcf: a key can be in one of two windows.
const WINDOWS: u32 = 2;

impl Described for FcfMap {
    fn structure(&self) -> Structure {
        let parameters = self.parameters();
        Structure {
            name: "fcf",
            cells: parameters.slots,
            hashes: WINDOWS,
            cell_bits: parameters.slot_bits,
            codes: None,
            decode: None,
            rate: parameters.rate,
        }
    }

    /// Keys that look alike have different values, unless chance gave them the same: as if all values
    /// were equally frequent.
    fn predicted(&self, assigned: usize) -> Predicted {
        let fingerprints = self.parameters().fingerprints() as f64;
        let alike = fcf::errors_among(fingerprints, self.load(), &StateMix::even(2)).of_absent();
        let differ = 1.0 - 1.0 / assigned.max(1) as f64;
        Predicted { false_positive_rate: alike, undecided_rate: alike * differ }
    }
}

/// The errors of a whole store: every filter is asked about every key.
pub fn predicted<M: Described>(store: &KvStore<M>) -> Predicted {
    let assigned = store.values().len();
    let of_filter = |filter: &M| (filter.pairs() as f64, filter.predicted(assigned));
    combined(&store.filters().iter().map(of_filter).collect::<Vec<_>>())
}

/// The errors of filters that are all asked about every key, each with its pairs.
pub fn combined(filters: &[(f64, Predicted)]) -> Predicted {
    let silent = |predicted: &Predicted| 1.0 - predicted.false_positive_rate;
    // None of the filters but the one with this number has anything to say about a key.
    let others_silent = |at: usize| -> f64 {
        let others = filters.iter().enumerate().filter(|(other, _)| *other != at);
        others.map(|(_, (_, predicted))| silent(predicted)).product()
    };
    let pairs: f64 = filters.iter().map(|(pairs, _)| pairs).sum();
    let undecided = filters.iter().enumerate().map(|(at, (pairs, predicted))| {
        // Written so that small rates do not vanish beside 1.
        let others = 1.0 - others_silent(at);
        pairs * (predicted.undecided_rate + others - predicted.undecided_rate * others)
    });
    let false_positive_rate = match filters {
        [(_, only)] => only.false_positive_rate,
        several => 1.0 - several.iter().map(|(_, predicted)| silent(predicted)).product::<f64>(),
    };
    Predicted { false_positive_rate, undecided_rate: undecided.sum::<f64>() / pairs.max(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acsm_filters::kv::KvSpec;

    #[test]
    fn a_store_at_capacity_has_the_rate_that_it_was_made_for() {
        let spec = KvSpec::new(3000, 500);
        let (mut kbf, mut fcf) = (KvStore::new(&spec).unwrap(), KvStore::new_fcf(&spec).unwrap());
        assert_eq!(predicted(&kbf), Predicted { false_positive_rate: 0.0, undecided_rate: 0.0 });
        for key in 0..3000_u32 {
            let value = (key % 500).to_le_bytes();
            kbf.insert(&key.to_le_bytes(), &value).unwrap();
            fcf.insert(&key.to_le_bytes(), &value).unwrap();
        }
        for errors in [predicted(&kbf), predicted(&fcf)] {
            let worst = errors.false_positive_rate.max(errors.undecided_rate);
            assert!((2e-4..1.2e-3).contains(&worst), "{errors:?}");
        }
        let one = predicted(&kbf);
        let further = 3000..2 * kbf.stats().capacity as u32;
        further.for_each(|key| kbf.insert(&key.to_le_bytes(), &[0; 4]).unwrap());
        assert_eq!(kbf.filters().len(), 2);
        let two = predicted(&kbf);
        assert!(two.false_positive_rate > 1.9 * one.false_positive_rate, "{two:?}");
        assert!(two.undecided_rate > one.undecided_rate, "{two:?}");
    }
}
