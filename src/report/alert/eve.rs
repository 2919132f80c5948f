//! Alerts in the format of Suricata's EVE JSON, one object per line.
//!
//! Without its `acsm` object a line conforms to Suricata's schema.

use std::net::IpAddr;

use community_id::calculate_community_id;
use serde::Serialize;

use super::Names;
use crate::engine::Alert;
use crate::flow::{Packet, TcpFlags};
use crate::machine::{GENERATOR_ID, Rule};
use crate::time::Timestamp;
use acsm_filters::Lookup;

const IPPROTO_TCP: u8 = 6;
/// `flow_id` has 53 bits: exact in programs that read numbers as doubles.
const FLOW_ID_MASK: u128 = (1 << 53) - 1;

#[derive(Serialize)]
struct AlertEvent<'a> {
    timestamp: String,
    flow_id: u64,
    event_type: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    vlan: Vec<u16>,
    src_ip: IpAddr,
    src_port: u16,
    dest_ip: IpAddr,
    dest_port: u16,
    proto: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    community_id: Option<String>,
    alert: Signature<'a>,
    tcp: Tcp,
    acsm: Evidence<'a>,
}

#[derive(Serialize)]
struct Signature<'a> {
    action: &'static str,
    gid: u32,
    signature_id: u32,
    rev: u32,
    signature: String,
    category: &'a str,
    severity: u8,
}

#[derive(Serialize)]
struct Tcp {
    tcp_flags: String,
    #[serde(skip_serializing_if = "is_false")]
    syn: bool,
    #[serde(skip_serializing_if = "is_false")]
    fin: bool,
    #[serde(skip_serializing_if = "is_false")]
    rst: bool,
    #[serde(skip_serializing_if = "is_false")]
    psh: bool,
    #[serde(skip_serializing_if = "is_false")]
    ack: bool,
    #[serde(skip_serializing_if = "is_false")]
    urg: bool,
    #[serde(skip_serializing_if = "is_false")]
    ecn: bool,
    #[serde(skip_serializing_if = "is_false")]
    cwr: bool,
}

/// The result of the lookup behind the alert, and its confidence.
#[derive(Serialize)]
struct Evidence<'a> {
    rule: &'a str,
    state: Option<&'a str>,
    backend: &'static str,
    answer: Option<&'static str>,
    confidence: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    #[serde(skip_serializing_if = "is_zero")]
    left_out: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature that serde calls
fn is_false(flag: &bool) -> bool {
    !flag
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Appends the line of `alert`, with its newline, to `out`.
pub(super) fn append(names: &Names, alert: &Alert, rule: &Rule, out: &mut Vec<u8>) {
    let packet = &alert.packet;
    let event = AlertEvent {
        timestamp: eve_time(alert.time),
        flow_id: (alert.flow.0 & FLOW_ID_MASK) as u64,
        event_type: "alert",
        vlan: packet.vlan.into_iter().filter(|&id| id != 0).collect(),
        src_ip: packet.src,
        src_port: packet.src_port,
        dest_ip: packet.dst,
        dest_port: packet.dst_port,
        proto: "TCP",
        community_id: community_id(packet),
        alert: Signature {
            action: "allowed",
            gid: GENERATOR_ID,
            signature_id: rule.signature_id,
            rev: 1,
            signature: format!("{}: {}", rule.name, rule.message),
            category: rule.category.description(),
            severity: rule.severity,
        },
        tcp: tcp(packet.flags),
        acsm: Evidence {
            rule: &rule.name,
            state: alert.state.map(|state| names.rules.machine.state_name(state)),
            backend: names.backend,
            answer: alert.answer.map(answer_name),
            confidence: alert.confidence,
            count: alert.count,
            left_out: alert.suppressed,
        },
    };
    // Writing plain data to memory cannot fail.
    if serde_json::to_writer(&mut *out, &event).is_ok() {
        out.push(b'\n');
    }
}

/// The kind of a lookup result, as a value of `acsm.answer`.
fn answer_name(answer: Lookup) -> &'static str {
    match answer {
        Lookup::Known(_) => "known",
        Lookup::Absent => "absent",
        Lookup::DontKnow => "dont_know",
    }
}

/// Suricata's time format: microseconds, and `+0000` where RFC 3339 has `Z`.
pub(super) fn eve_time(time: Timestamp) -> String {
    let mut text = time.to_string();
    text.truncate(text.len() - "000Z".len());
    text + "+0000"
}

fn community_id(packet: &Packet) -> Option<String> {
    let (src_port, dst_port) = (Some(packet.src_port), Some(packet.dst_port));
    calculate_community_id(0, packet.src, packet.dst, src_port, dst_port, IPPROTO_TCP, false).ok()
}

fn tcp(flags: TcpFlags) -> Tcp {
    Tcp {
        tcp_flags: format!("{:02x}", flags.0),
        syn: flags.has(TcpFlags::SYN),
        fin: flags.has(TcpFlags::FIN),
        rst: flags.has(TcpFlags::RST),
        psh: flags.has(TcpFlags::PSH),
        ack: flags.has(TcpFlags::ACK),
        urg: flags.has(TcpFlags::URG),
        ecn: flags.has(TcpFlags::ECE),
        cwr: flags.has(TcpFlags::CWR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            time: packet.time,
            packet,
            flow: FlowId(u128::MAX),
            answer: Some(Lookup::Absent),
            state: State::new(3),
            confidence: 0.5,
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
