//! Alerts for people: one line each, colours by severity.

use std::fmt;

use anstyle::{AnsiColor, Style};

use super::Names;
use crate::engine::Alert;
use crate::machine::Rule;
use crate::report::text::{FAINT, grouped};
use acsm_filters::Lookup;

/// Shows an alert as one line without its newline.
#[derive(Debug, Clone, Copy)]
pub struct AlertText<'a> {
    /// What numbers stand for.
    pub names: Names<'a>,
    /// The rule that was broken.
    pub rule: &'a Rule,
    /// The alert.
    pub alert: &'a Alert,
}

/// 1 is gravest.
fn colour(severity: u8) -> Style {
    match severity {
        1 => AnsiColor::Red.on_default().bold(),
        2 => AnsiColor::Yellow.on_default(),
        _ => AnsiColor::Cyan.on_default(),
    }
}

impl fmt::Display for AlertText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AlertText { names, rule, alert } = self;
        let (packet, style) = (&alert.packet, colour(rule.severity));
        let src = std::net::SocketAddr::new(packet.src, packet.src_port);
        let dst = std::net::SocketAddr::new(packet.dst, packet.dst_port);
        write!(f, "{} {style}[{}] {}{style:#} ", alert.time, rule.severity, rule.name)?;
        write!(f, "{src} → {dst} {}: {}", packet.flags, rule.message)?;
        if let Some(count) = alert.count {
            write!(f, ", {} counted", grouped(count))?;
        }
        if alert.left_out > 0 {
            write!(f, ", {} more left out before", grouped(alert.left_out))?;
        }
        match alert.answer {
            Some(Lookup::DontKnow) => write!(f, " {FAINT}(state unknown){FAINT:#}"),
            Some(answer) => {
                let (was, odds) = (names.lookup(answer), 100.0 * alert.confidence);
                write!(f, " {FAINT}(was {was}, {odds:.1} % sure){FAINT:#}")
            }
            None => Ok(()),
        }
    }
}
