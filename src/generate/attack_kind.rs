//! The attacks: their names, the rules that should detect them, and their sizes.
//!
//! Their packets are in [`exchange`](super::exchange), their addresses in
//! [`attack_ends`](super::attack_ends).

use std::str::FromStr;

use crate::time::NANOS_PER_SEC;

/// An attack that can be put into a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AttackKind {
    /// SYNs from spoofed sources that never finish the handshake, at one port.
    SynFlood,
    /// The same from one source.
    SynFloodOneSource,
    /// SYNs at many ports of a host, answered by resets; open ports are reset by the scanner.
    SynScan,
    /// FINs without a session at many ports.
    FinScan,
    /// Packets without any flag at many ports.
    NullScan,
    /// Packets with FIN, PSH and URG at many ports.
    XmasScan,
    /// ACKs without a session at many ports.
    AckScan,
    /// Whole connects at many ports of one host.
    PortScan,
    /// One port on many hosts.
    HostSweep,
    /// Resets without a session.
    RstStorm,
    /// FINs with ACK without a session.
    FinStorm,
    /// SYN+ACKs from many servers at a victim that never asked.
    SynAckReflection,
    /// SYNs from spoofed sources that nobody answers.
    UnansweredSynFlood,
    /// The same SYN twice from each spoofed source.
    RepeatedSynFlood,
    /// SYNs from spoofed sources, all answered: a victim with SYN cookies.
    AnsweredSynFlood,
    /// A handshake finished with a guessed acknowledgement number, which the victim resets.
    BlindAckFlood,
    /// The same and data, with wrong checksums: the victim drops them without an answer.
    BlindDataFlood,
    /// A second SYN makes the victim send a plain ACK (RFC 5961); then a guess.
    ChallengeAckFlood,
    /// A guess long after the SYN; then data without ACK that the victim acknowledges.
    LateAckFlood,
    /// ACKs without a session from spoofed sources, answered by resets.
    AckFlood,
    /// SYN+ACKs from spoofed sources, answered by resets.
    SynAckFlood,
    /// Resets without a session from spoofed sources.
    RstFlood,
    /// FINs with ACK without a session from spoofed sources.
    FinFlood,
    /// Complete handshakes and data from real hosts, which then fall silent.
    BotnetFlood,
    /// SYNs from spoofed sources of one /24 that nobody answers.
    SubnetSynFlood,
    /// SYNs from spoofed sources at every host of a /24.
    CarpetBombing,
    /// One password after the other at an SSH server.
    LoginGuessing,
    /// SYNs at many ports of a host, as far apart as the trace is long.
    SlowPortScan,
    /// One port on many hosts, as slowly.
    SlowHostSweep,
    /// Complete handshakes of real hosts, which then say nothing.
    ConnectionFlood,
    /// What a network sees of a flood elsewhere: SYN+ACKs from the victim's service to made-up sources.
    Backscatter,
    /// No attack: a service is restarted, and refuses its clients meanwhile.
    ServiceRestart,
    /// No attack: a server with thousands of connections a second, of which a few are abandoned or idle.
    BusyServer,
}

impl AttackKind {
    /// The attacks of `--attacks all`, in their order in a trace.
    pub const ALL: [AttackKind; 12] = [
        AttackKind::SynFlood,
        AttackKind::SynFloodOneSource,
        AttackKind::SynScan,
        AttackKind::FinScan,
        AttackKind::NullScan,
        AttackKind::XmasScan,
        AttackKind::AckScan,
        AttackKind::PortScan,
        AttackKind::HostSweep,
        AttackKind::RstStorm,
        AttackKind::FinStorm,
        AttackKind::SynAckReflection,
    ];

