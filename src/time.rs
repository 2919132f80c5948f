//! Packet time: nanoseconds since 1970, from the capture and never from the system clock.

use std::fmt;
use std::str::FromStr;

/// Nanoseconds in a second.
pub const NANOS_PER_SEC: u64 = 1_000_000_000;

/// A moment in trace time: nanoseconds since 1970-01-01T00:00:00Z.
///
/// The range ends in the year 2554; readers saturate what lies beyond it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The last moment that can be represented.
    pub const MAX: Timestamp = Timestamp(u64::MAX);

    /// The moment `nanos` nanoseconds after 1970.
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Timestamp(nanos)
    }

    /// The moment `secs` seconds and `nanos` nanoseconds after 1970, saturating.
    #[inline]
    pub const fn new(secs: u64, nanos: u64) -> Self {
        Timestamp(secs.saturating_mul(NANOS_PER_SEC).saturating_add(nanos))
    }

    /// Nanoseconds since 1970.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since 1970, as a float: for rates and plots, not for comparisons.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }

    /// Nanoseconds from `earlier` to here; 0 if `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Timestamp) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// This moment `nanos` later, saturating.
    #[inline]
    pub const fn plus(self, nanos: u64) -> Self {
        Timestamp(self.0.saturating_add(nanos))
    }

    /// Year, month, day, hour, minute, second (UTC) and nanosecond.
    pub const fn civil(self) -> Civil {
        let secs = self.0 / NANOS_PER_SEC;
        let (year, month, day) = date_of_day((secs / 86_400) as i64);
        let in_day = (secs % 86_400) as u32;
        Civil {
            year,
            month,
            day,
            hour: in_day / 3600,
            minute: in_day / 60 % 60,
            second: in_day % 60,
            nanos: (self.0 % NANOS_PER_SEC) as u32,
        }
    }
}

/// The date and time of day of a [`Timestamp`], in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub struct Civil {
    pub year: i64,
    pub month: u32,
    pub day: u32,
    pub hour: u32,
    pub minute: u32,
    pub second: u32,
    pub nanos: u32,
}

/// RFC 3339 with nanoseconds: `2024-02-29T12:00:00.000000001Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let c = self.civil();
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z",
            c.year, c.month, c.day, c.hour, c.minute, c.second, c.nanos
        )
    }
}

/// Text that [`Timestamp::from_str`] could not parse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a time; write RFC 3339 (2024-02-29T12:00:00Z, fraction and offset allowed) or seconds since 1970 (1709208000.5)"
)]
pub struct TimeError(String);

/// Parses RFC 3339 (also with a space instead of the `T`, or a date alone) and seconds since 1970.
impl FromStr for Timestamp {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        epoch_seconds(text).or_else(|| rfc3339(text)).ok_or_else(|| TimeError(text.to_owned()))
    }
}

fn epoch_seconds(text: &str) -> Option<Timestamp> {
    // Four digits are probably meant as a year, which is not a moment.
    if text.len() == 4 {
        return None;
    }
    let (secs, nanos) = match text.split_once('.') {
        Some((secs, fraction)) => (secs, fraction_nanos(fraction)?),
        None => (text, 0),
    };
    let secs: u64 = digits(secs)?;
    secs.checked_mul(NANOS_PER_SEC)?.checked_add(nanos).map(Timestamp)
}

