//! Makes a trace as specified and counts what is in it.

use std::io::Write;

use super::attack::{self, Attack};
use super::error::TraceError;
use super::paper::{Paper, PaperSpec};
use super::pcap_writer::{Format, PcapWriter};
use super::realistic::{Realistic, RealisticSpec};
use super::schedule::{Schedule, Start, Talker};
use super::segment::{Segment, TCP_FLAGS_OFFSET};
use super::spec::{Profile, TraceSpec};
use super::truth::{Tally, Truth};
use crate::time::Timestamp;

/// A trace that is planned and can be written.
#[derive(Debug)]
pub struct Trace {
    spec: TraceSpec,
    base: Base,
    attacks: Vec<Attack>,
}

#[derive(Debug)]
enum Base {
    Realistic(Realistic),
    Paper(Paper),
}

impl Trace {
    /// When every trace begins: 2024-01-01T00:00:00Z.
    pub const START: Timestamp = Timestamp::new(1_704_067_200, 0);

    /// Plans a trace; writes nothing yet.
    pub fn new(spec: TraceSpec) -> Result<Self, TraceError> {
        check(&spec)?;
        let attacks = attack::plan(&spec.attacks, spec.seed, spec.packets, spec.duration_nanos);
        let attack_packets: u64 = attacks.iter().map(Attack::total_packets).sum();
        let packets = spec.packets.saturating_sub(attack_packets);
        let (base, base_needs) = plan_base(&spec, packets);
        let needed = base_needs + attack_packets;
        if spec.packets < needed {
            let (packets, flows) = (spec.packets, spec.flows);
            let with_attacks = !attacks.is_empty();
            return Err(TraceError::TooFewPackets { packets, flows, needed, with_attacks });
        }
        Ok(Trace { spec, base, attacks })
    }

    /// Writes the trace as a pcap file and returns what is in it.
    pub fn write(self, out: impl Write) -> Result<Truth, TraceError> {
        let Trace { spec, base, attacks } = self;
        match base {
            Base::Realistic(base) => write(&spec, merge(base, attacks), out),
            Base::Paper(base) => write(&spec, merge(base, attacks), out),
        }
    }
}

fn check(spec: &TraceSpec) -> Result<(), TraceError> {
    let positive = [
        (spec.flows, "the number of flows"),
        (spec.packets, "the number of packets"),
        (spec.duration_nanos, "the duration"),
        (spec.format.snaplen.into(), "the snaplen"),
    ];
    if let Some((_, what)) = positive.into_iter().find(|(number, _)| *number == 0) {
        return Err(TraceError::Zero { what });
    }
    if spec.flows > TraceSpec::MAX_FLOWS {
        return Err(TraceError::TooManyFlows { flows: spec.flows, limit: TraceSpec::MAX_FLOWS });
    }
    if spec.packets > TraceSpec::MAX_PACKETS {
        return Err(TraceError::Contradiction(
            "a trace has 10^12 packets at the most; lower --packets",
        ));
    }
    if spec.duration_nanos > TraceSpec::MAX_DURATION_NANOS {
        return Err(TraceError::Contradiction(
            "a trace lasts a year at the most; lower --duration",
        ));
    }
    if spec.well_behaved && spec.profile == Profile::Paper {
        return Err(TraceError::Contradiction(
            "the paper profile sees one direction of connections begun before: it cannot be well-behaved; use --profile realistic",
        ));
    }
    if spec.well_behaved && !spec.attacks.is_empty() {
        return Err(TraceError::Contradiction("a well-behaved trace has no attacks in it"));
    }
    if spec.well_behaved && spec.flows % 2 == 1 {
        return Err(TraceError::OddFlows { flows: spec.flows });
    }
    Ok(())
}

/// The profile's conversations for so many packets, and how many they need at the least.
fn plan_base(spec: &TraceSpec, packets: u64) -> (Base, u64) {
    let TraceSpec { flows, seed, duration_nanos, ipv6_share, well_behaved, .. } = *spec;
    match spec.profile {
        Profile::Realistic => {
            let base = Realistic::new(RealisticSpec {
                flows,
                packets,
                seed,
                duration_nanos,
                ipv6_share,
                well_behaved,
            });
            let needed = base.needed_packets();
            (Base::Realistic(base), needed)
        }
        Profile::Paper => {
            let base = Paper::new(PaperSpec { flows, packets, seed, duration_nanos });
            let needed = base.needed_packets();
            (Base::Paper(base), needed)
        }
    }
}

/// Ordinary traffic and attacks, in the order of their starts.
fn merge(base: impl Iterator<Item = Start>, attacks: Vec<Attack>) -> impl Iterator<Item = Start> {
    let mut base = base.peekable();
    let mut attacks = attacks
        .into_iter()
        .map(|attack| Start {
            at_nanos: attack.start_nanos(),
            talker: Talker::Attack(Box::new(attack)),
        })
        .peekable();
    std::iter::from_fn(move || {
        let attack_at = attacks.peek().map_or(u64::MAX, |start| start.at_nanos);
        base.next_if(|start| start.at_nanos <= attack_at).or_else(|| attacks.next())
    })
}

fn write(
    spec: &TraceSpec,
    starts: impl Iterator<Item = Start>,
    out: impl Write,
) -> Result<Truth, TraceError> {
    let mut schedule = Schedule::new(starts);
    let mut writer = PcapWriter::new(out, spec.format);
    let mut tally = Tally::default();
    while let Some((nanos, segment, finished)) = schedule.next_packet() {
        let time = spec.format.precision.round_down(Trace::START.plus(nanos));
        writer.write(time, &segment)?;
        tally.packets += 1;
        tally.first_time.get_or_insert(time);
        tally.last_time = Some(time);
        if shows_flags(spec.format, &segment) {
            tally.tcp_packets += 1;
            tally.ipv6_tcp_packets += u64::from(segment.src.is_ipv6());
        }
        if let Some(talker) = finished {
            tally_up(&mut tally, &talker, shows_flags(spec.format, &segment));
        }
    }
    let file_bytes = writer.finish()?;
    Ok(tally.into_truth(spec, file_bytes))
}

/// Whether the snaplen leaves the TCP flags in; without them it is no TCP to a reader.
fn shows_flags(format: Format, segment: &Segment) -> bool {
    let ip_bytes = if segment.src.is_ipv6() { 40 } else { 20 };
    format.link.header_bytes() + ip_bytes + TCP_FLAGS_OFFSET < format.snaplen as usize
}

/// Adds the flows of a talker that has finished, if a reader can see them.
fn tally_up(tally: &mut Tally, talker: &Talker, is_seen: bool) {
    let counts = match talker {
        Talker::Conversation(conversation) => {
            let counts = conversation.counts();
            let whole = conversation.is_seen_whole();
            let flows = if whole { &mut tally.clean_flows } else { &mut tally.partly_seen_flows };
            *flows += counts.flows;
            counts
        }
        Talker::OneWayPair(pair) => {
            let counts = pair.counts();
            tally.partly_seen_flows += counts.flows;
            counts
        }
        Talker::Attack(attack) => {
            let facts = attack.facts();
            let counts = facts.counts;
            tally.attacks.push(facts);
            counts
        }
    };
    if is_seen {
        tally.counts.add(&counts);
    }
}
