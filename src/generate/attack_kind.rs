//! The attacks: their names, the rules that should detect them, and the packets of their probes.

use std::str::FromStr;

use crate::flow::TcpFlags;

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
}

/// Which side of an attack sends a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// The attacker, or a host that it abuses.
    Attacker,
    /// The victim.
    Victim,
}

/// The packets of one probe, in order.
pub type Exchange = &'static [(Sender, TcpFlags)];

const SYN: (Sender, TcpFlags) = (Sender::Attacker, TcpFlags::SYN);
const FIN: (Sender, TcpFlags) = (Sender::Attacker, TcpFlags::FIN);
const NULL: (Sender, TcpFlags) = (Sender::Attacker, TcpFlags(0));
const XMAS: (Sender, TcpFlags) = (Sender::Attacker, TcpFlags(0x29));
const ACK: (Sender, TcpFlags) = (Sender::Attacker, TcpFlags::ACK);
const RST: (Sender, TcpFlags) = (Sender::Attacker, TcpFlags::RST);
const RST_ACK: (Sender, TcpFlags) = (Sender::Attacker, TcpFlags(0x14));
const FIN_ACK: (Sender, TcpFlags) = (Sender::Attacker, TcpFlags(0x11));
const SYN_ACK: (Sender, TcpFlags) = (Sender::Attacker, TcpFlags(0x12));
const ACCEPTED: (Sender, TcpFlags) = (Sender::Victim, TcpFlags(0x12));
const REFUSED: (Sender, TcpFlags) = (Sender::Victim, TcpFlags(0x14));
const DENIED: (Sender, TcpFlags) = (Sender::Victim, TcpFlags::RST);

impl AttackKind {
    /// All attacks, in their order in a trace that has all.
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
        }
    }

    /// The rule of `acsm` that should detect it.
    pub const fn rule(self) -> &'static str {
        match self {
            AttackKind::SynFlood | AttackKind::SynFloodOneSource => "syn_flood",
            // A single ACK without a session means little; at many ports of one host it is a scan.
            AttackKind::SynScan | AttackKind::PortScan | AttackKind::AckScan => "port_scan",
            AttackKind::FinScan => "tcp_fin_scan",
            AttackKind::NullScan => "tcp_null_scan",
            AttackKind::XmasScan => "tcp_xmas_scan",
            AttackKind::HostSweep => "host_sweep",
            AttackKind::RstStorm => "rst_storm",
            AttackKind::FinStorm => "fin_storm",
            AttackKind::SynAckReflection => "synack_flood",
        }
    }

    /// The packets of a probe, which depend on a random number below 100.
    pub const fn exchange(self, percent: u64) -> Exchange {
        match (self, percent) {
            // A full backlog does not answer.
            (AttackKind::SynFlood | AttackKind::SynFloodOneSource, 0..50) => &[SYN, ACCEPTED],
            (AttackKind::SynFlood | AttackKind::SynFloodOneSource, _) => &[SYN],
            (AttackKind::SynScan, 0..2) => &[SYN, ACCEPTED, RST],
            (AttackKind::PortScan, 0..2) => &[SYN, ACCEPTED, ACK, RST_ACK],
            (AttackKind::SynScan | AttackKind::PortScan, _) => &[SYN, REFUSED],
            // An open port is silent on the next three, a closed one resets.
            (AttackKind::FinScan, 0..2) => &[FIN],
            (AttackKind::FinScan, _) => &[FIN, REFUSED],
            (AttackKind::NullScan, 0..2) => &[NULL],
            (AttackKind::NullScan, _) => &[NULL, REFUSED],
            (AttackKind::XmasScan, 0..2) => &[XMAS],
            (AttackKind::XmasScan, _) => &[XMAS, REFUSED],
            // This scan looks for a firewall.
            (AttackKind::AckScan, 0..20) => &[ACK],
            (AttackKind::AckScan, _) => &[ACK, DENIED],
            (AttackKind::HostSweep, 0..10) => &[SYN, ACCEPTED, RST],
            (AttackKind::HostSweep, 10..50) => &[SYN, REFUSED],
            (AttackKind::HostSweep, _) => &[SYN],
            (AttackKind::RstStorm, _) => &[RST],
            (AttackKind::FinStorm, _) => &[FIN_ACK],
            (AttackKind::SynAckReflection, 0..50) => &[SYN_ACK, DENIED],
            (AttackKind::SynAckReflection, _) => &[SYN_ACK],
        }
    }

    /// How many probes it has in a trace of `packets` packets, and how many per second.
    pub fn probes_and_rate(self, packets: u64) -> (u64, u64) {
        let (most, per_second) = match self {
            AttackKind::SynFlood | AttackKind::SynFloodOneSource => (20_000, 2_000),
            AttackKind::RstStorm | AttackKind::FinStorm => (20_000, 2_000),
            AttackKind::SynAckReflection => (20_000, 1_000),
            AttackKind::HostSweep => (5_000, 200),
            _ => (2_000, 200),
        };
        ((packets / 150).clamp(300, most), per_second)
    }
}

/// The name of an attack that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no attack; there are all, {known}", known = AttackKind::ALL.map(AttackKind::name).join(", "))]
pub struct UnknownAttack {
    name: String,
}

impl FromStr for AttackKind {
    type Err = UnknownAttack;

    fn from_str(name: &str) -> Result<Self, UnknownAttack> {
        let known = Self::ALL.into_iter().find(|kind| kind.name() == name);
        known.ok_or_else(|| UnknownAttack { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_others_are_refused_with_the_list() {
        for kind in AttackKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        let error = "smurf".parse::<AttackKind>().unwrap_err().to_string();
        assert!(error.contains("smurf") && error.contains("synack_reflection"), "{error}");
    }
}