    /// Floods against a table of flows: what fills it, or gets state into it by forged packets. Every
    /// probe of one is the same exchange.
    pub const FLOODS: [AttackKind; 13] = [
        AttackKind::UnansweredSynFlood,
        AttackKind::RepeatedSynFlood,
        AttackKind::AnsweredSynFlood,
        AttackKind::BlindAckFlood,
        AttackKind::BlindDataFlood,
        AttackKind::ChallengeAckFlood,
        AttackKind::LateAckFlood,
        AttackKind::AckFlood,
        AttackKind::SynAckFlood,
        AttackKind::RstFlood,
        AttackKind::FinFlood,
        AttackKind::BotnetFlood,
        AttackKind::SubnetSynFlood,
    ];

    /// What else an operator meets, attack or not.
    pub const SCENARIOS: [AttackKind; 8] = [
        AttackKind::CarpetBombing,
        AttackKind::LoginGuessing,
        AttackKind::SlowPortScan,
        AttackKind::SlowHostSweep,
        AttackKind::ConnectionFlood,
        AttackKind::Backscatter,
        AttackKind::ServiceRestart,
        AttackKind::BusyServer,
    ];

    /// The attacks of `--attacks every`, in their order in a trace.
    pub fn every() -> impl Iterator<Item = AttackKind> {
        Self::ALL.into_iter().chain(Self::FLOODS).chain(Self::SCENARIOS)
    }

    /// Its name on the command line and in the ground truth.
    pub const fn name(self) -> &'static str {
        match self {
            AttackKind::SynFlood => "syn_flood",
            AttackKind::SynFloodOneSource => "syn_flood_one_source",
            AttackKind::SynScan => "syn_scan",
            AttackKind::FinScan => "fin_scan",
            AttackKind::NullScan => "null_scan",
            AttackKind::XmasScan => "xmas_scan",
            AttackKind::AckScan => "ack_scan",
            AttackKind::PortScan => "port_scan",
            AttackKind::HostSweep => "host_sweep",
            AttackKind::RstStorm => "rst_storm",
            AttackKind::FinStorm => "fin_storm",
            AttackKind::SynAckReflection => "synack_reflection",
            AttackKind::UnansweredSynFlood => "unanswered_syn_flood",
            AttackKind::RepeatedSynFlood => "repeated_syn_flood",
            AttackKind::AnsweredSynFlood => "answered_syn_flood",
            AttackKind::BlindAckFlood => "blind_ack_flood",
            AttackKind::BlindDataFlood => "blind_data_flood",
            AttackKind::ChallengeAckFlood => "challenge_ack_flood",
            AttackKind::LateAckFlood => "late_ack_flood",
            AttackKind::AckFlood => "ack_flood",
            AttackKind::SynAckFlood => "synack_flood",
            AttackKind::RstFlood => "rst_flood",
            AttackKind::FinFlood => "fin_flood",
            AttackKind::BotnetFlood => "botnet_flood",
            AttackKind::SubnetSynFlood => "subnet_syn_flood",
            AttackKind::CarpetBombing => "carpet_bombing",
            AttackKind::LoginGuessing => "login_guessing",
            AttackKind::SlowPortScan => "slow_port_scan",
            AttackKind::SlowHostSweep => "slow_host_sweep",
            AttackKind::ConnectionFlood => "connection_flood",
            AttackKind::Backscatter => "backscatter",
            AttackKind::ServiceRestart => "service_restart",
            AttackKind::BusyServer => "busy_server",
        }
    }

    /// The rule of `acsm` that should detect it; `None` where its flows look like connections.
    pub const fn rule(self) -> Option<&'static str> {
        let rule = match self {
            AttackKind::SynFlood | AttackKind::SynFloodOneSource => "syn_flood",
            // A single ACK without a session means little; at many ports of one host it is a scan.
            AttackKind::SynScan | AttackKind::PortScan | AttackKind::AckScan => "port_scan",
            AttackKind::FinScan => "tcp_fin_scan",
            AttackKind::NullScan => "tcp_null_scan",
            AttackKind::XmasScan => "tcp_xmas_scan",
            AttackKind::HostSweep => "host_sweep",
            AttackKind::RstStorm | AttackKind::RstFlood => "rst_storm",
            AttackKind::FinStorm | AttackKind::FinFlood => "fin_storm",
            AttackKind::SynAckReflection | AttackKind::SynAckFlood => "synack_flood",
            AttackKind::UnansweredSynFlood | AttackKind::RepeatedSynFlood => "syn_flood",
            AttackKind::AnsweredSynFlood | AttackKind::SubnetSynFlood => "syn_flood",
            // Guesses do not complete a handshake.
            AttackKind::BlindAckFlood | AttackKind::BlindDataFlood => "syn_flood",
            AttackKind::ChallengeAckFlood | AttackKind::LateAckFlood => "syn_flood",
            AttackKind::AckFlood => "ack_flood",
            AttackKind::CarpetBombing => "syn_flood",
            AttackKind::LoginGuessing => "login_guessing",
            AttackKind::SlowPortScan => "port_scan_slow",
            AttackKind::SlowHostSweep => "host_sweep_slow",
            AttackKind::ConnectionFlood => "connection_flood",
            AttackKind::Backscatter => "backscatter",
            AttackKind::ServiceRestart => "service_down",
            AttackKind::BotnetFlood | AttackKind::BusyServer => return None,
        };
        Some(rule)
    }

    /// How many probes it has in a trace of `packets` packets, and how many per second.
    pub fn probes_and_rate(self, packets: u64) -> (u64, u64) {
        let (most, per_second) = match self {
            AttackKind::SynAckReflection => (20_000, 1_000),
            AttackKind::HostSweep => (5_000, 200),
            AttackKind::SynScan | AttackKind::FinScan | AttackKind::NullScan => (2_000, 200),
            AttackKind::XmasScan | AttackKind::AckScan | AttackKind::PortScan => (2_000, 200),
            AttackKind::LoginGuessing => return (60, 2),
            AttackKind::SlowPortScan => return (80, 1),
            AttackKind::SlowHostSweep => return (160, 1),
            AttackKind::Backscatter => (2_000, 200),
            AttackKind::ServiceRestart => return (600, 50),
            _ => (20_000, 2_000),
        };
        ((packets / 150).clamp(300, most), per_second)
    }

    /// Of a slow attack, which is spread over the whole trace: the least time between two probes.
    pub const fn slow_interval_nanos(self) -> Option<u64> {
        match self {
            AttackKind::SlowPortScan => Some(8 * NANOS_PER_SEC),
            AttackKind::SlowHostSweep => Some(3 * NANOS_PER_SEC),
            _ => None,
        }
    }
}

