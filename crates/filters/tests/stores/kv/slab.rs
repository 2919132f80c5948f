//! Slabs: against the filter in memory, a hash map, and bytes that were altered.

use std::collections::HashMap;

use acsm_filters::codes::CodeFamily;
use acsm_filters::kv::slab::{
    self, Batch, CALL_STEPS_MAX, CodesCache, SLAB_BYTES_MAX, Slab, SlabError, SlabMut, Written,
};
use acsm_filters::kv::{Answer, CodeChoice, Decoding, KbfMap, KbfParameters, KvSpec, Write};
use acsm_filters::rng::Random;
use acsm_filters::snapshot::{SectionKind, SnapshotReader, crc32c};
use proptest::prelude::*;

use super::key;

const VALUES: u32 = 130;
/// Where the cells begin: docs/kbf-commands.md.
const HEAD_BYTES: usize = 1734;

fn parameters(spec: KvSpec, hashes: usize) -> KbfParameters {
    KbfParameters::with_cells(&spec, 96 * hashes as u64, hashes).unwrap()
}

fn small() -> KbfParameters {
    parameters(KvSpec::new(100, VALUES as usize), 3)
}

fn digest(parameters: &KbfParameters, number: u64) -> u128 {
    parameters.hash_key.digest_bytes(&key(number))
}

fn answers(bytes: &[u8], digests: &[u128], below: u32) -> Vec<Answer<u32>> {
    let (mut answers, mut codes) = (vec![], CodesCache::default());
    let slab = Slab::open(bytes, &mut codes).unwrap();
    slab.query(below, digests, |answer| answers.push(answer)).unwrap();
    answers
}

fn spec() -> impl Strategy<Value = (KvSpec, usize)> {
    let decoding = prop::sample::select(vec![
        Decoding::Joint,
        Decoding::Option1,
        Decoding::Option2,
        Decoding::Literal,
    ]);
    let codes = prop::sample::select(vec![CodeChoice::Algebraic, CodeChoice::Greedy]);
    let values = prop::sample::select(vec![VALUES as usize, 3000, 20_000]);
    (decoding, codes, values, any::<bool>(), 1..8usize).prop_map(
        |(decoding, codes, values, salted, hashes)| {
            let codes = if values > 4000 { CodeChoice::Algebraic } else { codes };
            (KvSpec { decoding, codes, salted, ..KvSpec::new(100, values) }, hashes)
        },
    )
}

/// An operation: which one, on which key, with which value.
type Operation = (u8, u64, u32);

/// The same operation on the filter. Returns what the slab should say about it.
fn on_filter(filter: &mut KbfMap, (kind, number, value): Operation, below: u32) -> Write {
    let digest = digest(filter.parameters(), number);
    if kind == 0 {
        filter.insert(digest, value);
        return Write::Done;
    }
    match filter.query(digest, below) {
        Answer::Found(old) if kind == 1 => filter.update(digest, old, value),
        Answer::Found(old) => filter.delete(digest, old),
        Answer::Absent => return Write::Absent,
        _ => return Write::Undecided,
    }
    Write::Done
}

fn on_slab(
    slab: &mut SlabMut<'_>,
    (kind, number, value): Operation,
    batch: Batch,
    below: u32,
) -> Write {
    let mut outcome = Write::Done;
    let digest = digest(slab.parameters(), number);
    let each = |write| outcome = write;
    let (batch, pairs) = (Some(batch), [(digest, value)]);
    let written = match kind {
        0 => slab.insert(batch, &pairs).map(|written| {
            assert_eq!(written, Written::Applied(1));
            Written::Applied(())
        }),
        1 => slab.update(batch, below, &pairs, each),
        _ => slab.delete(batch, below, &[digest], each),
    };
    assert_eq!(written.unwrap(), Written::Applied(()));
    outcome
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Cells, counts, outcomes and answers are those of the filter in memory, wherever the slab is.
    #[test]
    fn a_slab_is_the_filter(
        (spec, hashes) in spec(),
        operations in prop::collection::vec((0u8..3, 0u64..60, 0..VALUES), 0..120),
        (offset, below) in (0usize..64, 1..200u32),
    ) {
        let parameters = parameters(spec, hashes);
        let mut filter = KbfMap::new(parameters).unwrap();
        let mut codes = CodesCache::default();
        let mut memory = vec![0; offset];
        memory.extend(slab::create(&parameters).unwrap());
        let bytes = &mut memory[offset..];
        for (sequence, &operation) in (1..).zip(&operations) {
            let mut slab = SlabMut::open(bytes, &mut codes).unwrap();
            let batch = Batch { client: 1 + sequence % 3, sequence: sequence.div_ceil(3) };
            let outcome = on_slab(&mut slab, operation, batch, below);
            prop_assert_eq!(outcome, on_filter(&mut filter, operation, below));
        }
        prop_assert_eq!(&bytes[HEAD_BYTES..bytes.len() - 32], filter.bytes());
        let slab = Slab::open(bytes, &mut codes).unwrap();
        prop_assert_eq!(slab.items(), filter.pairs());
        prop_assert_eq!(slab.parameters(), &parameters);
        let digests: Vec<u128> = (0..100).map(|number| digest(&parameters, number)).collect();
        let expected: Vec<_> = digests.iter().map(|&digest| filter.query(digest, below)).collect();
        prop_assert_eq!(answers(bytes, &digests, below), expected);
    }
}

