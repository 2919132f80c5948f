//! Generates a trace as specified, and its ground truth.

use std::io::Write;

use super::attack::{self, Attack};
use super::paper::{Paper, PaperSpec};
use super::realistic::{Realistic, RealisticSpec};
use super::schedule::{Schedule, Start, Talker};
use super::segment::{Segment, TCP_FLAGS_OFFSET};
use super::spec::{Format, Profile, TraceError, TraceSpec};
use super::truth::{TraceCounts, Truth};
use crate::capture::{PcapHeader, PcapWriter};

/// A planned trace, ready to be written.
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

    /// Writes the trace as a pcap file and returns its ground truth.
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
        return Err(TraceError::TooManyPackets);
    }
    if spec.duration_nanos > TraceSpec::MAX_DURATION_NANOS {
        return Err(TraceError::TooLong);
    }
    if spec.well_behaved && spec.profile == Profile::Paper {
        return Err(TraceError::WellBehavedPaper);
    }
    if spec.well_behaved && !spec.attacks.is_empty() {
        return Err(TraceError::WellBehavedAttacks);
    }
    if spec.well_behaved && spec.flows % 2 == 1 {
        return Err(TraceError::OddFlows { flows: spec.flows });
    }
    Ok(())
}

/// The ordinary traffic of a profile for `packets` packets, and how many it needs at least.
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

/// Merges ordinary traffic and attacks in the order of their starts.
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
    let Format { link, snaplen, precision } = spec.format;
    let header = PcapHeader { link_type: link.link_type(), snaplen_bytes: snaplen, precision };
    let mut writer = PcapWriter::new(out, header);
    let mut counts = TraceCounts::default();
    while let Some((nanos, segment, finished)) = schedule.next_packet() {
        let time = precision.round_down(TraceSpec::START.plus(nanos));
        let headers = segment.headers(link);
        let wire_bytes = headers.wire_bytes as u32;
        let bytes = &headers.bytes[..headers.header_bytes];
        writer.write(time, wire_bytes, wire_bytes.min(snaplen), bytes)?;
        counts.packets += 1;
        counts.first_time.get_or_insert(time);
        counts.last_time = Some(time);
        if includes_flags(spec.format, &segment) {
            counts.tcp_packets += 1;
            counts.ipv6_tcp_packets += u64::from(segment.src.is_ipv6());
        }
        if let Some(talker) = finished {
            add_finished(&mut counts, &talker, includes_flags(spec.format, &segment));
        }
    }
    writer.flush()?;
    Ok(counts.into_truth(spec, writer.file_bytes()))
}

/// Whether the TCP flags are within the snaplen; without them it is no TCP packet for a reader.
fn includes_flags(format: Format, segment: &Segment) -> bool {
    let ip_bytes = if segment.src.is_ipv6() { 40 } else { 20 };
    format.link.header_bytes() + ip_bytes + TCP_FLAGS_OFFSET < format.snaplen as usize
}

/// Adds the flows of a talker that has finished, if they are within the snaplen.
fn add_finished(trace: &mut TraceCounts, talker: &Talker, has_flags: bool) {
    let counts = match talker {
        Talker::Conversation(conversation) => {
            let counts = conversation.counts();
            let complete = conversation.is_complete();
            let flows =
                if complete { &mut trace.clean_flows } else { &mut trace.partly_seen_flows };
            *flows += counts.flows;
            counts
        }
        Talker::OneWayPair(pair) => {
            let counts = pair.counts();
            trace.partly_seen_flows += counts.flows;
            counts
        }
        Talker::Attack(attack) => {
            let record = attack.record();
            let counts = record.counts;
            trace.attacks.push(record);
            counts
        }
    };
    if has_flags {
        trace.counts.add(&counts);
    }
}
