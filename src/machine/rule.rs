//! Rules: names, severities, kinds and presets of each; thresholds over many packets.

use serde::Deserialize;

use super::confirmation::Confirmation;
use super::table::{RuleId, RuleSet};

/// The generator id of all our alerts: text rules, as Suricata and Snort count them.
pub const GENERATOR_ID: u32 = 1;

/// What a rule is about, which decides when it is muted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleKind {
    /// A fact of ordinary traffic, as the papers count it: no cool-down, no alert budget.
    Mark,
    /// Combinations of flags that no ordinary TCP stack sends.
    Flag,
    /// A packet that belongs to no known flow: muted while starting up, and in captures that see
    /// one direction only, where it means nothing.
    NoSession,
    /// A packet that does not fit its connection: needs both directions in one flow.
    Session,
    /// A count of packets above a threshold: never muted by start-up.
    Threshold,
}

impl RuleKind {
    /// Every kind, in the order of the documentation.
    pub const ALL: [RuleKind; 5] =
        [Self::Mark, Self::Flag, Self::NoSession, Self::Session, Self::Threshold];

    /// Its name in rules files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mark => "mark",
            Self::Flag => "flag",
            Self::NoSession => "no_session",
            Self::Session => "session",
            Self::Threshold => "threshold",
        }
    }
}

/// A set of defaults that goes together; a rule says in which it is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// As the papers work: address pairs, marks emitted.
    Paper,
    /// For network operators: connections, marks only counted.
    Operator,
}

impl Preset {
    /// Both presets.
    pub const ALL: [Preset; 2] = [Self::Paper, Self::Operator];

    /// Its name in rules files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Operator => "operator",
        }
    }
}

/// Suricata's class of an alert, so that its tools can classify ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    /// Ordinary traffic.
    NotSuspicious,
    /// Information gathering.
    AttemptedRecon,
    /// Scanning.
    NetworkScan,
    /// Exhausting a service.
    AttemptedDos,
    /// A protocol used against its rules.
    ProtocolCommandDecode,
    /// Worth a look.
    BadUnknown,
    /// Anything else.
    MiscActivity,
}

impl Category {
    /// The words of Suricata's `classification.config`.
    pub const fn description(self) -> &'static str {
        match self {
            Self::NotSuspicious => "Not Suspicious Traffic",
            Self::AttemptedRecon => "Attempted Information Leak",
            Self::NetworkScan => "Detection of a Network Scan",
            Self::AttemptedDos => "Attempted Denial of Service",
            Self::ProtocolCommandDecode => "Generic Protocol Command Decode",
            Self::BadUnknown => "Potentially Bad Traffic",
            Self::MiscActivity => "Misc activity",
        }
    }
}

/// The names of the same event in other tools; empty where they have none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Counterparts {
    /// Suricata: signature id, or event name and signature id.
    pub suricata: String,
    /// Snort 3: generator:signature.
    pub snort: String,
    /// Zeek: the `weird` or connection state.
    pub zeek: String,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Its index in the list of rules.
    pub id: RuleId,
    /// Its name: what `by_rule`, suppression files and people call it.
    pub name: String,
    /// `signature_id` of its alerts, under [`GENERATOR_ID`].
    pub signature_id: u32,
    /// 1 (most severe) to 4.
    pub severity: u8,
    /// Suricata's class.
    pub category: Category,
    /// What happened, for people.
    pub message: String,
    /// What it is about.
    pub kind: RuleKind,
    /// The presets in which it is on.
    pub on: Vec<Preset>,
    /// After an alert it does not fire for the same source this long.
    pub cooldown_nanos: u64,
    /// What has to be seen before an alert that rests on an approximate answer is believed.
    pub confirm: Option<Confirmation>,
    /// Its names in other tools.
    pub counterparts: Counterparts,
}

/// All rules of a rules file and its includes, at most [`RuleSet::LIMIT`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleList {
    rules: Vec<Rule>,
}

impl RuleList {
    /// The list of these rules; each one's id is its index.
    pub(super) fn new(rules: Vec<Rule>) -> RuleList {
        debug_assert!(rules.iter().zip(0..).all(|(rule, index)| rule.id == RuleId(index)));
        RuleList { rules }
    }

    /// The rule with this id.
    pub fn get(&self, id: RuleId) -> Option<&Rule> {
        self.rules.get(usize::from(id.0))
    }

    /// The rule with this name.
    pub fn find(&self, name: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.name == name)
    }

    /// All rules, by id.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter()
    }

    /// How many rules there are.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rules of one kind.
    pub fn of_kind(&self, kind: RuleKind) -> RuleSet {
        self.select(|rule| rule.kind == kind)
    }

    /// The rules that are on in a preset. The others are only counted.
    pub fn on_in(&self, preset: Preset) -> RuleSet {
        self.select(|rule| rule.on.contains(&preset))
    }

    fn select(&self, wanted: impl Fn(&Rule) -> bool) -> RuleSet {
        self.rules.iter().filter(|rule| wanted(rule)).map(|rule| rule.id).collect()
    }
}

/// What decides, within the time limit of answers, that a packet belongs to no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// An ACK of a 5-tuple that was not seen for long, and the other end resets it.
    RefusedAck,
    /// A SYN+ACK that answers no SYN, and its target resets it or its sender is silent.
    UnsolicitedSynAck,
    /// A RST of a 5-tuple that was not seen for long.
    StrayReset,
}

