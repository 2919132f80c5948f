//! The whole screen.

use ratatui::Frame;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph};

use super::fit::{cut, printable};
use super::layout::{Areas, HEIGHT_MIN, WIDTH_MIN};
use super::state::{Focus, Overlay};
use super::{Dashboard, alerts, notices, overlay, states, store, talkers, traffic};
use crate::report::format::duration;
use crate::report::live::{History, View};

/// What there is to show.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// The run at the moment; `None` in its first second.
    pub view: Option<&'a View>,
    /// Its last minutes.
    pub history: &'a History,
    /// What was said to the user, oldest first.
    pub said: &'a [String],
    /// Whether the last of it is new.
    pub said_lately: bool,
}

impl Dashboard {
    /// Draws everything. Holds the scrolling within what there is.
    pub fn draw(&mut self, frame: &mut Frame<'_>, shown: &Shown<'_>) {
        let screen = frame.area();
        if screen.width < WIDTH_MIN || screen.height < HEIGHT_MIN {
            return too_small(frame, screen);
        }
        let areas = Areas::new(screen, self.focus);
        self.header(frame, areas.header, shown.view);
        match shown.view {
            Some(view) => self.panels(frame, &areas, view, shown.history),
            None => {
                let waiting = "The first figures come in a second.";
                frame.render_widget(waiting, areas.traffic);
            }
        }
        notices::draw(self.look, frame, areas.notices, shown);
        self.footer(frame, areas.footer);
        match self.overlay {
            Some(Overlay::Help) => overlay::help(self.look, frame, screen),
            Some(Overlay::Messages) => overlay::messages(self.look, frame, screen, shown),
            None => {}
        }
    }

    fn panels(&mut self, frame: &mut Frame<'_>, areas: &Areas, view: &View, history: &History) {
        traffic::draw(self.look, frame, areas.traffic, view, history);
        store::draw(self.look, frame, areas.store, view, history);
        if let Some(area) = areas.states {
            states::draw(self.look, frame, area, view, history);
        }
        if let Some(area) = areas.alerts {
            alerts::draw(self, frame, area, view);
        }
        for (area, panel) in
            [(areas.sources, Focus::Sources), (areas.destinations, Focus::Destinations)]
        {
            if let Some(area) = area {
                talkers::draw(self, frame, area, panel, view);
            }
        }
    }

    fn header(&self, frame: &mut Frame<'_>, area: Rect, view: Option<&View>) {
        let mut right = String::new();
        let mut left = " acsm live".to_owned();
        if let Some(view) = view {
            let names: Vec<String> =
                view.interfaces.iter().map(|counts| printable(&counts.interface)).collect();
            let up = (view.uptime_seconds.max(0.0) * 1e9) as u64;
            // Tenths of a second would only flicker.
            let up = duration(up / 1_000_000_000 * 1_000_000_000).replace(".0 s", " s");
            right = format!("up {up}   {} UTC ", view.time.get(11..19).unwrap_or_default());
            left = format!("{left}  {}", names.join(", "));
        }
        let paused = if self.paused { " PAUSED " } else { "" };
        let taken = right.chars().count() + paused.len() + 2;
        let left = cut(&left, usize::from(area.width).saturating_sub(taken));
        frame.render_widget(Paragraph::new(left).style(self.look.header()), area);
        let right = Line::from(vec![
            Span::styled(paused, self.look.bad().patch(self.look.badge())),
            Span::raw(if self.paused { "  " } else { "" }),
            Span::raw(right),
        ]);
        let right = Paragraph::new(right).style(self.look.header()).alignment(Alignment::Right);
        let width = u16::try_from(taken).unwrap_or(area.width).min(area.width);
        frame.render_widget(right, Rect { x: area.right() - width, width, ..area });
    }

    fn footer(&self, frame: &mut Frame<'_>, area: Rect) {
        let keys: &[(&str, &str)] = match (self.typing, self.overlay) {
            (true, _) => &[("Enter", "keep"), ("Esc", "drop the filter"), ("Ctrl-C", "quit")],
            (false, Some(_)) => &[("any key", "close"), ("Ctrl-C", "quit")],
            (false, None) => &[
                ("q", "quit"),
                ("?", "help"),
                ("p", if self.paused { "go on" } else { "pause" }),
                ("/", "filter"),
                ("s", "sort"),
                ("Tab", "panel"),
                ("↑↓", "scroll"),
                ("m", "messages"),
            ],
        };
        let mut line = Line::raw(" ");
        for (key, what) in keys {
            let what = format!(" {what}  ");
            if line.width() + key.chars().count() + what.len() > usize::from(area.width) + 2 {
                break;
            }
            line.push_span(Span::styled(*key, self.look.figure()));
            line.push_span(Span::raw(what));
        }
        frame.render_widget(line, area);
    }
}

/// A panel's frame: a line with its title on top. Gives what is left below.
pub fn panel(frame: &mut Frame<'_>, area: Rect, titles: [Line<'static>; 2], line: Style) -> Rect {
    let [left, right] = titles;
    let block = Block::new()
        .borders(Borders::TOP)
        .border_style(line)
        .title_style(Style::new().remove_modifier(Modifier::DIM))
        .title(left)
        .title(right.alignment(Alignment::Right));
    let inside = block.inner(area);
    frame.render_widget(block, area);
    inside
}

fn too_small(frame: &mut Frame<'_>, screen: Rect) {
    let words = [
        "Terminal too small".to_owned(),
        format!("{}×{}; it takes {WIDTH_MIN}×{HEIGHT_MIN}", screen.width, screen.height),
        // Which `q` does not, while a filter is typed.
        "Ctrl-C quits".to_owned(),
    ];
    let top = screen.height.saturating_sub(3) / 2;
    let middle = Rect { y: screen.y + top, height: screen.height.min(3), ..screen };
    let lines: Vec<Line<'_>> = words.into_iter().map(Line::raw).collect();
    frame.render_widget(Paragraph::new(lines).alignment(Alignment::Center), middle);
}
