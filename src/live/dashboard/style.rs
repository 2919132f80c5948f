//! Styles, and text that fits: short numbers, addresses cut to a width, no control characters.

use std::net::{IpAddr, SocketAddr};

use ratatui::style::{Color, Modifier, Style};

use crate::report::format::grouped;

/// Styles. Only the terminal's own 16 colours, which its owner chose to be readable, and never a
/// background. Without colours, what matters is bold or reversed.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// Whether to use colours; false if `NO_COLOR` is set.
    pub colours: bool,
}

impl Look {
    fn coloured(self, colour: Color) -> Style {
        if self.colours { Style::new().fg(colour) } else { Style::new() }
    }

    /// For the line at the top.
    pub(super) fn header(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// For what should be noticed at once.
    pub(super) fn badge(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD)
    }

    /// For titles of panels; the panel in focus is highlighted.
    pub(super) fn title(self, focused: bool) -> Style {
        if focused { self.badge() } else { Style::new().add_modifier(Modifier::BOLD) }
    }

    /// For rules and less important text.
    pub(super) fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// For figures.
    pub(super) fn figure(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// For problems.
    pub(super) fn bad(self) -> Style {
        let style = self.coloured(Color::Red).add_modifier(Modifier::BOLD);
        if self.colours { style } else { style.add_modifier(Modifier::REVERSED) }
    }

    /// For notices.
    pub(super) fn notable(self) -> Style {
        self.coloured(Color::Yellow).add_modifier(Modifier::BOLD)
    }

    /// For plots.
    pub(super) fn plot(self) -> Style {
        self.coloured(Color::Cyan)
    }

    /// By severity, 1 being the most severe: as in printed alerts.
    pub(super) fn severity(self, severity: u8) -> Style {
        match severity {
            1 => self.coloured(Color::Red).add_modifier(Modifier::BOLD),
            2 => self.coloured(Color::Yellow),
            _ => self.coloured(Color::Cyan),
        }
    }
}

/// Text from outside, made safe to display: control and invisible characters become dots; line ends and
/// tabs become spaces.
pub fn printable(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\t' => ' ',
        c if c.is_control() || is_invisible(c) => '·',
        c => c,
    };
    text.chars().map(shown).collect()
}

/// Whether `c` is a zero-width character, a direction mark or a tag.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// The first `width` characters; an ellipsis if there are more.
pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(width.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// Text in lines of `width` characters, broken between words; longer words are cut.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for word in text.split_whitespace().map(|word| cut(word, width)) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// A number in about seven columns: `0`, `9.5`, `12,345`, `1.23 M`.
pub fn short(number: f64) -> String {
    const UNITS: [(f64, &str); 5] = [(1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T"), (1e15, "P")];
    match number {
        n if n.is_nan() || n <= 0.0 => "0".to_owned(),
        n if n < 0.05 => "<0.1".to_owned(),
        n if n < 9.95 => format!("{n:.1}"),
        n if n < 99_999.5 => grouped(n.round() as u64),
        n => {
            let unit = UNITS.iter().rev().find(|(size, _)| n >= 0.9995 * size);
            let (size, name) = unit.copied().unwrap_or((1.0, ""));
            match n / size {
                n if n < 9.995 => format!("{n:.2} {name}"),
                n if n < 99.95 => format!("{n:.1} {name}"),
                n => format!("{n:.0} {name}"),
            }
        }
    }
}

/// A fraction in percent; distinguishes zero from very little.
pub fn percentage(fraction: f64) -> String {
    match 100.0 * fraction {
        percent if percent.is_nan() || percent <= 0.0 => "0 %".to_owned(),
        percent if percent < 0.01 => "<0.01 %".to_owned(),
        percent if percent < 1.0 => format!("{percent:.2} %"),
        percent => format!("{percent:.1} %"),
    }
}

/// An address in `width` columns; of a long one the groups in the middle are omitted.
pub fn address(address: IpAddr, width: usize) -> String {
    let text = address.to_string();
    if text.len() <= width {
        return text;
    }
    let groups: Vec<&str> = text.split(':').collect();
    for omitted in 1..groups.len().saturating_sub(1) {
        let kept = groups.len() - omitted;
        let (head, tail) = (kept.div_ceil(2), kept / 2);
        let parts = (groups.get(..head), groups.get(groups.len() - tail..));
        if let (Some(head), Some(tail)) = parts {
            let shorter = format!("{}:…:{}", head.join(":"), tail.join(":"));
            if shorter.chars().count() <= width {
                return shorter;
            }
        }
    }
    cut(&text, width)
}

/// An address and its port in `width` columns; the port is never omitted.
pub fn endpoint(ip: IpAddr, port: u16, width: usize) -> String {
    let text = SocketAddr::new(ip, port).to_string();
    if text.len() <= width {
        return text;
    }
    let port = format!(":{port}");
    match ip {
        IpAddr::V4(_) => cut(&text, width.saturating_sub(port.len())) + &port,
        IpAddr::V6(_) => {
            let rest = width.saturating_sub(port.len() + 2);
            format!("[{}]{port}", address(ip, rest))
        }
    }
}

/// `part` of `whole`; 0 if the whole is 0.
pub fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_moves_the_cursor() {
        assert_eq!(printable("eth0\x1b[2J\u{9b}x\u{202e}y\n z"), "eth0·[2J·x·y  z");
        assert_eq!(printable("plain → Ελ 中"), "plain → Ελ 中");
    }

    #[test]
    fn text_is_broken_between_words() {
        assert_eq!(wrapped("a bb  ccc dddddddd e", 5), ["a bb", "ccc", "dddd…", "e"]);
        assert_eq!(wrapped(" ", 5), [""; 0]);
    }

    #[test]
    fn numbers_are_short() {
        for (number, text) in [
            (0.0, "0"),
            (0.01, "<0.1"),
            (9.94, "9.9"),
            (9.96, "10"),
            (99_999.0, "99,999"),
            (99_999.7, "100 k"),
            (999_600.0, "1.00 M"),
            (12_345_678.0, "12.3 M"),
            (9.8e9, "9.80 G"),
            (f64::NAN, "0"),
        ] {
            assert_eq!(short(number), text, "{number}");
        }
        assert!(short(u64::MAX as f64).len() <= 8);
        assert_eq!(percentage(0.00005), "<0.01 %");
        assert_eq!(percentage(0.0012), "0.12 %");
        assert_eq!(percentage(1.0), "100.0 %");
    }

    #[test]
    fn long_addresses_lose_their_middle_and_keep_their_port() {
        let long: IpAddr = "2001:db8:85a3:1234:5678:8a2e:370:7334".parse().unwrap();
        assert_eq!(address(long, 39), "2001:db8:85a3:1234:5678:8a2e:370:7334");
        assert_eq!(address(long, 22), "2001:db8:…:370:7334");
        assert_eq!(endpoint(long, 443, 20), "[2001:…:7334]:443");
        let short: IpAddr = "fe80::1".parse().unwrap();
        assert_eq!(endpoint(short, 22, 40), "[fe80::1]:22");
        let v4: IpAddr = "192.168.100.101".parse().unwrap();
        assert_eq!(endpoint(v4, 54321, 21), "192.168.100.101:54321");
        assert_eq!(endpoint(v4, 54321, 15), "192.168.…:54321");
        for width in 0..45 {
            assert!(address(long, width).chars().count() <= width.max(1), "{width}");
        }
    }
}
