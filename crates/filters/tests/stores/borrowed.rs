//! Stores over borrowed bytes: the bytes are the complete store, whatever they contain.

use acsm_filters::{
    Backend, Budget, Epoch, Expire, Kbf, KbfDecode, KbfRule, Lookup, Random, STAMPS, SbfRules,
    State, Store, StoreError, StoreSpec, UNTIMED, array_bytes,
};
use acsm_filters::{Bhbf, BhbfRule, Dbf, Fcf, HALVES, Sbf, SbfRule, Sizing};

use crate::support::{Flow, flows};

const STATES: usize = 6;

fn sizing(backend: Backend, expire: Expire) -> Sizing {
    let budget = Budget::FpRate(0.1);
    StoreSpec { flows: 3000, budget, expire, ..StoreSpec::new(backend, STATES) }.sizing().unwrap()
}

/// Calls `$check` with the sizing of each structure and a function that makes it over bytes.
macro_rules! for_every_store {
    ($check:ident) => {{
        let stamps = |backend| sizing(backend, Expire::Stamps);
        let timer = |backend| sizing(backend, Expire::Timer);
        let none = |backend| sizing(backend, Expire::None);
        let kbf = || KbfRule::new(STATES, KbfDecode::AllPairs);
        let sbf = SbfRule::new(SbfRules::Stateful);
        $check!(stamps(Backend::Kbf), |bytes, sizing| Kbf::<8, STAMPS, _>::over(
            bytes,
            kbf(),
            sizing
        ));
        $check!(none(Backend::Kbf), |bytes, sizing| Kbf::<8, UNTIMED, _>::over(
            bytes,
            kbf(),
            sizing
        ));
        $check!(stamps(Backend::Sbf), |bytes, sizing| Sbf::<8, STAMPS, _>::over(
            bytes, sbf, sizing
        ));
        $check!(stamps(Backend::Bhbf), |bytes, sizing| {
            Bhbf::<STAMPS, _>::over(bytes, BhbfRule::new(STATES), sizing)
        });
        $check!(stamps(Backend::Dbf), |bytes, sizing| Dbf::<2, STAMPS, _>::over(
            bytes, STATES, sizing
        ));
        $check!(timer(Backend::Kbf), |bytes, sizing| {
            Kbf::<8, HALVES, _>::over(bytes, kbf(), sizing)
        });
        $check!(timer(Backend::Bhbf), |bytes, sizing| {
            Bhbf::<HALVES, _>::over(bytes, BhbfRule::new(STATES), sizing)
        });
        $check!(timer(Backend::Dbf), |bytes, sizing| {
            Dbf::<4, HALVES, _>::over(bytes, STATES, sizing)
        });
        $check!(timer(Backend::Fcf), |bytes, sizing| Fcf::<true, _>::over(bytes, STATES, sizing));
        $check!(none(Backend::Fcf), |bytes, sizing| Fcf::<false, _>::over(bytes, STATES, sizing));
    }};
}

fn state(n: u64) -> State {
    State::new(n as usize % STATES).unwrap()
}

/// Operations at random on any answers.
fn drive<S: Store<Key = ()>>(store: &mut S, flows: &[Flow], random: &mut Random, now: &mut Epoch) {
    for _ in 0..2000 {
        if random.chance(0.01) {
            now.0 += random.below(4) as u32;
        }
        let place = store.locate(flows[random.below(flows.len() as u64) as usize].id, ());
        let found = store.lookup(&place, *now);
        match (found.answer, random.below(8)) {
            (_, 0) => store.delete(&place, &found, *now),
            (_, 1) => store.touch(&place, &found, now.stamp()),
            (_, 2) => drop(store.sweep(*now, 500)),
            (Lookup::Absent, _) => drop(store.insert(&place, state(random.below(6)), now.stamp())),
            _ => drop(store.modify(&place, &found, state(random.below(6)), now.half_stamp())),
        }
    }
}

#[test]
fn a_store_is_what_its_bytes_hold() {
    macro_rules! check {
        ($sizing:expr, $over:expr) => {{
            let sizing = $sizing;
            let flows: Vec<Flow> = flows(1).take(300).collect();
            let (mut random, mut now) = (Random::new(2), Epoch(5));
            let mut bytes = vec![0; array_bytes(&sizing)];
            let mut store = $over(&mut bytes, &sizing).unwrap();
            drive(&mut store, &flows, &mut random, &mut now);
            let answers: Vec<Lookup> = flows
                .iter()
                .map(|flow| store.lookup(&store.locate(flow.id, ()), now).answer)
                .collect();
            let occupied = store.stats().occupied;
            assert!(occupied > 0 && answers.iter().any(|answer| *answer != Lookup::Absent));

            let mut again = $over(&mut bytes, &sizing).unwrap();
            assert_eq!(again.stats().occupied, occupied);
            for (flow, answer) in flows.iter().zip(answers) {
                let place = again.locate(flow.id, ());
                assert_eq!(again.lookup(&place, now).answer, answer);
            }
        }};
    }
    for_every_store!(check);
}

#[test]
fn any_bytes_are_a_store() {
    macro_rules! check {
        ($sizing:expr, $over:expr) => {{
            let sizing = $sizing;
            let flows: Vec<Flow> = flows(3).take(300).collect();
            let mut random = Random::new(4);
            for _ in 0..10 {
                let mut bytes: Vec<u8> =
                    (0..array_bytes(&sizing)).map(|_| random.next_u64() as u8).collect();
                let mut now = Epoch(random.next_u64() as u32 / 2);
                let mut store = $over(&mut bytes, &sizing).unwrap();
                drive(&mut store, &flows, &mut random, &mut now);
                let stats = store.stats();
                assert!(stats.occupied <= 2 * stats.cells, "{stats:?}");
            }
        }};
    }
    for_every_store!(check);
}

#[test]
fn bytes_of_another_length_are_refused() {
    macro_rules! check {
        ($sizing:expr, $over:expr) => {{
            let sizing = $sizing;
            let needed = array_bytes(&sizing);
            for given in [0, 64, needed - 1, needed + 1, needed + 64] {
                let mut bytes = vec![0; given];
                let refused = $over(&mut bytes, &sizing).map(|_| ());
                assert_eq!(refused, Err(StoreError::WrongLength { needed, given }));
            }
        }};
    }
    for_every_store!(check);
}
