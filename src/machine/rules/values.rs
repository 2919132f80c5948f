//! Small values as rules files write them: flag sets, durations, flow keys.

use toml::Spanned;

use super::error::{RulesError, SourceText, alternatives};
use crate::flow::{FlowKeyKind, TcpFlags};
use crate::machine::confirmation::Evidence;
use crate::machine::rule::{Counted, ThresholdKey, Verdict};
use crate::machine::table::Input;
use crate::time::NANOS_PER_SEC;
use crate::units::parse_duration_nanos;

/// The longest window and cool-down: beyond a day a count means something else.
const DURATION_LIMIT_NANOS: u64 = 24 * 3600 * NANOS_PER_SEC;

/// The word for "carries data" among flag names.
const DATA: &str = "data";

/// Flags that must be set and flags that must be clear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct FlagCondition {
    pub set: u16,
    pub clear: u16,
}

impl FlagCondition {
    pub fn matches(self, input: Input) -> bool {
        input.bits() & self.set == self.set && input.bits() & self.clear == 0
    }
}

/// Reads `SYN+ACK`, `none`, `FIN+data`: the bits of a machine's input.
pub(super) fn flag_bits(text: &str) -> Result<u16, String> {
    if text == "none" {
        return Ok(0);
    }
    text.split('+').try_fold(0, |bits, name| {
        let named = TcpFlags::NAMED.iter().find(|(_, known)| *known == name);
        match named {
            Some((flag, _)) => Ok(bits | u16::from(flag.0)),
            None if name == DATA => Ok(bits | Input::DATA_BIT),
            None => {
                let known = TcpFlags::NAMED.iter().map(|(_, known)| *known).chain([DATA]);
                Err(format!(
                    "unknown flag `{name}`, expected {}, joined by `+`, or `none`",
                    alternatives(known)
                ))
            }
        }
    })
}

/// `set`, `clear` and `exact`, in this order.
pub(super) fn flags(
    text: &SourceText,
    [set, clear, exact]: [&Option<Spanned<String>>; 3],
) -> Result<FlagCondition, RulesError> {
    let bits = |value: &Option<Spanned<String>>| match value {
        None => Ok(0),
        Some(value) => flag_bits(value.get_ref()).map_err(|what| text.wrong_at(value, what)),
    };
    let mut condition = FlagCondition { set: bits(set)?, clear: bits(clear)? };
    if let Some(value) = exact {
        let wanted = bits(exact)?;
        if wanted & Input::DATA_BIT != 0 || condition.set & 0xff != 0 || condition.clear & 0xff != 0
        {
            let what = "`exact` fixes all eight flags: `set` and `clear` can then only say `data`";
            return Err(text.wrong_at(value, what));
        }
        condition.set |= wanted;
        condition.clear |= !wanted & 0xff;
    }
    match set.as_ref().or(clear.as_ref()) {
        Some(value) if condition.set & condition.clear != 0 => {
            Err(text.wrong_at(value, "a flag cannot be both set and clear"))
        }
        _ => Ok(condition),
    }
}

/// Reads a duration as the command line does.
pub(super) fn duration_nanos(text: &str) -> Result<u64, String> {
    parse_duration_nanos(text).map_err(|error| error.to_string())
}

/// A duration of at most a day.
pub(super) fn duration(text: &SourceText, value: &Spanned<String>) -> Result<u64, RulesError> {
    match duration_nanos(value.get_ref()) {
        Ok(nanos) if nanos <= DURATION_LIMIT_NANOS => Ok(nanos),
        Ok(_) => Err(text.wrong_at(value, "longer than a day (24h)")),
        Err(what) => Err(text.wrong_at(value, what)),
    }
}

/// A number within a range.
pub(super) fn number(
    text: &SourceText,
    value: &Spanned<i64>,
    what: &str,
    range: std::ops::RangeInclusive<u32>,
) -> Result<u32, RulesError> {
    let fits = u32::try_from(*value.get_ref()).ok().filter(|number| range.contains(number));
    fits.ok_or_else(|| {
        let (from, to) = (range.start(), range.end());
        text.wrong_at(value, format!("{what} is {}, expected {from} to {to}", value.get_ref()))
    })
}

