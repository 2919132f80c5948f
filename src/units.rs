//! Numbers as people write them: with units on the command line (`10M`, `908_522`, `1e6`, `5m`, `10%`), and
//! in reports (`1.23e-4`).
//!
//! Each parser is a function that `clap` accepts as a value parser. Error messages name the accepted
//! formats.

use crate::time::NANOS_PER_SEC;

/// Text that is not a number of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {wanted}")]
pub struct UnitError {
    text: String,
    wanted: &'static str,
}

/// Parses a count: digits with `_` or `,` between them, a fraction or an exponent if the result is
/// whole, and k, M or G for thousands, millions and billions.
///
/// ```
/// use acsm::units::parse_count;
/// assert_eq!(parse_count("10M"), Ok(10_000_000));
/// assert_eq!(parse_count("908_522"), Ok(908_522));
/// assert_eq!(parse_count("1.5e3"), Ok(1_500));
/// assert!(parse_count("many").is_err());
/// ```
pub fn parse_count(text: &str) -> Result<u64, UnitError> {
    let wanted = "a count; write a whole number like 5000, 908_522, 10M or 1e6";
    exact_decimal(text).ok_or_else(|| UnitError { text: text.to_owned(), wanted })
}

/// Three significant digits: `1.23e-4`; without trailing zeros, and without the exponent if it is 0.
pub fn scientific(value: f64) -> String {
    let text = format!("{value:.2e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let digits = match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => digits,
    };
    if exponent == "0" { digits.to_owned() } else { format!("{digits}e{exponent}") }
}

/// Parses a duration in nanoseconds: `250ms`, `60s`, `5m`, `1h`; a bare number is seconds.
///
/// ```
/// use acsm::units::parse_duration_nanos;
/// assert_eq!(parse_duration_nanos("1.5s"), Ok(1_500_000_000));
/// assert_eq!(parse_duration_nanos("2m"), parse_duration_nanos("120"));
/// ```
pub fn parse_duration_nanos(text: &str) -> Result<u64, UnitError> {
    let wanted = "a length of time; write 250ms, 60s, 5m or 1h";
    let units = [
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", NANOS_PER_SEC),
        ("m", 60 * NANOS_PER_SEC),
        ("h", 3600 * NANOS_PER_SEC),
    ];
    scaled(text, &units, NANOS_PER_SEC, wanted)
}

/// A number followed by one of `units`; without a unit, `bare` applies.
fn scaled(
    text: &str,
    units: &[(&str, u64)],
    bare: u64,
    wanted: &'static str,
) -> Result<u64, UnitError> {
    let (number, unit) = units
        .iter()
        .find_map(|(unit, size)| text.strip_suffix(unit).map(|number| (number, *size)))
        .unwrap_or((text, bare));
    nonnegative(number)
        .map(|number| number * unit as f64)
        .filter(|whole| *whole < u64::MAX as f64)
        .map(|whole| whole.round() as u64)
        .ok_or_else(|| UnitError { text: text.to_owned(), wanted })
}

/// Parses a size in bytes: `64MiB`, `1.5GiB`, `10MB`, `4096`; powers of 1024 have an `i`.
///
/// ```
/// use acsm::units::parse_bytes;
/// assert_eq!(parse_bytes("64MiB"), Ok(64 << 20));
/// assert_eq!(parse_bytes("1.5kB"), Ok(1_500));
/// assert_eq!(parse_bytes("10B"), parse_bytes("10"));
/// ```
pub fn parse_bytes(text: &str) -> Result<u64, UnitError> {
    let wanted = "a size; write 64MiB, 1.5GiB, 10MB or a number of bytes";
    let units = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
        ("kB", 1_000),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("K", 1 << 10),
        ("M", 1 << 20),
        ("G", 1 << 30),
        ("B", 1),
    ];
    scaled(text, &units, 1, wanted)
}

/// Parses a share between 0 and 1: `0.1`, `1e-4` or `10%`.
///
/// ```
/// use acsm::units::parse_share;
/// assert_eq!(parse_share("10%"), Ok(0.1));
/// assert!(parse_share("1.2").is_err());
/// ```
pub fn parse_share(text: &str) -> Result<f64, UnitError> {
    let wanted = "a share; write a number from 0 to 1 like 0.1, or 10%";
    let share = match text.strip_suffix('%') {
        Some(percent) => nonnegative(percent).map(|percent| percent / 100.0),
        None => nonnegative(text),
    };
    share.filter(|share| *share <= 1.0).ok_or_else(|| UnitError { text: text.to_owned(), wanted })
}

/// A plain decimal number: no sign, no `inf`, no `nan`.
fn nonnegative(text: &str) -> Option<f64> {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        .then(|| text.parse().ok())
        .flatten()
        .filter(|number: &f64| number.is_finite())
}

/// Combines digits, fraction, exponent and suffix in integers, so that values above 2^53 are exact.
fn exact_decimal(text: &str) -> Option<u64> {
    let (text, suffix_zeros) = match text.char_indices().next_back()? {
        (at, 'k' | 'K') => (text.get(..at)?, 3),
        (at, 'M') => (text.get(..at)?, 6),
        (at, 'G') => (text.get(..at)?, 9),
        _ => (text, 0),
    };
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<u8>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let zeros = (u32::from(exponent) + suffix_zeros).checked_sub(fraction.len() as u32)?;
    let separated = whole.starts_with(|c: char| c.is_ascii_digit()) && !whole.ends_with(['_', ',']);
    let plain = fraction.bytes().all(|b| b.is_ascii_digit());
    if !separated || !plain {
        return None;
    }
    let digits: String = whole.chars().filter(|c| !matches!(c, '_' | ',')).collect();
    (digits + fraction).parse::<u64>().ok()?.checked_mul(10u64.checked_pow(zeros)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exact() {
        for (text, count) in [
            ("0", 0),
            ("5k", 5_000),
            ("1,000,000", 1_000_000),
            ("1e6", 1_000_000),
            ("2.5M", 2_500_000),
            ("1.50k", 1_500),
            ("0.5G", 500_000_000),
            ("18446744073709551615", u64::MAX),
            ("9007199254740993", 9_007_199_254_740_993),
        ] {
            assert_eq!(parse_count(text), Ok(count), "{text}");
        }
    }

    #[test]
    fn other_text_is_rejected_with_the_accepted_formats() {
        for text in [
            "", "-1", "+1", "M", "1e", "1e-3", "1.0001k", "1.5", "_1", "1_", "1e30", "1 000", "ten",
        ] {
            assert!(parse_count(text).unwrap_err().to_string().contains("10M"), "{text}");
        }
        for text in ["", "s", "-1s", "inf", "nan", "1e400", "1d"] {
            assert!(parse_duration_nanos(text).is_err(), "{text}");
        }
        for text in ["", "-0.1", "1.1", "101%", "nan", "%"] {
            assert!(parse_share(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_have_units() {
        assert_eq!(parse_duration_nanos("250ms"), Ok(250_000_000));
        assert_eq!(parse_duration_nanos("1h"), Ok(3_600_000_000_000));
        assert_eq!(parse_duration_nanos("0.5"), Ok(500_000_000));
    }
}