/// Within its capacity every item's value is among the candidates, and nearly all are found.
#[test]
fn a_slab_within_its_capacity_is_a_map() {
    let parameters = KbfParameters::new(&KvSpec::new(3000, 3000)).unwrap();
    let (mut bytes, mut codes) = (slab::create(&parameters).unwrap(), CodesCache::default());
    let mut random = Random::new(11);
    let mut map: HashMap<u64, u32> = HashMap::new();
    for sequence in 1..=30 {
        let mut slab = SlabMut::open(&mut bytes, &mut codes).unwrap();
        let batch = |kind| Some(Batch { client: kind, sequence });
        let fresh: Vec<(u64, u32)> =
            (0..100).map(|n| (sequence * 1000 + n, random.below(3000) as u32)).collect();
        let of = |pairs: &[(u64, u32)]| -> Vec<(u128, u32)> {
            pairs.iter().map(|&(number, value)| (digest(&parameters, number), value)).collect()
        };
        assert_eq!(slab.insert(batch(1), &of(&fresh)).unwrap(), Written::Applied(100));
        map.extend(fresh.iter().copied());
        let mut known: Vec<u64> = map.keys().copied().collect();
        known.sort_unstable();
        let changed: Vec<(u64, u32)> =
            known.iter().step_by(7).map(|&number| (number, random.below(3000) as u32)).collect();
        let mut outcomes = vec![];
        slab.update(batch(2), u32::MAX, &of(&changed), |write| outcomes.push(write)).unwrap();
        for (&(number, value), outcome) in changed.iter().zip(outcomes) {
            assert_ne!(outcome, Write::Absent);
            if outcome == Write::Done {
                map.insert(number, value);
            }
        }
        let mut outcomes = vec![];
        let removed: Vec<u64> = known.into_iter().step_by(11).collect();
        let digests: Vec<u128> =
            removed.iter().map(|&number| digest(&parameters, number)).collect();
        slab.delete(batch(3), u32::MAX, &digests, |write| outcomes.push(write)).unwrap();
        for (number, outcome) in removed.iter().zip(outcomes) {
            if outcome == Write::Done {
                map.remove(number);
            }
        }
    }
    let slab = Slab::open(&bytes, &mut codes).unwrap();
    assert_eq!(slab.items(), map.len() as u64);
    let mut found = 0;
    for (&number, value) in &map {
        let answer = answers(&bytes, &[digest(&parameters, number)], u32::MAX).remove(0);
        assert!(answer.allows(value), "{number}: {answer:?} and not {value}");
        found += usize::from(answer == Answer::Found(*value));
    }
    // At most p = 0.001 of them are undecided at the capacity, which is not reached.
    assert!(found as f64 > 0.99 * map.len() as f64, "{found} of {}", map.len());
}

