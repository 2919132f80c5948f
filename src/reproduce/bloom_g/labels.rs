//! A row of our own: the flow labels of a trace as members, in place of random numbers.

use std::collections::BTreeSet;

use acsm_filters::{BloomG, BloomGSpec};
use acsm_model::bloom_g::BloomG as Model;

use super::design::WORD_BITS;
use crate::capture::parse::Parser;
use crate::capture::{Frame, LinkType};
use crate::flow::{FlowKeyKind, Keyer};
use crate::generate::{Profile, Trace, TraceSpec};
use crate::reproduce::trace_note::trace_note;
use crate::reproduce::{Axis, Check, Context, Failure, Outcome, Panel, Rate, Verdict};
use crate::time::Timestamp;

/// Bytes of the header of a pcap file, and of a packet in it.
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
/// n/m.
const LOAD: f64 = 0.1;

/// The directed 5-tuples of a generated trace as digests, in the order of their first packets.
fn flow_labels(context: &Context<'_>, spec: TraceSpec) -> Result<Vec<u64>, Failure> {
    let failed = |error: crate::generate::TraceError| Failure::Other(error.to_string());
    let mut pcap = vec![];
    Trace::new(spec).map_err(failed)?.write(&mut pcap).map_err(failed)?;
    let keyer = Keyer {
        kind: FlowKeyKind::FiveTuple,
        vlan_in_key: false,
        hash_key: context.hash_key(0),
        pairs_directions: false,
    };
    let parser = Parser::default();
    let (mut seen, mut labels) = (BTreeSet::new(), vec![]);
    let mut rest = pcap.get(FILE_HEADER..).unwrap_or_default();
    while let Some((header, after)) = rest.split_at_checked(RECORD_HEADER) {
        let length = header.get(8..12).and_then(|bytes| bytes.try_into().ok());
        let length = u32::from_le_bytes(length.unwrap_or_default());
        let Some((bytes, after)) = after.split_at_checked(length as usize) else { break };
        rest = after;
        let time = Timestamp::default();
        let frame = Frame { time, link_type: LinkType::RAW, wire_bytes: length, bytes };
        if let Ok(packet) = parser.parse(&frame) {
            let label = keyer.id(&keyer.key(&packet).0).position_bits();
            if seen.insert(label) {
                labels.push(label);
            }
        }
    }
    Ok(labels)
}

/// Flow labels of the first half of a trace are members; those of the second half are asked for.
pub fn members_of_a_trace(context: &Context<'_>) -> Result<Outcome, Failure> {
    let packets = context.pick(20_000, 3_000_000, 20_000_000);
    let [seed] = context.seed.numbers(0);
    let spec =
        TraceSpec { packets, flows: packets / 10, seed, ..TraceSpec::new(Profile::Realistic) };
    let made = trace_note(&spec);
    let labels = flow_labels(context, spec)?;
    context.done(0.7)?;
    let (members, absent) = labels.split_at(labels.len() / 2);
    let bits = (members.len() as f64 / LOAD) as u64;
    let mut panel = Panel::new(
        format!("Directed 5-tuples of a trace as members, {} of them, k = 3", members.len()),
        Axis::linear("g, words per query"),
        Axis::log("false positive rate"),
    );
    let mut inside = 0;
    for words in 1..=3 {
        let spec = BloomGSpec { bits, word_bits: WORD_BITS, words, hashes: 3 };
        let mut filter = BloomG::new(&spec).map_err(|error| Failure::Other(error.to_string()))?;
        for &member in members {
            filter.insert(member);
        }
        let events = absent.iter().filter(|&&label| filter.contains(label)).count() as u64;
        let rate = Rate { events, trials: absent.len() as u64 };
        let model = Model {
            bits: filter.bits() as f64,
            word_bits: WORD_BITS,
            words: words as usize,
            hashes: 3,
        };
        let form = model.false_positive_rate_exact(members.len() as f64);
        panel.rate("flow labels, measured", f64::from(words), rate, 1);
        panel.computed("random elements, exact", f64::from(words), form);
        let [low, high] = rate.interval();
        // One filter: its own deviation comes on top, 3 % of the rate at these sizes.
        inside += u32::from(low - 0.03 * form <= form && form <= high + 0.03 * form);
    }
    let checks = [Check::new(
        "flow labels have the false positive rate of random elements, g = 1, 2 and 3",
        inside == 3,
        format!("{inside} of 3 intervals hold it"),
    )];
    let paper = "experiments with a real traffic trace [in a supplement that we do not have]";
    let notes = vec![
        "The labels are hashed with a key, so that nothing of their structure is left.".to_owned(),
        made,
    ];
    Ok(Outcome { panels: vec![panel], notes, verdict: Verdict::of_checks(paper, &checks) })
}
