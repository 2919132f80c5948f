//! Alerts in the format of Suricata's EVE JSON, one object per line.
//!
//! Without its `acsm` object a line conforms to Suricata's schema.

use std::io::Write as _;
use std::net::IpAddr;

use community_id::calculate_community_id;

use super::Names;
use crate::engine::Alert;
use crate::flow::{Packet, TcpFlags};
use crate::machine::{GENERATOR_ID, Rule};
use crate::time::Timestamp;
use acsm_filters::Lookup;

const IPPROTO_TCP: u8 = 6;
/// `flow_id` has 53 bits: exact in programs that read numbers as doubles.
const FLOW_ID_MASK: u128 = (1 << 53) - 1;

/// Flags of a packet under Suricata's names, in the order of its fields.
const FLAG_NAMES: [(TcpFlags, &str); 8] = [
    (TcpFlags::SYN, "syn"),
    (TcpFlags::FIN, "fin"),
    (TcpFlags::RST, "rst"),
    (TcpFlags::PSH, "psh"),
    (TcpFlags::ACK, "ack"),
    (TcpFlags::URG, "urg"),
    (TcpFlags::ECE, "ecn"),
    (TcpFlags::CWR, "cwr"),
];

/// Appends the line of `alert`, with its newline, to `out`. Piece by piece, without a serializer: a flood
/// can make every packet an alert.
pub(super) fn append(names: &Names, alert: &Alert, rule: &Rule, out: &mut Vec<u8>) {
    text(out, "{\"timestamp\":\"");
    append_time(out, alert.time);
    text(out, "\"");
    if alert.names_source {
        text(out, ",\"flow_id\":");
        number(out, (alert.flow.0 & FLOW_ID_MASK) as u64);
    }
    text(out, ",\"event_type\":\"alert\"");
    append_packet(out, &alert.packet, alert.names_source);
    append_signature(out, rule, alert.severity);
    append_flags(out, alert.packet.flags);
    append_evidence(out, names, alert, rule);
    text(out, "}\n");
}

fn append_packet(out: &mut Vec<u8>, packet: &Packet, names_source: bool) {
    let mut before = ",\"vlan\":[";
    for id in packet.vlan.into_iter().filter(|&id| id != 0) {
        text(out, before);
        number(out, u64::from(id));
        before = ",";
    }
    if before == "," {
        text(out, "]");
    }
    if names_source {
        text(out, ",\"src_ip\":\"");
        append_address(out, packet.src);
        text(out, "\",\"src_port\":");
        number(out, u64::from(packet.src_port));
    }
    text(out, ",\"dest_ip\":\"");
    append_address(out, packet.dst);
    text(out, "\",\"dest_port\":");
    number(out, u64::from(packet.dst_port));
    text(out, ",\"proto\":\"TCP\"");
    if let Some(id) = names_source.then(|| community_id(packet)).flatten() {
        text(out, ",\"community_id\":\"");
        text(out, &id);
        text(out, "\"");
    }
}

fn append_signature(out: &mut Vec<u8>, rule: &Rule, severity: u8) {
    text(out, ",\"alert\":{\"action\":\"allowed\",\"gid\":");
    number(out, u64::from(GENERATOR_ID));
    text(out, ",\"signature_id\":");
    number(out, u64::from(rule.signature_id));
    text(out, ",\"rev\":1,\"signature\":\"");
    escaped(out, &rule.name);
    text(out, ": ");
    escaped(out, &rule.message);
    text(out, "\",\"category\":\"");
    escaped(out, rule.category.description());
    text(out, "\",\"severity\":");
    number(out, u64::from(severity));
    text(out, "}");
}

fn append_flags(out: &mut Vec<u8>, flags: TcpFlags) {
    text(out, ",\"tcp\":{\"tcp_flags\":\"");
    let hex = |digit: u8| b"0123456789abcdef"[usize::from(digit % 16)];
    out.extend([hex(flags.0 >> 4), hex(flags.0), b'"']);
    for (flag, name) in FLAG_NAMES {
        if flags.has(flag) {
            text(out, ",\"");
            text(out, name);
            text(out, "\":true");
        }
    }
    text(out, "}");
}

