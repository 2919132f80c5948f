//! ICMP: never counted, but an error that quotes a TCP packet is worth telling apart.

use super::super::{Transport, ipv4, ipv6, tcp};
use super::{Rest, Skip};

/// Type, code, checksum and a word that depends on the type.
const HEADER_BYTES: usize = 8;

/// Destination unreachable, source quench, redirect, time exceeded, parameter problem.
const ERRORS: [u8; 5] = [3, 4, 5, 11, 12];

/// Destination unreachable, packet too big, time exceeded, parameter problem.
const ERRORS_V6: [u8; 4] = [1, 2, 3, 4];

/// Why an ICMP message is not counted.
pub(super) fn reason(rest: Rest<'_>) -> Skip {
    quoted(rest, &ERRORS, ipv4::next)
}

/// Why an ICMPv6 message is not counted.
pub(super) fn reason_v6(rest: Rest<'_>) -> Skip {
    quoted(rest, &ERRORS_V6, ipv6::next)
}

fn quoted<'a>(
    mut rest: Rest<'a>,
    errors: &[u8],
    parse: impl Fn(Rest<'a>) -> Result<Transport<'a>, Skip>,
) -> Skip {
    let is_error = rest.u8_at(0).is_some_and(|kind| errors.contains(&kind));
    if !is_error || rest.skip(HEADER_BYTES).is_none() {
        return Skip::Icmp;
    }
    match parse(rest) {
        Ok(quoted) if quoted.protocol == tcp::PROTOCOL => Skip::TcpInIcmp,
        _ => Skip::Icmp,
    }
}
