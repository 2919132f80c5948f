//! `--check`: the errors of a store, measured with the pairs that are in it.

use serde::Serialize;

use crate::cmd::pairs::source::PairSource;
use acsm_filters::kv::{Answer, KvStore, Maplet, check_key};

/// What is added to a key for one that is not in the store.
const ABSENT_SUFFIX: &[u8] = b"\0 is absent";

/// What a store answered about keys whose values are known, and about as many that it does not have.
#[derive(Debug, Default, Serialize)]
pub struct Measured {
    /// Keys that should be there.
    pub asked: u64,
    /// Found, with the value that they should have.
    pub right: u64,
    /// Found with another value, or with candidates that lack it.
    pub wrong: u64,
    /// Several candidates, or undecided.
    pub undecided: u64,
    /// Not there.
    pub absent: u64,
    /// Keys that should not be there…
    pub absent_asked: u64,
    /// …and got another answer than "absent".
    pub false_positives: u64,
    /// Of the keys that should be there.
    pub undecided_rate: f64,
    /// Of those that should not.
    pub false_positive_rate: f64,
}

/// Asks a store about all keys of a source.
pub fn measure<M: Maplet>(
    store: &KvStore<M>,
    source: &PairSource<'_>,
    is_quiet: bool,
) -> anyhow::Result<Measured> {
    let mut measured = Measured::default();
    let mut reading = source.reading(1, is_quiet);
    let mut absent_key = vec![];
    source.open(&reading)?.for_each(&mut reading, |pair| {
        check_key(&pair.key)?;
        let answer = store.query(&pair.key);
        let allows = answer.allows(&pair.value.as_slice());
        measured.asked += 1;
        *match answer {
            Answer::Absent => &mut measured.absent,
            _ if !allows => &mut measured.wrong,
            Answer::Found(_) => &mut measured.right,
            Answer::OneOf(_) | Answer::Undecided => &mut measured.undecided,
        } += 1;
        absent_key.clear();
        absent_key.extend_from_slice(&pair.key);
        absent_key.extend_from_slice(ABSENT_SUFFIX);
        if check_key(&absent_key).is_ok() {
            measured.absent_asked += 1;
            measured.false_positives += u64::from(store.query(&absent_key) != Answer::Absent);
        }
        Ok(())
    })?;
    let rate = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    measured.undecided_rate = rate(measured.undecided, measured.asked);
    measured.false_positive_rate = rate(measured.false_positives, measured.absent_asked);
    Ok(measured)
}