/// The result of the lookup behind the alert, and its confidence.
fn append_evidence(out: &mut Vec<u8>, names: &Names, alert: &Alert, rule: &Rule) {
    text(out, ",\"acsm\":{\"rule\":\"");
    escaped(out, &rule.name);
    text(out, "\",\"state\":");
    let state = alert.state.map(|state| names.rules.machine.state_name(state));
    string_or_null(out, state);
    text(out, ",\"backend\":\"");
    escaped(out, names.backend);
    text(out, "\",\"answer\":");
    string_or_null(out, alert.answer.map(answer_name));
    text(out, ",\"confidence\":");
    match alert.confidence == 1.0 {
        true => text(out, "1.0"),
        // Writing a number to memory cannot fail.
        false => drop(serde_json::to_writer(&mut *out, &alert.confidence)),
    }
    if let Some(is_confirmed) = alert.confirmed {
        text(out, if is_confirmed { ",\"confirmed\":true" } else { ",\"confirmed\":false" });
    }
    if let Some(count) = alert.count {
        text(out, ",\"count\":");
        number(out, count);
    }
    if alert.suppressed > 0 {
        text(out, ",\"left_out\":");
        number(out, alert.suppressed);
    }
    if let Some(incident) = alert.incident {
        text(out, ",\"incident\":{\"id\":\"");
        text(out, &incident.to_string());
        text(out, "\"}");
    }
    text(out, "}");
}

/// The kind of a lookup result, as a value of `acsm.answer`.
fn answer_name(answer: Lookup) -> &'static str {
    match answer {
        Lookup::Known(_) => "known",
        Lookup::Absent => "absent",
        Lookup::DontKnow => "dont_know",
    }
}

fn community_id(packet: &Packet) -> Option<String> {
    let (src_port, dst_port) = (Some(packet.src_port), Some(packet.dst_port));
    calculate_community_id(0, packet.src, packet.dst, src_port, dst_port, IPPROTO_TCP, false).ok()
}

/// Suricata's time format: microseconds, and `+0000` where RFC 3339 has `Z`.
pub(super) fn eve_time(time: Timestamp) -> String {
    let mut out = Vec::new();
    append_time(&mut out, time);
    String::from_utf8_lossy(&out).into_owned()
}

fn append_time(out: &mut Vec<u8>, time: Timestamp) {
    let civil = time.civil();
    digits::<4>(out, civil.year as u32);
    let parts = [civil.month, civil.day, civil.hour, civil.minute, civil.second];
    for (before, part) in [b'-', b'-', b'T', b':', b':'].into_iter().zip(parts) {
        out.push(before);
        digits::<2>(out, part);
    }
    out.push(b'.');
    digits::<6>(out, civil.nanos / 1000);
    text(out, "+0000");
}

fn append_address(out: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(address) => {
            let [first, rest @ ..] = address.octets();
            number(out, u64::from(first));
            for octet in rest {
                out.push(b'.');
                number(out, u64::from(octet));
            }
        }
        // Writing to memory cannot fail.
        IpAddr::V6(address) => drop(write!(out, "{address}")),
    }
}

#[inline]
fn text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

/// A number in decimal digits.
fn number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20]; // of the largest u64
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[first..]);
}

/// The last `N` decimal digits of a number.
fn digits<const N: usize>(out: &mut Vec<u8>, mut number: u32) {
    let mut digits = [0; N];
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    out.extend_from_slice(&digits);
}

/// Text within quotation marks.
fn escaped(out: &mut Vec<u8>, inner: &str) {
    let is_plain = |byte: &u8| *byte >= b' ' && *byte != b'"' && *byte != b'\\';
    if inner.as_bytes().iter().all(is_plain) {
        return text(out, inner);
    }
    let quoted = serde_json::to_string(inner).unwrap_or_default();
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    text(out, inner.unwrap_or_default());
}