/// A rule about packets of no connection that is decided by what follows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecidedRule {
    /// Which rule it is.
    pub rule: RuleId,
    /// Its severity.
    pub severity: u8,
    /// What decides.
    pub by: Verdict,
    /// At most this number of alerts per hour; the rest is counted in one more.
    pub per_hour: u32,
}

/// What a threshold counts per.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ThresholdKey {
    /// Per source address.
    Source,
    /// Per destination address.
    Destination,
    /// Per (source, destination) pair.
    Pair,
    /// Per (source, destination port): one service asked for on many hosts.
    SourceAndPort,
    /// Per (source, destination, destination port): one host asks for one service.
    PairAndPort,
    /// Per (source, source port): one service that sends.
    SourceService,
    /// Per (destination, destination port): one service that is asked for.
    Service,
    /// Per /24 or, of IPv6, /48 of the destination.
    Prefix,
    /// Per /16 or, of IPv6, /32 of the destination.
    WidePrefix,
    /// Per 5-tuple.
    Tuple,
}

impl ThresholdKey {
    /// How many bits of the destination it is, of an IPv4 and of an IPv6 address.
    pub const fn prefix_bits(self) -> Option<[u8; 2]> {
        match self {
            ThresholdKey::Prefix => Some([24, 48]),
            ThresholdKey::WidePrefix => Some([16, 32]),
            _ => None,
        }
    }
}

/// What a threshold counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Counted {
    /// Half-open 5-tuples: a SYN and no later ACK from its sender in time.
    HalfOpen,
    /// Distinct destination ports that refused (RST) or did not answer a first packet.
    UnansweredPorts,
    /// Distinct destination hosts of first packets of any kind that came to nothing (refused, not
    /// answered in time, or left half-open); IPv6 by /64.
    Destinations,
    /// RST packets, but for the first three in each direction of a 5-tuple that was seen before, and for
    /// those that answer a packet.
    Resets,
    /// FIN packets, but for the first three in each direction of a 5-tuple that was seen before.
    Fins,
    /// SYN+ACK packets that answer no SYN and that only a RST follows.
    UnsolicitedSynAcks,
    /// Distinct hosts that such SYN+ACKs went to.
    UnsolicitedSynAckHosts,
    /// First SYNs of 5-tuples whose opener does not complete the handshake.
    IncompleteSyns,
    /// The same, refused by the asked host.
    RefusedSyns,
    /// Connections that were opened and then closed, or silent, without any data.
    EmptyConnections,
    /// Connections that were opened.
    Connections,
    /// SYNs of one 5-tuple.
    RepeatedSyns,
    /// ACKs of no connection that were refused or not answered.
    StrayAcks,
    /// Packets with flags that no honest stack sends: those that fire a rule of kind `flag`.
    OddFlags,
    /// Distinct (host, port) that such packets went to.
    OddFlagTargets,
}

/// A severity from a count on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// The count in the window.
    pub count: u32,
    /// The severity.
    pub severity: u8,
    /// Only if the victim answers at most half of the share of SYNs that it answered before.
    pub answers_halved: bool,
}

/// Ranges of ports; all ports if there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortRanges {
    ranges: [Option<(u16, u16)>; PortRanges::LIMIT],
}

impl PortRanges {
    /// The most ranges.
    pub const LIMIT: usize = 8;

    /// These ranges, both ends included; the first [`LIMIT`](Self::LIMIT) of them.
    pub fn new(given: &[(u16, u16)]) -> PortRanges {
        let mut ranges = [None; Self::LIMIT];
        for (place, range) in ranges.iter_mut().zip(given) {
            *place = Some(*range);
        }
        PortRanges { ranges }
    }

    /// Whether a port is in one of them, or there are none.
    #[inline]
    pub fn contains(&self, port: u16) -> bool {
        let [first, ..] = self.ranges;
        first.is_none()
            || self
                .ranges
                .iter()
                .map_while(|range| *range)
                .any(|(from, to)| (from..=to).contains(&port))
    }
}

/// What a count has to meet beside its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Conditions {
    /// At least this share of all attempts has to fail, in parts of 1000.
    pub share_permille: u16,
    /// From at least this number of sources.
    pub sources: u16,
    /// Only packets to these ports.
    pub ports: PortRanges,
    /// Other severities for greater counts; of those that are reached, the gravest holds.
    pub levels: [Option<Level>; Conditions::LEVELS],
}

impl Conditions {
    /// The most levels.
    pub const LEVELS: usize = 4;
}

/// A rule about many packets: a count of something, per key, within a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThresholdRule {
    /// Which rule it is.
    pub rule: RuleId,
    /// What is counted.
    pub counted: Counted,
    /// Per what.
    pub per: ThresholdKey,
    /// It fires when the count within a window reaches this.
    pub count: u32,
    /// Length of the window.
    pub window_nanos: u64,
    /// After it fired for a key it does not fire for that key this long; what happens in between is
    /// counted and reported with the next alert.
    pub cooldown_nanos: u64,
    /// The severity of its hits.
    pub severity: u8,
    /// What else has to be met.
    pub conditions: Conditions,
}

impl ThresholdRule {
    /// The severity of a count.
    pub fn severity_of(&self, count: u64, answers_halved: bool) -> u8 {
        let reached = |level: &&Level| {
            count >= u64::from(level.count) && (answers_halved || !level.answers_halved)
        };
        let levels = self.conditions.levels.iter().flatten().filter(reached);
        levels.map(|level| level.severity).fold(self.severity, u8::min)
    }
}