/// The flow keys and their names.
pub(super) const FLOW_KEYS: [(FlowKeyKind, &str); 3] = [
    (FlowKeyKind::Pair, "pair"),
    (FlowKeyKind::FiveTuple, "5-tuple"),
    (FlowKeyKind::Connection, "connection"),
];

/// What thresholds count, and its names.
pub(super) const COUNTED: [(Counted, &str); 15] = [
    (Counted::HalfOpen, "half_open"),
    (Counted::UnansweredPorts, "unanswered_ports"),
    (Counted::Destinations, "destinations"),
    (Counted::Resets, "resets"),
    (Counted::Fins, "fins"),
    (Counted::UnsolicitedSynAcks, "unsolicited_synacks"),
    (Counted::UnsolicitedSynAckHosts, "unsolicited_synack_hosts"),
    (Counted::IncompleteSyns, "incomplete_syns"),
    (Counted::RefusedSyns, "refused_syns"),
    (Counted::EmptyConnections, "empty_connections"),
    (Counted::Connections, "connections"),
    (Counted::RepeatedSyns, "repeated_syns"),
    (Counted::StrayAcks, "stray_acks"),
    (Counted::OddFlags, "odd_flags"),
    (Counted::OddFlagTargets, "odd_flag_targets"),
];

/// What decides rules about packets of no connection, and its names.
pub(super) const VERDICTS: [(Verdict, &str); 3] = [
    (Verdict::RefusedAck, "refused_ack"),
    (Verdict::UnsolicitedSynAck, "unsolicited_synack"),
    (Verdict::StrayReset, "stray_reset"),
];

/// What confirms or refutes an alert, and its names.
pub(super) const EVIDENCE: [(Evidence, &str); 6] = [
    (Evidence::SynAck, "synack"),
    (Evidence::Reset, "reset"),
    (Evidence::Segment, "segment"),
    (Evidence::OwnSynBefore, "own_syn_before"),
    (Evidence::SynBefore, "syn_before"),
    (Evidence::SynsBefore, "syns_before"),
];

/// What thresholds count per, and its names.
pub(super) const THRESHOLD_KEYS: [(ThresholdKey, &str); 10] = [
    (ThresholdKey::Source, "source"),
    (ThresholdKey::Destination, "destination"),
    (ThresholdKey::Pair, "pair"),
    (ThresholdKey::SourceAndPort, "source_and_port"),
    (ThresholdKey::PairAndPort, "pair_and_port"),
    (ThresholdKey::SourceService, "source_service"),
    (ThresholdKey::Service, "service"),
    (ThresholdKey::Prefix, "prefix"),
    (ThresholdKey::WidePrefix, "wide_prefix"),
    (ThresholdKey::Tuple, "5-tuple"),
];

/// The value that `name` stands for in a list as above; `what` is what it should be.
pub(super) fn named<T: Copy>(
    values: &[(T, &'static str)],
    name: &str,
    what: &str,
) -> Result<T, String> {
    let found = values.iter().find(|(_, known)| *known == name);
    found.map(|(value, _)| *value).ok_or_else(|| {
        format!(
            "unknown {what} `{name}`, expected {}",
            alternatives(values.iter().map(|(_, known)| *known))
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_read_as_they_are_shown() {
        for bits in 1..=255u8 {
            assert_eq!(flag_bits(&TcpFlags(bits).to_string()), Ok(u16::from(bits)));
        }
        assert_eq!(flag_bits("none"), Ok(0));
        assert_eq!(flag_bits("PSH+data"), Ok(0x108));
        for wrong in ["", "syn", "SYN + ACK", "SYN|ACK", "SYN+", "none+SYN"] {
            assert!(flag_bits(wrong).unwrap_err().contains("`FIN`, `SYN`"), "{wrong}");
        }
    }
}
