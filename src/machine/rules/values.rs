//! Small values as rules files write them: flag sets, durations, flow keys.

use toml::Spanned;

use super::error::{RulesError, SourceText, alternatives};
use crate::flow::{FlowKeyKind, TcpFlags};
use crate::machine::rule::{Counted, ThresholdKey};
use crate::machine::table::Input;
use crate::units::parse_duration_nanos;

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

/// The flow keys and their names.
pub(super) const FLOW_KEYS: [(FlowKeyKind, &str); 3] = [
    (FlowKeyKind::Pair, "pair"),
    (FlowKeyKind::FiveTuple, "5-tuple"),
    (FlowKeyKind::Connection, "connection"),
];

/// What thresholds count, and its names.
pub(super) const COUNTED: [(Counted, &str); 6] = [
    (Counted::HalfOpen, "half_open"),
    (Counted::UnansweredPorts, "unanswered_ports"),
    (Counted::Destinations, "destinations"),
    (Counted::Resets, "resets"),
    (Counted::Fins, "fins"),
    (Counted::UnsolicitedSynAcks, "unsolicited_synacks"),
];

/// What thresholds count per, and its names.
pub(super) const THRESHOLD_KEYS: [(ThresholdKey, &str); 4] = [
    (ThresholdKey::Source, "source"),
    (ThresholdKey::Destination, "destination"),
    (ThresholdKey::Pair, "pair"),
    (ThresholdKey::SourceAndPort, "source_and_port"),
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
