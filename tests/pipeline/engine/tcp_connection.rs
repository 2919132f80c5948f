//! `tcp-connection` walked through connections as they happen, from either end.

use std::sync::LazyLock;

use acsm::flow::{Direction, TcpFlags};
use acsm::machine::{Next, RuleKind, Rules};
use acsm_filters::{Lookup, State};

static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::load("tcp-connection").unwrap());

/// What a walk ended in.
#[derive(Debug, PartialEq)]
struct Walk {
    /// The state's name, `absent` for none.
    state: String,
    /// The rules that fired, marks apart, in order.
    alerts: Vec<String>,
    /// How often `flow_fin` and `flow_rst` fired.
    marks: [usize; 2],
}

/// One packet of a walk: `>SYN`, `<SYN+ACK`, `>ACK*` (the star: with data).
fn packet(text: &str) -> (bool, TcpFlags, bool) {
    let (arrow, flags) = text.split_at(1);
    let data = flags.ends_with('*');
    let flags = flags.trim_end_matches('*').split('+').filter(|name| *name != "none");
    let flags = flags.fold(TcpFlags::default(), |all, name| {
        let named = TcpFlags::NAMED.iter().find(|(_, known)| *known == name);
        all.with(named.unwrap_or_else(|| panic!("no flag {name}")).0)
    });
    (arrow == ">", flags, data)
}

/// Steps through `packets`; `turned` = the opener is the second end in the flow key.
fn walk_one(packets: &str, turned: bool) -> Walk {
    let (mut state, mut alerts, mut marks) = (None::<State>, Vec::new(), [0, 0]);
    for text in packets.split_whitespace() {
        let (there, flags, data) = packet(text);
        let direction = if there != turned { Direction::Forward } else { Direction::Backward };
        let lookup = state.map_or(Lookup::Absent, Lookup::Known);
        let outcome = RULES.machine.step(lookup, direction, flags, data);
        match outcome.next {
            Next::Keep => {}
            Next::Go(next) => state = Some(next),
            Next::Delete => state = None,
        }
        for rule in outcome.alerts.iter().map(|id| RULES.list.get(id).unwrap()) {
            match rule.name.as_str() {
                "flow_fin" => marks[0] += 1,
                "flow_rst" => marks[1] += 1,
                name => alerts.push(name.to_owned()),
            }
        }
    }
    let name = state.map_or("absent", |state| RULES.machine.state_name(state));
    Walk { state: name.to_owned(), alerts, marks }
}

