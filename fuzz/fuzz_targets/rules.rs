//! Any text as a rules file: a machine or an error that names the file, never a panic; and a
//! machine that was made can be stepped from everywhere.
#![no_main]

use acsm::flow::{Direction, TcpFlags};
use acsm::machine::{Next, Rules};
use acsm_filters::{Lookup, State};
use acsm_test_support::scratch_file;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let loaded = scratch_file::with_file(".toml", text.as_bytes(), |path| {
        Rules::load(&path.display().to_string())
    });
    match loaded {
        Ok(rules) => step_everywhere(&rules),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});

fn step_everywhere(rules: &Rules) {
    let states = rules.machine.states().len();
    assert!((1..=State::LIMIT).contains(&states));
    let known = (0..states).filter_map(State::new).map(Lookup::Known);
    for lookup in known.chain([Lookup::Absent, Lookup::DontKnow]) {
        for flags in 0..=u8::MAX {
            for direction in [Direction::Forward, Direction::Backward] {
                let outcome = rules.machine.step(lookup, direction, TcpFlags(flags), flags & 1 > 0);
                if let Next::Go(state) = outcome.next {
                    assert!(state.index() < states, "a state that there is");
                }
            }
        }
    }
}
