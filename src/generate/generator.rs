//! Generates a trace as specified, and its ground truth.

use std::io::Write;

use super::attack::{self, Attack};
use super::attack_kind::AttackSpec;
use super::conversation::EndingCounts;
use super::long_lived::{LongLived, LongLivedSpec};
use super::paper::{Paper, PaperSpec};
use super::paper_traffic::PaperTraffic;
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
    long_lived: LongLived,
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
        let long_lived = LongLived::new(LongLivedSpec {
            connections: spec.long_lived,
            seed: spec.seed,
            duration_nanos: spec.duration_nanos,
            ipv6_share: spec.ipv6_share,
        });
        let added_packets = attack_packets.saturating_add(long_lived.total_packets());
        let packets = spec.packets.saturating_sub(added_packets);
        let (base, base_needs) = plan_base(&spec, packets);
        let needed = base_needs.saturating_add(added_packets);
        if spec.packets < needed {
            return Err(TraceError::TooFewPackets {
                packets: spec.packets,
                flows: spec.flows,
                needed,
                with_attacks: !attacks.is_empty(),
                with_long_lived: spec.long_lived > 0,
            });
        }
        Ok(Trace { spec, base, long_lived, attacks })
    }

    /// Writes the trace as a pcap file and returns its ground truth.
    pub fn write(self, out: impl Write) -> Result<Truth, TraceError> {
        let Trace { spec, base, long_lived, attacks } = self;
        let attacks = attacks.into_iter().map(|attack| Start {
            at_nanos: attack.start_nanos(),
            talker: Talker::Attack(Box::new(attack)),
        });
        let added = merge(long_lived, attacks);
        match base {
            Base::Realistic(base) => write(&spec, merge(base, added), out),
            Base::Paper(base) => write(&spec, merge(base, added), out),
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
    let flows = spec.flows.saturating_add(spec.long_lived.saturating_mul(2));
    if flows > TraceSpec::MAX_FLOWS {
        return Err(TraceError::TooManyFlows { flows, limit: TraceSpec::MAX_FLOWS });
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
    if spec.profile == Profile::Paper && (spec.silent_share.is_some() || spec.long_lived > 0) {
        return Err(TraceError::OneWayPaper);
    }
    check_paper(spec)?;
    if spec.well_behaved && spec.silent_share.is_some_and(|share| share > 0.0) {
        return Err(TraceError::WellBehavedSilence);
    }
    if spec.well_behaved && !spec.attacks.is_empty() {
        return Err(TraceError::WellBehavedAttacks);
    }
    if spec.well_behaved && spec.flows % 2 == 1 {
        return Err(TraceError::OddFlows { flows: spec.flows });
    }
    spec.attacks.iter().try_for_each(check_attack)
}

fn check_paper(spec: &TraceSpec) -> Result<(), TraceError> {
    if spec.profile != Profile::Paper && spec.paper != PaperTraffic::default() {
        return Err(TraceError::PaperOnly);
    }
    match spec.paper.is_possible() {
        true => Ok(()),
        false => Err(TraceError::ImpossiblePaper),
    }
}

fn check_attack(attack: &AttackSpec) -> Result<(), TraceError> {
    if attack.probes == Some(0) {
        return Err(TraceError::Zero { what: "the number of probes" });
    }
    if attack.per_second == Some(0) {
        return Err(TraceError::Zero { what: "the number of probes per second" });
    }
    let (attack, probes, limit) =
        (attack.kind.name(), attack.probes.unwrap_or(0), attack.kind.max_probes());
    if probes > limit {
        return Err(TraceError::TooManyProbes { attack, probes, limit });
    }
    Ok(())
}

/// The ordinary traffic of a profile for `packets` packets, and how many it needs at least.
fn plan_base(spec: &TraceSpec, packets: u64) -> (Base, u64) {
    let TraceSpec { flows, seed, duration_nanos, .. } = *spec;
    match spec.profile {
        Profile::Realistic => {
            let base = Realistic::new(RealisticSpec {
                flows,
                packets,
                seed,
                duration_nanos,
                ipv6_share: spec.ipv6_share,
                well_behaved: spec.well_behaved,
                silent_share: spec.silent_share,
            });
            let needed = base.needed_packets();
            (Base::Realistic(base), needed)
        }
        Profile::Paper => {
            let base =
                Paper::new(PaperSpec { flows, packets, seed, duration_nanos, traffic: spec.paper });
            let needed = base.needed_packets();
            (Base::Paper(base), needed)
        }
    }
}

/// Merges talkers in the order of their starts; of two at the same time, that of `a` is first.
fn merge(
    a: impl Iterator<Item = Start>,
    b: impl Iterator<Item = Start>,
) -> impl Iterator<Item = Start> {
    let (mut a, mut b) = (a.peekable(), b.peekable());
    std::iter::from_fn(move || {
        let b_starts = b.peek().map_or(u64::MAX, |start| start.at_nanos);
        a.next_if(|start| start.at_nanos <= b_starts).or_else(|| b.next())
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
            if complete {
                let EndingCounts { connections, silent } = conversation.endings();
                trace.endings.connections += connections;
                trace.endings.silent += silent;
            }
            counts
        }
        Talker::LongLived(connection) => {
            let counts = connection.counts();
            trace.long_lived_flows += counts.flows;
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