/// An attack of a trace, and its size if that is not the usual one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttackSpec {
    /// Which attack.
    pub kind: AttackKind,
    /// How many probes; usually one per 150 packets of the trace, from 300 to 20,000.
    pub probes: Option<u64>,
    /// How many probes per second, more where its time window is too short for that.
    pub per_second: Option<u64>,
}

/// The attack in its usual size.
impl From<AttackKind> for AttackSpec {
    fn from(kind: AttackKind) -> Self {
        AttackSpec { kind, probes: None, per_second: None }
    }
}

/// The name of an attack that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no attack; there are all, every, {}", known_names())]
pub struct UnknownAttack {
    name: String,
}

fn known_names() -> String {
    let names: Vec<&str> = AttackKind::every().map(AttackKind::name).collect();
    names.join(", ")
}

impl FromStr for AttackKind {
    type Err = UnknownAttack;

    fn from_str(name: &str) -> Result<Self, UnknownAttack> {
        let known = Self::every().find(|kind| kind.name() == name);
        known.ok_or_else(|| UnknownAttack { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_read_back_and_others_are_refused_with_the_list() {
        let mut names = HashSet::new();
        for kind in AttackKind::every() {
            assert_eq!(kind.name().parse(), Ok(kind));
            assert!(names.insert(kind.name()), "{} is there twice", kind.name());
        }
        let error = "smurf".parse::<AttackKind>().unwrap_err().to_string();
        assert!(error.contains("smurf"), "{error}");
        assert!(names.iter().all(|name| error.contains(name)), "{error}");
        assert!(error.contains(" all, every, "), "{error}");
    }
}
