//! Alerts and the steps of a watched flow (`--watch`) as text: one line each.

use std::fmt;
use std::net::SocketAddr;

use anstyle::{AnsiColor, Style};

use super::Names;
use crate::engine::{Alert, WatchStep};
use crate::machine::{Next, Rule};
use crate::report::format::{FAINT, grouped};
use acsm_filters::Lookup;

/// Displays an alert as one line, coloured by severity, without a newline.
#[derive(Debug, Clone, Copy)]
pub(super) struct AlertText<'a> {
    /// Names of rules, states and the store.
    pub names: &'a Names,
    /// The rule that raised the alert.
    pub rule: &'a Rule,
    /// The alert.
    pub alert: &'a Alert,
}

impl fmt::Display for AlertText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AlertText { names, rule, alert } = self;
        let (packet, style) = (&alert.packet, severity_style(alert.severity));
        let src = SocketAddr::new(packet.src, packet.src_port);
        let dst = SocketAddr::new(packet.dst, packet.dst_port);
        write!(f, "{} {style}[{}] {}{style:#} ", alert.time, alert.severity, rule.name)?;
        if alert.names_source {
            write!(f, "{src} ")?;
        }
        write!(f, "→ {dst} {}: {}", packet.flags, rule.message)?;
        if let Some(count) = alert.count {
            write!(f, ", {} counted", grouped(count))?;
        }
        if alert.suppressed > 0 {
            write!(f, ", {} more left out before", grouped(alert.suppressed))?;
        }
        match alert.answer {
            Some(Lookup::DontKnow) => write!(f, " {FAINT}(state unknown){FAINT:#}"),
            Some(answer) => {
                let doubt = if alert.confirmed == Some(false) { ", not confirmed" } else { "" };
                write!(f, " {FAINT}(was {}{doubt}){FAINT:#}", names.lookup(answer))
            }
            None => Ok(()),
        }
    }
}

/// The colour of a severity; 1 is the highest.
pub fn severity_style(severity: u8) -> Style {
    match severity {
        1 => AnsiColor::Red.on_default().bold(),
        2 => AnsiColor::Yellow.on_default(),
        _ => AnsiColor::Cyan.on_default(),
    }
}

/// One step of a watched flow, without a newline: the packet, the state that the store returned, the
/// true state, and the transition.
pub(super) fn step_text(names: &Names, step: &WatchStep) -> String {
    let packet = &step.packet;
    let next = match step.next {
        Next::Keep => "stays".to_owned(),
        Next::Go(state) => format!("goes to {}", names.rules.machine.state_name(state)),
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