#[test]
fn what_is_refused_writes_nothing() {
    let (mut bytes, mut codes) = (slab::create(&small()).unwrap(), CodesCache::default());
    let pair = |number, value| (digest(&small(), number), value);
    let first = Some(Batch { client: 5, sequence: 1 });
    SlabMut::open(&mut bytes, &mut codes).unwrap().insert(first, &[pair(1, 1)]).unwrap();
    let before = bytes.clone();
    let mut slab = SlabMut::open(&mut bytes, &mut codes).unwrap();
    let second = Some(Batch { client: 5, sequence: 2 });
    let error = slab.insert(second, &[pair(2, 2), pair(3, VALUES)]).unwrap_err();
    assert_eq!(error.to_string(), "the value 130 is not below 130");
    let error = slab.update(second, 9, &[pair(1, u32::MAX)], |_| panic!()).unwrap_err();
    assert!(matches!(error, SlabError::Value { value: u32::MAX, .. }));
    let error = slab.insert(Some(Batch { client: 5, sequence: 3 }), &[pair(2, 2)]).unwrap_err();
    assert!(matches!(error, SlabError::Gap { client: 5, next: 2, given: 3 }));
    assert_eq!(slab.delete(first, 9, &[pair(1, 1).0], |_| panic!()).unwrap(), Written::Repeat);
    let other = slab::create(&parameters(KvSpec::new(100, VALUES as usize), 4)).unwrap();
    let other = Slab::open(&other, &mut codes).unwrap();
    let error = slab.join(second, &other).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the stores cannot be joined: they have different numbers of cells per key"
    );
    assert_eq!(bytes, before);
}

#[test]
fn sizes_beyond_the_limits_are_refused() {
    let spec = KvSpec::new(100, VALUES as usize);
    let with = |cells| KbfParameters::with_cells(&spec, cells, 3).unwrap();
    let most = (SLAB_BYTES_MAX - HEAD_BYTES - 32) as u64 / 4;
    let largest = slab::create(&with(most / 48 * 48)).unwrap();
    assert!(largest.len() > SLAB_BYTES_MAX - 200 && largest.len() <= SLAB_BYTES_MAX);
    assert!(matches!(slab::create(&with(most + 16)), Err(SlabError::TooLarge { .. })));
    assert!(matches!(slab::bytes_of(&with(1 << 30)), Err(SlabError::TooLarge { .. })));
    let values = KbfParameters::new(&KvSpec::new(100, 1 << 20)).unwrap();
    assert!(matches!(slab::create(&values), Err(SlabError::TooManyValues { .. })));
    // No slab is created with other fields.
    let odd = KbfParameters { family: CodeFamily::Algebraic { degree: 9 }, ..small() };
    assert!(matches!(slab::create(&odd), Err(SlabError::Parameters)));
    let odd = KbfParameters { rate: f64::NAN, ..small() };
    assert!(matches!(slab::create(&odd), Err(SlabError::Parameters)));
}

#[test]
fn a_joined_slab_has_the_items_of_both_and_a_compressed_one_half_of_the_cells() {
    let (parameters, mut codes) = (small(), CodesCache::default());
    let mut filled = |numbers: std::ops::Range<u64>| {
        let mut bytes = slab::create(&parameters).unwrap();
        let pairs: Vec<_> = numbers.map(|n| (digest(&parameters, n), n as u32)).collect();
        SlabMut::open(&mut bytes, &mut codes).unwrap().insert(None, &pairs).unwrap();
        bytes
    };
    let (both, mut first, second) = (filled(0..40), filled(0..25), filled(25..40));
    let other = Slab::open(&second, &mut codes).unwrap();
    let batch = |sequence| Some(Batch { client: 9, sequence });
    let mut slab = SlabMut::open(&mut first, &mut codes).unwrap();
    assert_eq!(slab.join(batch(1), &other).unwrap(), Written::Applied(40));
    assert_eq!(slab.join(batch(1), &other).unwrap(), Written::Repeat);
    assert_eq!(first[HEAD_BYTES..], both[HEAD_BYTES..]);

    let Written::Applied(half) = slab::compressed(&first, batch(2), &mut codes).unwrap() else {
        panic!("a repeat")
    };
    assert_eq!(first.len() - half.len(), parameters.cells() * 4 / 2);
    assert_eq!(slab::compressed(&half, batch(2), &mut codes).unwrap(), Written::Repeat);
    let slab = Slab::open(&half, &mut codes).unwrap();
    assert_eq!((slab.items(), slab.last_sequence(9).unwrap()), (40, 2));
    assert_eq!(slab.parameters().capacity, parameters.capacity / 2);
    let digests: Vec<u128> = (0..40).map(|number| digest(&parameters, number)).collect();
    for (number, answer) in (0..).zip(answers(&half, &digests, VALUES)) {
        assert!(answer.allows(&number), "{number}: {answer:?}");
    }
    let mut quarter = half;
    while let Ok(Written::Applied(smaller)) = slab::compressed(&quarter, None, &mut codes) {
        quarter = smaller;
    }
    let cells_per_part = Slab::open(&quarter, &mut codes).unwrap().parameters().cells_per_part;
    assert_eq!(cells_per_part, 3, "96 = 3 · 2⁵");
}