fn rfc3339(text: &str) -> Option<Timestamp> {
    let (date, clock) = match text.split_once(['T', 't', ' ']) {
        Some(halves) => halves,
        None => (text, "00:00:00Z"),
    };
    let mut date = date.splitn(3, '-');
    let (year, month, day) = (digits(date.next()?)?, digits(date.next()?)?, digits(date.next()?)?);
    let (clock, offset_secs) = split_offset(clock)?;
    let (clock, nanos) = match clock.split_once('.') {
        Some((clock, fraction)) => (clock, fraction_nanos(fraction)?),
        None => (clock, 0),
    };
    let mut clock = clock.splitn(3, ':');
    let (hour, minute, second) =
        (digits(clock.next()?)?, digits(clock.next()?)?, clock.next().map_or(Some(0), digits)?);
    let day_exists = (1970..=2554).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && date_of_day(day_number(year as i64, month as u32, day as u32))
            == (year as i64, month as u32, day as u32);
    if !day_exists || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let secs = day_number(year as i64, month as u32, day as u32) * 86_400
        + (hour * 3600 + minute * 60 + second) as i64
        - offset_secs;
    u64::try_from(secs).ok()?.checked_mul(NANOS_PER_SEC)?.checked_add(nanos).map(Timestamp)
}

/// Splits `12:00:00+02:00` into the clock and the offset in seconds; no offset means UTC.
fn split_offset(clock: &str) -> Option<(&str, i64)> {
    if let Some(clock) = clock.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(sign_at) = clock.find(['+', '-']) else {
        return Some((clock, 0));
    };
    let (clock, offset) = clock.split_at(sign_at);
    let (hours, minutes) = offset[1..].split_once(':')?;
    let (hours, minutes) = (digits(hours)?, digits(minutes)?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    let secs = (hours * 3600 + minutes * 60) as i64;
    Some((clock, if offset.starts_with('-') { -secs } else { secs }))
}

fn digits(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.len() <= 19 && text.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

fn fraction_nanos(fraction: &str) -> Option<u64> {
    digits(fraction)?;
    let nanos: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    nanos.parse().ok()
}

/// Days since 1970 of a date in the proleptic Gregorian calendar (Howard Hinnant's algorithm).
const fn day_number(year: i64, month: u32, day: u32) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month as i64 + 9) % 12) + 2) / 5 + day as i64 - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The inverse of [`day_number`].
const fn date_of_day(day: i64) -> (i64, u32, u32) {
    let day = day + 719_468;
    let era = day.div_euclid(146_097);
    let day_of_era = day.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = (day_of_year - (153 * month_from_march + 2) / 5 + 1) as u32;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
    (year, month as u32, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_rfc3339_with_nanoseconds() {
        assert_eq!(Timestamp::default().to_string(), "1970-01-01T00:00:00.000000000Z");
        // 2000-02-29 is day 11016: a leap day of a century that is a leap year
        let leap_day = Timestamp::new(11_016 * 86_400 + 86_399, 1);
        assert_eq!(leap_day.to_string(), "2000-02-29T23:59:59.000000001Z");
        assert_eq!(Timestamp::MAX.to_string(), "2554-07-21T23:34:33.709551615Z");
    }

    #[test]
    fn parses_its_own_output_and_common_formats() {
        for nanos in [0, 1, 951_782_399_000_000_001, u64::MAX] {
            let time = Timestamp::from_nanos(nanos);
            assert_eq!(time.to_string().parse(), Ok(time));
        }
        let noon = Timestamp::new(1_709_208_000, 500_000_000);
        for text in [
            "1709208000.5",
            "2024-02-29T12:00:00.5Z",
            "2024-02-29 12:00:00.5",
            "2024-02-29T14:00:00.5+02:00",
            "2024-02-29t06:30:00.5-05:30",
        ] {
            assert_eq!(text.parse(), Ok(noon), "{text}");
        }
        assert_eq!("2024-02-29".parse(), Ok(Timestamp::new(1_709_164_800, 0)));
    }

    #[test]
    fn rejects_other_text() {
        for text in [
            "",
            "-1",
            "noon",
            "2024",
            "1e9",
            "2023-02-29",
            "2024-13-01",
            "2024-01-01T24:00:00Z",
            "1.",
            ".5",
            "99999999999999999999",
            "2024-01-01T00:00:00+99:00",
            "2024-01-01T00:00:00+9999999999999999999:00",
            "1969-12-31",
        ] {
            let error = text.parse::<Timestamp>().unwrap_err();
            assert!(error.to_string().contains("RFC 3339"), "{text}");
        }
    }
}
