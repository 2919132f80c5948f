//! The steps of a watched flow, for people.

use super::Names;
use crate::engine::WatchStep;
use crate::machine::Next;

/// One line, without its newline: the packet, what the store said, what is true, what follows.
pub fn step_text(names: Names<'_>, step: &WatchStep) -> String {
    let packet = &step.packet;
    let next = match step.next {
        Next::Keep => "stays".to_owned(),
        Next::Go(state) => format!("goes to {}", names.state(state)),
        Next::Delete => "is deleted".to_owned(),
    };
    let verdict = match (step.answer, step.truth) {
        (answer, truth) if answer == truth => "right".to_owned(),
        (_, truth) => format!("WRONG, it is {}", names.lookup(truth)),
    };
    format!(
        "{} {}:{} → {}:{} {}{}: {} says {} ({verdict}), {next}",
        packet.time,
        packet.src,
        packet.src_port,
        packet.dst,
        packet.dst_port,
        packet.flags,
        if packet.payload_bytes > 0 {
            format!(" {} B", packet.payload_bytes)
        } else {
            String::new()
        },
        names.backend,
        names.lookup(step.answer),
    )
}