#[test]
fn repeats_and_gaps_are_found_before_other_reasons_to_refuse() {
    let mut codes = CodesCache::default();
    let batch = |sequence| Some(Batch { client: 1, sequence });
    let four = parameters(KvSpec::new(100, VALUES as usize), 4);
    let other = slab::create(&small()).unwrap();
    let mut bytes = slab::create(&four).unwrap();
    let mut slab = SlabMut::open(&mut bytes, &mut codes).unwrap();
    slab.insert(batch(1), &[(digest(&four, 1), 7)]).unwrap();
    let other = Slab::open(&other, &mut codes).unwrap();
    // A slab of another size, in a batch that was applied before, or that comes too early.
    assert_eq!(slab.join(batch(1), &other).unwrap(), Written::Repeat);
    assert!(matches!(slab.join(batch(3), &other), Err(SlabError::Gap { next: 2, .. })));
    assert!(matches!(slab.join(batch(2), &other), Err(SlabError::Kv(_))));
    // Halved until that is impossible.
    while let Ok(Written::Applied(half)) = slab::compressed(&bytes, None, &mut codes) {
        bytes = half;
    }
    let mut compressed = |sequence| slab::compressed(&bytes, batch(sequence), &mut codes);
    assert_eq!(compressed(1).unwrap(), Written::Repeat);
    assert!(matches!(compressed(3), Err(SlabError::Gap { next: 2, .. })));
    assert!(matches!(compressed(2), Err(SlabError::Kv(_))));
}

#[test]
fn a_slab_is_a_snapshot() {
    let bytes = slab::create(&small()).unwrap();
    let mut input = SnapshotReader::new(&bytes[..]).unwrap();
    for (kind, at) in [(b"KBFP", 40), (b"KBFS", 118), (b"KBFC", 158)] {
        assert_eq!(input.section(SectionKind(*kind)).unwrap().offset, at);
    }
    let cells = input.unchecked_section(SectionKind(*b"KBFX")).unwrap();
    assert_eq!((cells.offset, cells.is_checked), (HEAD_BYTES as u64, false));
    input.finish().unwrap();
}

/// A slab in which each cell has five items on average: for most items all values have to be tried.
fn overfull(codes: CodeChoice) -> (KbfParameters, Vec<u8>, Vec<(u128, u32)>) {
    let spec = KvSpec { codes, ..KvSpec::new(1, 3000) };
    let parameters = KbfParameters::with_cells(&spec, 64, 4).unwrap();
    let pairs: Vec<(u128, u32)> =
        (0..80).map(|n| (digest(&parameters, n), 17 * n as u32)).collect();
    let mut bytes = slab::create(&parameters).unwrap();
    let mut cache = CodesCache::default();
    SlabMut::open(&mut bytes, &mut cache).unwrap().insert(None, &pairs).unwrap();
    (parameters, bytes, pairs)
}

/// A call that would occupy a server for long is refused, says how many items it may have, and has
/// written nothing.
#[test]
fn decoding_is_limited_in_a_call() {
    let mut codes = CodesCache::default();
    for (choice, most) in [(CodeChoice::Greedy, 7..100), (CodeChoice::Algebraic, 5500..40_000)] {
        let (parameters, mut bytes, pairs) = overfull(choice);
        let many: Vec<(u128, u32)> = pairs.iter().copied().cycle().take(40_000).collect();
        let digests: Vec<u128> = many.iter().map(|pair| pair.0).collect();
        let slab = Slab::open(&bytes, &mut codes).unwrap();
        let refused = slab.query(3000, &digests, |_| panic!("an answer")).unwrap_err();
        let SlabError::TooMuchWork { items, needed, limit, items_possible } = refused else {
            panic!("{refused}")
        };
        assert_eq!((items, limit), (40_000, CALL_STEPS_MAX));
        assert!(needed > limit && most.contains(&items_possible), "{items_possible}");
        // One item is always answered, and absent ones cost nothing.
        let mut answers = 0;
        slab.query(3000, &digests[..1], |_| answers += 1).unwrap();
        assert_eq!(answers, 1);
        let before = bytes.clone();
        let batch = Some(Batch { client: 1, sequence: 1 });
        let mut slab = SlabMut::open(&mut bytes, &mut codes).unwrap();
        let updated = slab.update(batch, 3000, &many, |_| panic!("an update"));
        assert!(matches!(updated, Err(SlabError::TooMuchWork { .. })), "{updated:?}");
        let deleted = slab.delete(batch, 3000, &digests, |_| panic!("a deletion"));
        assert!(matches!(deleted, Err(SlabError::TooMuchWork { .. })), "{deleted:?}");
        assert!(bytes == before);
        let empty = slab::create(&parameters).unwrap();
        let slab = Slab::open(&empty, &mut codes).unwrap();
        slab.query(3000, &digests, |answer| assert_eq!(answer, Answer::Absent)).unwrap();
    }
}

