//! UDP: the tunnels in it are known by their usual ports.

use super::{Layer, Rest, Skip, geneve, gtp_u, teredo, vxlan};

const HEADER_BYTES: u16 = 8;

/// The layer inside a UDP tunnel; [`Skip::Udp`] if this is something else.
pub(super) fn next(mut rest: Rest<'_>) -> Result<Layer<'_>, Skip> {
    let [src_port, dst_port, length] = ports_and_length(&mut rest).ok_or(Skip::Udp)?;
    if let Some(payload_bytes) = length.checked_sub(HEADER_BYTES) {
        rest.shorten_to(payload_bytes.into());
    }
    // Packets go to a tunnel's port; those of Teredo servers and relays come from it.
    open(dst_port, rest).or_else(|| open(src_port, rest)).ok_or(Skip::Udp)
}

fn ports_and_length(rest: &mut Rest<'_>) -> Option<[u16; 3]> {
    let [s0, s1, d0, d1, l0, l1, _, _] = rest.take::<8>()?;
    Some([[s0, s1], [d0, d1], [l0, l1]].map(u16::from_be_bytes))
}

/// Opens the tunnel that lives at `port`; `None` if there is none, or if the payload is not one
/// of its packets (any program may use a port).
fn open(port: u16, rest: Rest<'_>) -> Option<Layer<'_>> {
    match port {
        vxlan::PORT | vxlan::OLD_LINUX_PORT => vxlan::next(rest),
        vxlan::GPE_PORT => vxlan::next_gpe(rest),
        geneve::PORT => geneve::next(rest),
        gtp_u::PORT => gtp_u::next(rest),
        teredo::PORT => teredo::next(rest),
        _ => None,
    }
}
