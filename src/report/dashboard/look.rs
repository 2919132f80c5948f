//! Styles. Only the terminal's own 16 colours, which its owner chose to be readable; never a background.
//! Without colours what matters is bold or reversed.

use ratatui::style::{Color, Modifier, Style};

/// Whether to use colours.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// False where `NO_COLOR` asks for none.
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

    /// For what should be seen at once.
    pub(super) fn badge(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD)
    }

    /// For titles of panels: the one that keys act on stands out.
    pub(super) fn title(self, focused: bool) -> Style {
        if focused { self.badge() } else { Style::new().add_modifier(Modifier::BOLD) }
    }

    /// For lines and what matters less.
    pub(super) fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// For figures.
    pub(super) fn figure(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// For what goes wrong.
    pub(super) fn bad(self) -> Style {
        let style = self.coloured(Color::Red).add_modifier(Modifier::BOLD);
        if self.colours { style } else { style.add_modifier(Modifier::REVERSED) }
    }

    /// For what is out of the ordinary.
    pub(super) fn notable(self) -> Style {
        self.coloured(Color::Yellow).add_modifier(Modifier::BOLD)
    }

    /// For plots.
    pub(super) fn plot(self) -> Style {
        self.coloured(Color::Cyan)
    }

    /// By severity, 1 being gravest: as in alerts that are printed.
    pub(super) fn severity(self, severity: u8) -> Style {
        match severity {
            1 => self.coloured(Color::Red).add_modifier(Modifier::BOLD),
            2 => self.coloured(Color::Yellow),
            _ => self.coloured(Color::Cyan),
        }
    }
}