/// All operations on bytes that may be anything: an error or a result, never a panic.
fn try_all(bytes: &[u8]) -> bool {
    let mut codes = CodesCache::default();
    let parameters = small();
    let pairs: Vec<(u128, u32)> = (0..40).map(|n| (digest(&parameters, n), n as u32)).collect();
    let digests: Vec<u128> = pairs.iter().map(|pair| pair.0).collect();
    let batch = Some(Batch { client: 1, sequence: 2 });
    let mut copy = bytes.to_vec();
    let is_slab = Slab::open(bytes, &mut codes).is_ok();
    if let Ok(slab) = Slab::open(bytes, &mut codes) {
        let (_, _) = (slab.last_sequence(1), slab.clients());
        let _ = slab.query(u32::MAX, &digests, |_| ());
    }
    if let Ok(mut slab) = SlabMut::open(&mut copy, &mut codes) {
        let _ = slab.insert(batch, &pairs);
        let _ = slab.update(None, 100, &pairs, |_| ());
        let _ = slab.delete(None, 100, &digests, |_| ());
        let plain = slab::create(&parameters).unwrap();
        let _ = slab.join(None, &Slab::open(&plain, &mut codes).unwrap());
        let _ = slab::compressed(bytes, batch, &mut codes);
    }
    is_slab
}

/// Puts right checksums into the headers of the first three sections.
fn reseal(bytes: &mut [u8]) {
    for (header, len) in [(16, 54), (94, 16), (134, 1552)] {
        let content = header + 24..header + 24 + len;
        let crc = crc32c(&bytes[content]).to_le_bytes();
        bytes[header + 16..header + 20].copy_from_slice(&crc);
        let crc = crc32c(&bytes[header..header + 20]).to_le_bytes();
        bytes[header + 20..header + 24].copy_from_slice(&crc);
    }
}

#[test]
fn altered_bytes_are_refused_or_are_a_slab() {
    let mut bytes = slab::create(&small()).unwrap();
    let pairs: Vec<(u128, u32)> = (0..60).map(|n| (digest(&small(), n), n as u32)).collect();
    let mut codes = CodesCache::default();
    let batch = Some(Batch { client: 1, sequence: 1 });
    SlabMut::open(&mut bytes, &mut codes).unwrap().insert(batch, &pairs).unwrap();
    let cells = HEAD_BYTES..bytes.len() - 32;
    for at in (0..HEAD_BYTES).chain(cells.clone().step_by(37)).chain(cells.end..bytes.len()) {
        let mut altered = bytes.clone();
        altered[at] ^= 0x81;
        let is_clients = (134..1710).contains(&at);
        assert_eq!(try_all(&altered), cells.contains(&at) || is_clients, "byte {at}");
    }
    for len in (0..bytes.len()).step_by(13) {
        assert!(!try_all(&bytes[..len]), "{len} bytes");
    }
    let (mut random, mut slabs) = (Random::new(5), 0);
    for _ in 0..3000 {
        let mut altered = bytes.clone();
        for _ in 0..1 + random.below(4) {
            let at = match random.below(4) {
                0 => 40 + random.below(54),
                1 => 118 + random.below(16),
                2 => 158 + random.below(1552),
                _ => cells.start as u64 + random.below(cells.len() as u64),
            };
            altered[at as usize] = random.next_u64() as u8;
        }
        reseal(&mut altered);
        slabs += usize::from(try_all(&altered));
    }
    assert!((500..2900).contains(&slabs), "{slabs} of 3000 are slabs");
}
