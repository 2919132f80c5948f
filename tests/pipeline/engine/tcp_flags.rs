//! `tcp-flags` against a direct transcription of its definition, over everything there is.

use acsm::flow::{Direction, TcpFlags};
use acsm::machine::{Machine, Next, Rules};
use acsm_filters::{Lookup, State};

/// The definition: the state after a packet, and which of (flow_fin, flow_rst) it fires.
fn defined(before: Option<&str>, flags: TcpFlags) -> (&'static str, bool, bool) {
    let fin = flags.has(TcpFlags::FIN);
    let rst = flags.has(TcpFlags::RST);
    match before {
        Some("finrst") => ("finrst", false, false),
        Some("fin") if rst => ("finrst", false, true),
        Some("fin") => ("fin", false, false),
        Some("rst") if fin => ("finrst", true, false),
        Some("rst") => ("rst", false, false),
        _ if fin && rst => ("finrst", true, true),
        _ if rst => ("rst", false, true),
        _ if fin => ("fin", true, false),
        _ if flags.has(TcpFlags::SYN.with(TcpFlags::ACK)) => ("synack", false, false),
        _ if flags.has(TcpFlags::SYN) => ("syn", false, false),
        _ => ("open", false, false),
    }
}

fn name(machine: &Machine, state: State) -> &str {
    machine.state_name(state)
}

#[test]
fn every_step_is_as_defined() {
    let rules = Rules::load("tcp-flags").unwrap();
    let machine = &rules.machine;
    let names: Vec<&str> = machine.states().iter().map(|state| state.name.as_str()).collect();
    assert_eq!(names, ["syn", "synack", "open", "fin", "rst", "finrst"]);
    let fires = |rule: &str| rules.list.find(rule).unwrap().id;
    let places = (0..names.len()).map(State::new).chain([None]);
    for place in places {
        let lookup = place.map_or(Lookup::Absent, Lookup::Known);
        let before = place.map(|state| name(machine, state));
        for flags in (0..=255).map(TcpFlags) {
            for direction in [Direction::Forward, Direction::Backward] {
                for data in [false, true] {
                    let outcome = machine.step(lookup, direction, flags, data);
                    let after = match outcome.next {
                        Next::Go(state) => Some(name(machine, state)),
                        Next::Keep => before,
                        Next::Delete => panic!("tcp-flags deletes by age only"),
                    };
                    let fin = outcome.alerts.contains(fires("flow_fin"));
                    let rst = outcome.alerts.contains(fires("flow_rst"));
                    let (wanted, wanted_fin, wanted_rst) = defined(before, flags);
                    assert_eq!(
                        (after, fin, rst),
                        (Some(wanted), wanted_fin, wanted_rst),
                        "{before:?} {flags}"
                    );
                }
            }
        }
    }
}

#[test]
fn without_a_state_only_what_is_certain_is_said() {
    let rules = Rules::load("tcp-flags").unwrap();
    let step = |flags| rules.machine.step(Lookup::DontKnow, Direction::Forward, flags, false);
    let fin_rst = step(TcpFlags::FIN.with(TcpFlags::RST));
    let Next::Go(state) = fin_rst.next else { panic!("both marks lead every state to finrst") };
    assert_eq!(name(&rules.machine, state), "finrst");
    assert_eq!(step(TcpFlags::RST).next, Next::Keep, "rst or finrst, by what was before");
    assert!(step(TcpFlags::RST).alerts.is_empty());
    let null = step(TcpFlags::default()).alerts;
    assert_eq!(null.iter().next(), rules.list.find("tcp_null_scan").map(|rule| rule.id));
    // Flags that no honest stack sends are odd whatever the state.
    let fin = step(TcpFlags::FIN).alerts;
    assert_eq!(fin.iter().next(), rules.list.find("tcp_fin_scan").map(|rule| rule.id));
}

/// `tcp-flags-delete`: FIN and RST delete and leave nothing, every other packet sets its class.
#[test]
fn fin_and_rst_delete_in_the_other_reading() {
    let rules = Rules::load("tcp-flags-delete").unwrap();
    let machine = &rules.machine;
    let fires = |rule: &str| rules.list.find(rule).unwrap().id;
    for place in (0..machine.states().len()).map(State::new).chain([None]) {
        let lookup = place.map_or(Lookup::Absent, Lookup::Known);
        for flags in (0..=255).map(TcpFlags) {
            let outcome = machine.step(lookup, Direction::Forward, flags, false);
            let (fin, rst) = (flags.has(TcpFlags::FIN), flags.has(TcpFlags::RST));
            let wanted = match defined(None, flags).0 {
                "fin" | "rst" | "finrst" if place.is_some() => Next::Delete,
                "fin" | "rst" | "finrst" => Next::Keep,
                class => {
                    let state = (0..).map(|n| State::new(n).unwrap());
                    Next::Go(state.into_iter().find(|s| name(machine, *s) == class).unwrap())
                }
            };
            let stays = wanted == Next::Go(place.unwrap_or(State::new(15).unwrap()));
            assert!(outcome.next == wanted || (stays && outcome.next == Next::Keep), "{flags}");
            let alerts = (place.is_some() && fin, place.is_some() && rst);
            let fired = ["flow_fin", "flow_rst"].map(|rule| outcome.alerts.contains(fires(rule)));
            assert_eq!((fired[0], fired[1]), alerts, "{place:?} {flags}");
        }
    }
}