#[track_caller]
fn walk(packets: &str, state: &str, alerts: &[&str]) {
    let result = walk_one(packets, false);
    assert_eq!(result, walk_one(packets, true), "the same from the other end");
    assert_eq!((result.state.as_str(), &result.alerts[..]), (state, &owned(alerts)[..]));
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

const HANDSHAKE: &str = ">SYN <SYN+ACK >ACK";

fn after_handshake(packets: &str, state: &str, alerts: &[&str]) {
    walk(&format!("{HANDSHAKE} {packets}"), state, alerts);
}

#[test]
fn a_connection_opens_talks_and_closes_without_an_event() {
    walk(">SYN", "syn_sent", &[]);
    walk(">SYN <SYN+ACK", "syn_answered", &[]);
    walk(HANDSHAKE, "open", &[]);
    walk(">SYN <SYN+ACK >PSH+ACK*", "open", &[]);
    walk(">SYN+ECE+CWR <SYN+ACK+ECE >ACK >PSH+ACK+CWR*", "open", &[]);
    after_handshake(">PSH+ACK* <ACK <PSH+ACK* >ACK", "open", &[]);
    after_handshake(">FIN+ACK", "closing", &[]);
    after_handshake(">FIN+ACK <ACK <ACK* >ACK", "closing", &[]);
    after_handshake(">FIN+ACK <FIN+ACK", "closed", &[]);
    after_handshake("<FIN+PSH+ACK* >ACK >FIN+ACK <ACK", "closed", &[]);
}

#[test]
fn marks_come_once_a_connection() {
    let marks = |packets: &str| walk_one(packets, false).marks;
    assert_eq!(marks(&format!("{HANDSHAKE} >FIN+ACK >FIN+ACK <FIN+ACK <FIN+ACK >ACK")), [1, 0]);
    assert_eq!(marks(&format!("{HANDSHAKE} >RST <RST >RST+ACK")), [0, 1]);
    assert_eq!(marks(&format!("{HANDSHAKE} >FIN+ACK <RST <RST")), [1, 1]);
    assert_eq!(marks(&format!("{HANDSHAKE} >FIN+RST+ACK")), [0, 1], "a RST wins over its FIN");
    assert_eq!(marks(">SYN <RST+ACK >SYN <RST+ACK"), [0, 2], "two tries, two refusals");
}

#[test]
fn repetitions_are_no_event() {
    walk(">SYN >SYN >SYN", "syn_sent", &[]);
    walk(">SYN <SYN+ACK >SYN <SYN+ACK >ACK <SYN+ACK >ACK", "open", &[]);
    after_handshake(">FIN+ACK >FIN+ACK <FIN+ACK <FIN+ACK >FIN+ACK >ACK >ACK", "closed", &[]);
    after_handshake(">FIN+ACK <FIN+ACK >RST >RST <ACK*", "closed", &[]);
}

#[test]
fn resets_and_what_follows_them() {
    walk(">SYN <RST+ACK", "reset", &[]);
    after_handshake(">ACK* <RST >ACK* >FIN+ACK >ACK", "reset", &[]); // was under way
    after_handshake("<RST <ACK", "reset", &[]);
    after_handshake("<RST <PSH+ACK*", "reset", &["data_after_reset"]);
    after_handshake("<RST <FIN+ACK", "reset", &["fin_after_reset"]);
    walk(">SYN <SYN+ACK >RST", "reset", &["syn_half_open"]);
    walk(">SYN <SYN+ACK <RST", "reset", &[]);
    after_handshake(">FIN+ACK <RST", "reset", &[]);
    walk(">RST", "absent", &["rst_no_session"]);
}

#[test]
fn a_syn_on_a_connection_that_is_over_uses_the_port_again() {
    after_handshake(">FIN+ACK <FIN+ACK >SYN", "syn_sent", &[]);
    after_handshake(">RST >SYN <SYN+ACK >ACK >ACK*", "open", &[]);
    after_handshake("<FIN+ACK >FIN+ACK <SYN >SYN+ACK <ACK", "open", &[]); // from the other end
    after_handshake(">FIN+ACK >SYN >ACK >FIN+ACK", "closing", &[]); // one direction seen, twice
    after_handshake(">SYN", "open", &["syn_in_connection"]);
    after_handshake("<SYN", "open", &["syn_in_connection"]);
}

#[test]
fn unusual_handshakes_are_told_apart() {
    walk(">SYN <SYN", "crossed", &[]);
    walk(">SYN <SYN >SYN+ACK <SYN+ACK", "open", &["simultaneous_open"]);
    walk(">SYN <SYN <SYN+ACK >SYN+ACK", "open", &["simultaneous_open"]);
    walk(">SYN >SYN <SYN <SYN >SYN+ACK >SYN+ACK <ACK >ACK*", "open", &["split_handshake"]);
    walk(">SYN <ACK <SYN >SYN+ACK <ACK", "open", &["split_handshake"]);
    walk(">SYN <ACK*", "syn_sent", &["data_before_established"]);
    walk(">SYN <SYN+ACK <PSH+ACK* >ACK", "open", &["data_before_established"]);
    walk(">SYN* <SYN+ACK >ACK", "open", &[]); // TCP Fast Open
}

#[test]
fn connections_are_taken_up_in_mid_stream() {
    walk(">PSH+ACK*", "one_way", &[]);
    walk(">PSH+ACK* <ACK <ACK*", "open", &[]);
    walk(">ACK", "one_way", &["tcp_ack_scan"]);
    walk(">FIN+ACK <FIN+ACK >ACK", "closed", &[]);
    walk(">ACK* <RST", "reset", &[]);
    walk("<SYN+ACK >ACK >ACK*", "open", &["unsolicited_synack"]);
}

#[test]
fn one_way_captures_say_nothing_about_handshakes() {
    walk(">SYN >ACK >PSH+ACK* >ACK", "one_way", &[]);
    walk(">SYN >PSH+ACK* >FIN+ACK >ACK", "closing", &[]);
    // the answering end alone: its first packet is of a rule that one-way learning mutes
    walk("<SYN+ACK <ACK <PSH+ACK* <FIN+ACK <ACK", "closing", &["unsolicited_synack"]);
    for name in ["unsolicited_synack", "rst_no_session", "tcp_ack_scan"] {
        assert_eq!(RULES.list.find(name).unwrap().kind, RuleKind::NoSession);
    }
}

#[test]
fn odd_flags_have_one_name_and_change_no_state() {
    for (flags, name) in [
        ("none", "tcp_null_scan"),
        ("FIN+PSH+URG", "tcp_xmas_scan"),
        ("FIN+PSH+URG+ECE+CWR", "tcp_xmas_scan"),
        ("SYN+FIN", "tcp_syn_fin"),
        ("SYN+FIN+RST", "tcp_syn_fin"),
        ("SYN+RST", "tcp_syn_rst"),
        ("FIN+SYN+RST+PSH+ACK+URG", "tcp_xmas_full"),
        ("FIN+SYN+RST+PSH+ACK+URG+ECE+CWR", "tcp_xmas_full"),
    ] {
        walk(&format!(">{flags}"), "absent", &[name]);
        after_handshake(&format!("<{flags}"), "open", &[name]);
    }
    // With an ACK it may be an answer of a stack that is only odd.
    walk(">SYN+FIN+ACK", "absent", &[]);
    walk(">FIN", "absent", &["tcp_fin_scan"]);
    after_handshake(">FIN", "open", &["tcp_fin_scan"]);
    walk(">FIN+RST", "absent", &["rst_no_session", "tcp_fin_rst"]);
}
