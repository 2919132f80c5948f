//! Machines compiled from any rules file: steps are total, in range, and what a reading of the
//! rows one by one gives.

use std::fmt::Write;
use std::fs;

use acsm::flow::{Direction, TcpFlags};
use acsm::machine::{Next, Outcome, Rules};
use acsm_filters::{Lookup, State};
use proptest::prelude::*;

const DIRECTIONS: [Direction; 2] = [Direction::Forward, Direction::Backward];

fn lookups() -> impl Iterator<Item = Lookup> {
    let known = (0..State::LIMIT).filter_map(State::new).map(Lookup::Known);
    known.chain([Lookup::Absent, Lookup::DontKnow])
}

fn assert_in_range(rules: &Rules, outcome: Outcome) {
    if let Next::Go(state) = outcome.next {
        assert!(state.index() < rules.machine.states().len());
    }
    assert!(outcome.alerts.iter().all(|rule| rules.list.get(rule).is_some()));
}

#[test]
fn steps_of_shipped_machines_are_total_and_in_range() {
    for name in ["tcp-flags", "tcp-flags-delete", "tcp-connection"] {
        let rules = Rules::load(name).unwrap();
        for lookup in lookups() {
            for direction in DIRECTIONS {
                for flags in (0..=255).map(TcpFlags) {
                    for data in [false, true] {
                        let outcome = rules.machine.step(lookup, direction, flags, data);
                        assert_in_range(&rules, outcome);
                    }
                }
            }
        }
    }
}

/// What is certain without the state is what every state leads to.
#[test]
fn steps_without_a_state_agree_with_every_state() {
    for name in ["tcp-flags", "tcp-flags-delete", "tcp-connection"] {
        let rules = Rules::load(name).unwrap();
        let states = rules.machine.states().len();
        for direction in DIRECTIONS {
            for flags in (0..=255).map(TcpFlags) {
                let step = |lookup| rules.machine.step(lookup, direction, flags, false);
                let after = |state| match step(Lookup::Known(state)).next {
                    Next::Keep => Next::Go(state),
                    next => next,
                };
                let unknown = step(Lookup::DontKnow);
                let mut all = (0..states).filter_map(State::new).map(after);
                let first = all.next().unwrap();
                let agreed = all.all(|next| next == first);
                assert_eq!(unknown.next, if agreed { first } else { Next::Keep }, "{flags}");
            }
        }
    }
}

/// A row as a rules file has it. States are numbers; `absent` is the number of states.
#[derive(Debug, Clone)]
struct Row {
    places: Vec<usize>,
    set: u8,
    clear: u8,
    go: Option<usize>,
    alert: bool,
}

fn row(states: usize) -> impl Strategy<Value = Row> {
    let places = prop::collection::vec(0..=states, 1..4);
    // few bits, or rows hardly ever match
    let bits = || (any::<u8>(), any::<u8>(), any::<u8>()).prop_map(|(a, b, c)| a & b & c);
    (places, bits(), bits(), prop::option::of(0..states), any::<bool>()).prop_map(
        |(places, set, clear, go, alert)| Row { places, set, clear: clear & !set, go, alert },
    )
}

fn machine() -> impl Strategy<Value = (usize, Vec<Row>)> {
    (1..=State::LIMIT)
        .prop_flat_map(|states| (Just(states), prop::collection::vec(row(states), 0..12)))
}

fn written(states: usize, rows: &[Row]) -> String {
    let mut text = String::from("flow_keys = [\"connection\", \"pair\"]\n");
    for state in 0..states {
        writeln!(text, "[[state]]\nname = \"s{state}\"\ndoc = \"x\"").unwrap();
    }
    for Row { places, set, clear, go, alert } in rows {
        let name = |&place: &usize| match place {
            absent if absent == states => "absent".to_owned(),
            place => format!("s{place}"),
        };
        let places: Vec<String> = places.iter().map(name).collect();
        let (set, clear) = (TcpFlags(*set), TcpFlags(*clear));
        writeln!(text, "[[transition]]\nin = {places:?}\nset = \"{set}\"\nclear = \"{clear}\"")
            .unwrap();
        if let Some(go) = go {
            writeln!(text, "go = \"s{go}\"").unwrap();
        }
        if *alert {
            writeln!(text, "alert = [\"odd\"]").unwrap();
        }
    }
    text + "[[rule]]\nname = \"odd\"\nsid = 1\nseverity = 4\ncategory = \"misc-activity\"\n\
            kind = \"flag\"\nmessage = \"x\"\n"
}

/// The place after a packet, and whether the rule fires, by reading the rows.
fn read_rows(rows: &[Row], place: usize, flags: u8) -> (usize, bool) {
    for row in rows {
        let flags_fit = flags & row.set == row.set && flags & row.clear == 0;
        if row.places.contains(&place) && flags_fit {
            return (row.go.unwrap_or(place), row.alert);
        }
    }
    (place, false)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() })]

    #[test]
    fn the_table_is_what_the_rows_say((states, rows) in machine()) {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("random.toml");
        fs::write(&path, written(states, &rows)).unwrap();
        let rules = Rules::load(path.to_str().unwrap()).unwrap();
        for place in 0..=states {
            let state = State::new(place).filter(|_| place < states);
            for flags in 0..=255u8 {
                let lookup = state.map_or(Lookup::Absent, Lookup::Known);
                let outcome =
                    rules.machine.step(lookup, Direction::Forward, TcpFlags(flags), false);
                assert_in_range(&rules, outcome);
                let after = match outcome.next {
                    Next::Go(state) => state.index(),
                    Next::Keep => place,
                    Next::Delete => states,
                };
                let fired = !outcome.alerts.is_empty();
                prop_assert_eq!((after, fired), read_rows(&rows, place, flags));
            }
        }
    }
}