fn string_or_null(out: &mut Vec<u8>, string: Option<&str>) {
    match string {
        None => text(out, "null"),
        Some(string) => {
            text(out, "\"");
            escaped(out, string);
            text(out, "\"");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{IncidentId, Subject};
    use crate::flow::FlowId;
    use crate::machine::Rules;
    use acsm_filters::State;
    use serde_json::Value;

    fn alert(rules: &Rules) -> Alert {
        let packet = Packet {
            time: Timestamp::new(1_709_208_000, 123_456_789),
            src: "192.0.2.1".parse().unwrap(),
            dst: "198.51.100.7".parse().unwrap(),
            src_port: 40_000,
            dst_port: 443,
            flags: TcpFlags(0x11),
            vlan: [12, 0],
            payload_bytes: 0,
            sequence_sum: 0,
            wire_bytes: 60,
        };
        Alert {
            rule: rules.list.find("flow_fin").unwrap().id,
            severity: 3,
            subject: Subject::Flow,
            names_source: true,
            incident: None,
            time: packet.time,
            packet,
            flow: FlowId(u128::MAX),
            answer: Some(Lookup::Absent),
            state: State::new(3),
            confidence: 0.5,
            confirmed: None,
            count: None,
            suppressed: 0,
        }
    }

    #[test]
    fn a_line_has_the_fields_of_suricatas_schema() {
        let rules = Rules::load("tcp-flags").unwrap();
        let alert = alert(&rules);
        let mut line = Vec::new();
        let rules = std::sync::Arc::new(rules);
        let names = Names { rules: rules.clone(), backend: "kbf" };
        append(&names, &alert, rules.list.get(alert.rule).unwrap(), &mut line);
        assert_eq!(line.iter().filter(|&&byte| byte == b'\n').count(), 1);
        let value: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(value["timestamp"], "2024-02-29T12:00:00.123456+0000");
        assert_eq!(value["flow_id"], (1u64 << 53) - 1);
        assert_eq!(value["vlan"], serde_json::json!([12]));
        assert_eq!(value["tcp"], serde_json::json!({"tcp_flags": "11", "fin": true, "ack": true}));
        assert!(value["alert"]["signature"].as_str().unwrap().starts_with("flow_fin"));
        assert_eq!(value["acsm"]["answer"], "absent");
        assert_eq!(value["acsm"]["state"], "fin");
        assert!(value["community_id"].as_str().unwrap().starts_with("1:"));
    }

    #[test]
    fn every_field_is_what_a_serializer_writes() {
        let rules = std::sync::Arc::new(Rules::load("tcp-connection").unwrap());
        let names = Names { rules: rules.clone(), backend: "sbf" };
        let mut rule = rules.list.find("tcp_xmas_scan").unwrap().clone();
        rule.message = "a \"quoted\" \\ path,\ttab, \u{7}bell and Zürich".to_owned();
        let packet = Packet {
            src: "2001:db8::1".parse().unwrap(),
            dst: "::ffff:192.0.2.1".parse().unwrap(),
            flags: TcpFlags(0xff),
            vlan: [4094, 7],
            time: Timestamp::new(951_782_399, 999_999_999),
            ..alert(&rules).packet
        };
        let alert = Alert {
            time: packet.time,
            packet,
            answer: None,
            state: None,
            confidence: 0.123_456_789_012_345_6,
            count: Some(u64::MAX),
            suppressed: 10,
            severity: 2,
            incident: Some(IncidentId(0xabc)),
            ..alert(&rules)
        };
        let mut line = Vec::new();
        append(&names, &alert, &rule, &mut line);
        let value: Value = serde_json::from_slice(&line).unwrap();
        let signature = format!("{}: {}", rule.name, rule.message);
        let category = rule.category.description();
        let expected = serde_json::json!({
            "timestamp": "2000-02-28T23:59:59.999999+0000",
            "flow_id": (1u64 << 53) - 1,
            "event_type": "alert",
            "vlan": [4094, 7],
            "src_ip": packet.src,
            "src_port": 40_000,
            "dest_ip": packet.dst,
            "dest_port": 443,
            "proto": "TCP",
            "community_id": community_id(&packet),
            "alert": {
                "action": "allowed", "gid": GENERATOR_ID, "signature_id": rule.signature_id,
                "rev": 1, "signature": signature, "category": category, "severity": 2,
            },
            "tcp": {
                "tcp_flags": "ff", "syn": true, "fin": true, "rst": true, "psh": true,
                "ack": true, "urg": true, "ecn": true, "cwr": true,
            },
            "acsm": {
                "rule": rule.name, "state": null, "backend": "sbf", "answer": null,
                "confidence": alert.confidence, "count": u64::MAX, "left_out": 10, "incident": {"id": "00000abc"},
            },
        });
        assert_eq!(value, expected);
    }

    #[test]
    fn community_id_is_the_same_from_both_ends() {
        // 1:wCb3OG7yAFWelaUydu0D+125CLM= is the specification's own example.
        let rules = Rules::load("tcp-flags").unwrap();
        let there = Packet {
            src: "1.2.3.4".parse().unwrap(),
            dst: "5.6.7.8".parse().unwrap(),
            src_port: 1122,
            dst_port: 3344,
            ..alert(&rules).packet
        };
        let back = Packet {
            src: there.dst,
            dst: there.src,
            src_port: there.dst_port,
            dst_port: there.src_port,
            ..there
        };
        assert_eq!(community_id(&there).as_deref(), Some("1:wCb3OG7yAFWelaUydu0D+125CLM="));
        assert_eq!(community_id(&there), community_id(&back));
    }
}
