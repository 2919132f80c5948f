//! Any bytes as a snapshot, and any change to the content of a section with a right checksum: a store
//! that works, or an error; never a panic, and no memory for what is only claimed.
#![no_main]

use acsm_filters::pending::{Evidence, PendingFlow, PendingTable};
use acsm_filters::snapshot::{Encoder, Persist, SectionKind, SnapshotReader, SnapshotWriter};
use acsm_filters::{
    Backend, Bhbf, BhbfRule, Budget, Dbf, Epoch, Exact, Expire, Fcf, FlowId, HALVES, Kbf,
    KbfDecode, KbfRule, Lookup, Random, Recycling, STAMPS, Sbf, SbfRule, SbfRules, Sizing, State,
    Store, StoreSpec, UNTIMED,
};
use libfuzzer_sys::fuzz_target;

const STATES: usize = 6;

fuzz_target!(|data: &[u8]| {
    read_sections(data);
    let Some((&kind, input)) = data.split_first() else { return };
    let timer = |backend| sizing(backend, Expire::Timer);
    let sbf = SbfRule::new(SbfRules::Stateful);
    let kbf = || KbfRule::new(STATES, KbfDecode::AllPairs);
    let two_phase = sizing(Backend::Bhbf, Expire::TwoPhase);
    let bhbf = || Bhbf::<UNTIMED>::new(BhbfRule::new(STATES), &two_phase);
    let stamps = sizing(Backend::Sbf, Expire::Stamps);
    match kind % 8 {
        0 => check_store(input, || Exact::<u32>::growing(&timer(Backend::Exact), true)),
        1 => check_store(input, || Exact::<u32>::capped(&timer(Backend::Exact), true)),
        2 => check_store(input, || Fcf::<true>::new(STATES, &timer(Backend::Fcf))),
        3 => check_store(input, || Dbf::<2, HALVES>::new(STATES, &timer(Backend::Dbf))),
        4 => check_store(input, || Sbf::<8, STAMPS>::new(sbf, &stamps)),
        5 => check_store(input, || Kbf::<8, HALVES>::new(kbf(), &timer(Backend::Kbf))),
        6 => check_store(input, || Recycling::new(&two_phase, bhbf)),
        _ => check_pending(input),
    }
});

/// As small as they come: a line or two.
fn sizing(backend: Backend, expire: Expire) -> Sizing {
    let budget = Budget::FpRate(0.3);
    let spec = StoreSpec { flows: 30, budget, expire, ..StoreSpec::new(backend, STATES) };
    spec.sizing().expect("there is such a store")
}

/// The bytes as they are. Checksums stop most of them.
fn read_sections(bytes: &[u8]) {
    let Ok(mut input) = SnapshotReader::new(bytes) else { return };
    while let Ok(section) = input.unchecked_section(SectionKind::STORE) {
        assert!(section.content.len() <= bytes.len());
    }
    if let Err(error) = input.finish() {
        assert!(!error.to_string().is_empty());
    }
}

/// `used` as it was saved, with some bits changed and right checksums, loaded into `empty`. The input
/// says from which byte on which bits.
fn loaded<T: Persist>(input: &[u8], used: &T, empty: T) -> Option<T> {
    let (place, bits) = input.split_first_chunk()?;
    let mut content = Encoder::default();
    used.encode(&mut content);
    let mut altered = content.parts().concat();
    let place = usize::from(u16::from_le_bytes(*place)) % altered.len();
    altered.iter_mut().skip(place).zip(bits).for_each(|(byte, bits)| *byte ^= bits);
    let mut out = SnapshotWriter::new(vec![]).expect("memory takes everything");
    out.section(SectionKind::STORE, &altered).expect("memory takes everything");
    let bytes = out.finish().expect("memory takes everything");
    let mut input = SnapshotReader::new(&bytes[..]).expect("the header is right");
    match input.load(SectionKind::STORE, empty) {
        Ok(loaded) => Some(loaded),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

/// The key of a flow, whatever the store keys on.
trait Key: Copy {
    fn of(flow: u32) -> Self;
}

impl Key for () {
    fn of(_flow: u32) {}
}

impl Key for u32 {
    fn of(flow: u32) -> u32 {
        flow
    }
}

/// Uses a store as an engine would, before it is saved and after it was loaded.
fn check_store<S, E>(input: &[u8], make: impl Fn() -> Result<S, E>)
where
    S: Store<Key: Key> + Persist,
{
    let (Ok(mut used), Ok(empty)) = (make(), make()) else { return };
    drive(&mut used, 0);
    if let Some(mut store) = loaded(input, &used, empty) {
        drive(&mut store, 2);
    }
}

fn drive<S: Store<Key: Key>>(store: &mut S, start: u32) {
    let mut random = Random::new(start.into());
    for n in 0..100 {
        let (flow, now) = (random.below(30) as u32, Epoch(start + n / 25));
        let id = u128::from(Random::new(flow.into()).next_u64()) << 64 | u128::from(flow);
        let place = store.locate(FlowId(id), Key::of(flow));
        let found = store.lookup(&place, now);
        match (random.below(6), found.answer) {
            (0, _) => store.delete(&place, &found, now),
            (1, _) => store.touch(&place, &found, now.stamp()),
            (2, _) => drop(store.sweep(now, 50)),
            (_, Lookup::Absent) => drop(store.insert(&place, State::FIRST, now.stamp())),
            _ => drop(store.modify(&place, &found, State::FIRST, now.half_stamp())),
        }
    }
    store.stats();
}

fn check_pending(input: &[u8]) {
    let (Ok(mut used), Ok(empty)) = (PendingTable::new(1), PendingTable::new(1)) else { return };
    drive_pending(&mut used, 0);
    if let Some(mut table) = loaded(input, &used, empty) {
        drive_pending(&mut table, 2);
    }
}

fn drive_pending(table: &mut PendingTable, start: u32) {
    let mut random = Random::new(start.into());
    for n in 0..100 {
        let id = FlowId(u128::from(random.below(30)));
        let lookup = table.lookup(id, Epoch(start + n / 25));
        match random.below(5) {
            0 => table.admit(&lookup, Evidence::NONE),
            1 => table.delete(&lookup),
            _ => {
                let flow = PendingFlow { state: State::FIRST, evidence: Evidence::COMPLETE };
                table.put(&lookup, flow);
            }
        }
    }
    table.stats();
}
