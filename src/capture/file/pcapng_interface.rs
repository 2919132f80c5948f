//! The interface description of pcapng: link type, and how timestamps become nanoseconds.

use super::pcap::ByteOrder;
use crate::capture::LinkType;
use crate::time::{NANOS_PER_SEC, Timestamp};

const OPTION_END: u16 = 0;
const OPTION_TIME_RESOLUTION: u16 = 9;
const OPTION_TIME_OFFSET: u16 = 14;

/// One interface of a section: link type, snaplen and clock of its packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Interface {
    pub link_type: LinkType,
    /// 0 = unlimited.
    pub snaplen: u32,
    pub clock: Clock,
}

impl Interface {
    /// Reads the body of an Interface Description Block; `None` if it is too short to be one.
    pub fn parse(body: &[u8], order: ByteOrder) -> Option<Interface> {
        let link_type = LinkType(order.u16_at(body, 0)?);
        let snaplen = order.u32_at(body, 4)?;
        let mut clock = Clock::default();
        for (code, value) in Options::new(body.get(8..)?, order) {
            match (code, value) {
                (OPTION_TIME_RESOLUTION, &[resolution, ..]) => {
                    clock.unit = Unit::of_resolution(resolution);
                }
                (OPTION_TIME_OFFSET, value) => {
                    if let Some(&seconds) = value.first_chunk() {
                        clock.offset_seconds = order.u64(seconds) as i64;
                    }
                }
                _ => {}
            }
        }
        Some(Interface { link_type, snaplen, clock })
    }
}

/// Turns an interface's ticks into nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Clock {
    unit: Unit,
    offset_seconds: i64,
}

impl Clock {
    /// The time of `ticks`, rounded down to the nanosecond; saturates at the range of [`Timestamp`].
    #[inline]
    pub fn time(self, ticks: u64) -> Timestamp {
        match (self.unit, self.offset_seconds) {
            (Unit::Nanos(nanos), 0) => Timestamp::from_nanos(ticks.saturating_mul(nanos)),
            _ => self.unusual_time(ticks),
        }
    }

    #[inline(never)]
    fn unusual_time(self, ticks: u64) -> Timestamp {
        let ticks = u128::from(ticks);
        let nanos = match self.unit {
            Unit::Nanos(nanos) => ticks * u128::from(nanos),
            Unit::NanoFraction(parts) => ticks / u128::from(parts),
            Unit::BelowResolution => 0,
            Unit::SecondShifted(bits) => (ticks * u128::from(NANOS_PER_SEC)) >> bits,
        };
        // each term is the product of a 64-bit and a 30-bit number: far below the 127 bits of an i128
        let nanos = nanos as i128 + i128::from(self.offset_seconds) * i128::from(NANOS_PER_SEC);
        Timestamp::from_nanos(nanos.clamp(0, i128::from(u64::MAX)) as u64)
    }
}

/// The length of a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// This many nanoseconds.
    Nanos(u64),
    /// A nanosecond divided by this.
    NanoFraction(u64),
    /// So short that 2^64 ticks are less than a nanosecond.
    BelowResolution,
    /// A second divided by 2 to this power.
    SecondShifted(u32),
}

impl Default for Unit {
    /// Microseconds: the default of the format.
    fn default() -> Self {
        Unit::Nanos(1000)
    }
}

impl Unit {
    /// `if_tsresol`: a negative power of 2 if the high bit is set, else of 10.
    fn of_resolution(resolution: u8) -> Unit {
        let exponent = u32::from(resolution & 0x7f);
        if resolution & 0x80 != 0 {
            Unit::SecondShifted(exponent)
        } else if exponent <= 9 {
            Unit::Nanos(10_u64.pow(9 - exponent))
        } else {
            10_u64.checked_pow(exponent - 9).map_or(Unit::BelowResolution, Unit::NanoFraction)
        }
    }
}

/// Iterates over a list of options, up to its end mark or a malformed option.
struct Options<'a> {
    rest: &'a [u8],
    order: ByteOrder,
}

impl<'a> Options<'a> {
    fn new(rest: &'a [u8], order: ByteOrder) -> Self {
        Options { rest, order }
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let code = self.order.u16_at(self.rest, 0)?;
        let value_bytes = usize::from(self.order.u16_at(self.rest, 2)?);
        if code == OPTION_END {
            return None;
        }
        let value = self.rest.get(4..4 + value_bytes)?;
        self.rest = self.rest.get(4 + value_bytes.next_multiple_of(4)..).unwrap_or_default();
        Some((code, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(resolution: u8, offset_seconds: i64) -> Clock {
        Clock { unit: Unit::of_resolution(resolution), offset_seconds }
    }

    fn nanos(clock: Clock, ticks: u64) -> u64 {
        clock.time(ticks).as_nanos()
    }

    #[test]
    fn ticks_of_every_unit_are_nanoseconds_exactly() {
        assert_eq!(nanos(Clock::default(), 1_500_000_000_000_001), 1_500_000_000_000_001_000);
        assert_eq!(nanos(clock(0, 0), 7), 7_000_000_000);
        assert_eq!(nanos(clock(9, 0), 7), 7);
        assert_eq!(nanos(clock(12, 0), 1_999), 1);
        assert_eq!(nanos(clock(28, 0), 10_000_000_000_000_000_000), 1);
        assert_eq!(nanos(clock(127, 0), u64::MAX), 0);
        assert_eq!(nanos(clock(0x80 | 10, 0), 1536), 1_500_000_000);
        assert_eq!(nanos(clock(0x80 | 32, 0), (3 << 32) | (1 << 31)), 3_500_000_000);
        assert_eq!(nanos(clock(0xff, 0), u64::MAX), 0);
    }

    #[test]
    fn offsets_shift_and_both_ends_saturate() {
        assert_eq!(nanos(clock(6, 2), 1), 2_000_001_000);
        assert_eq!(nanos(clock(6, -1), 1_000_001), 1000);
        assert_eq!(nanos(clock(6, -2), 1_000_001), 0);
        assert_eq!(nanos(clock(0, 0), u64::MAX), u64::MAX);
        assert_eq!(nanos(clock(0, i64::MAX), u64::MAX), u64::MAX);
        assert_eq!(nanos(clock(0, i64::MIN), 1), 0);
        // out of range before the offset, inside after it
        assert_eq!(nanos(clock(0, -20_000_000_000), 20_000_000_001), 1_000_000_000);
    }

    #[test]
    fn malformed_options_end_the_list_and_keep_what_came_before() {
        let mut body = vec![1, 0, 0, 0, 96, 0, 0, 0];
        body.extend([9, 0, 1, 0, 9, 0, 0, 0]); // nanoseconds
        body.extend([14, 0, 200, 0, 1]); // an offset of 200 bytes that are not there
        let interface = Interface::parse(&body, ByteOrder::Little).unwrap();
        assert_eq!(interface.clock, clock(9, 0));
        assert_eq!((interface.link_type, interface.snaplen), (LinkType::ETHERNET, 96));
        assert_eq!(Interface::parse(&body[..7], ByteOrder::Little), None);
    }
}
