//! Small values as rules files write them: flag sets, durations, flow keys.

use crate::flow::{FlowKeyKind, TcpFlags};
use crate::machine::{Counted, Input, ThresholdKey};
use crate::time::NANOS_PER_SEC;

use super::error::alternatives;

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

/// Reads `500ms`, `10s`, `5m`, `1h`: nanoseconds.
pub(super) fn duration_nanos(text: &str) -> Result<u64, String> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(unit_at);
    let unit_nanos = match unit {
        "ms" => Some(NANOS_PER_SEC / 1000),
        "s" => Some(NANOS_PER_SEC),
        "m" => Some(60 * NANOS_PER_SEC),
        "h" => Some(3600 * NANOS_PER_SEC),
        _ => None,
    };
    let number = digits.parse::<u64>().ok();
    number.zip(unit_nanos).and_then(|(number, unit)| number.checked_mul(unit)).ok_or_else(|| {
        format!("`{text}` is no duration; write a whole number and a unit: 500ms, 10s, 5m, 1h")
    })
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

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(duration_nanos("500ms"), Ok(500_000_000));
        assert_eq!(duration_nanos("5m"), Ok(300 * NANOS_PER_SEC));
        for wrong in ["", "10", "s", "1.5s", "-1s", "10 s", "99999999999h", "1d"] {
            assert!(duration_nanos(wrong).unwrap_err().contains("10s"), "{wrong}");
        }
    }
}
