//! The whole screen: header, panels, notices, footer, and the boxes for help and messages.

use ratatui::Frame;
use ratatui::layout::{Alignment, Rect};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Clear, Paragraph};

use super::figures::{draw_states, draw_store, draw_traffic};
use super::layout::{Areas, HEIGHT_MIN, WIDTH_MIN};
use super::state::{Dashboard, Focus, Overlay, Shown};
use super::style::{Look, cut, printable, short, wrapped};
use super::tables::{draw_alerts, draw_talkers};
use crate::live::{History, View};
use crate::report::format::{duration, grouped};

const KEYS: [(&str, &str); 9] = [
    ("q, Ctrl-C", "quit: the summary follows"),
    ("p, space", "pause: the screen stands still, the capture goes on"),
    ("/", "filter alerts by rule, message or address"),
    ("Esc", "drop the filter"),
    ("s", "sort: alerts newest, gravest, by rule;"),
    ("", "  top addresses by packets, by bytes"),
    ("Tab", "next panel: alerts, sources, destinations"),
    ("↑ ↓ PgUp PgDn", "scroll it; Home and End"),
    ("m", "messages of this run; Ctrl-L paints all anew"),
];
const NOTES: [&str; 3] = [
    "~ and \"estimates\": counted by sketches, good to some percent.",
    "error now: wrong answers of the store, on a sample of flows; or by theory.",
    "drops: packets lost by the kernel or the interface.",
];

impl Dashboard {
    /// Draws everything. Limits scrolling to the rows there are.
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
        draw_notices(self.look, frame, areas.notices, shown);
        self.footer(frame, areas.footer);
        match self.overlay {
            Some(Overlay::Help) => draw_help(self.look, frame, screen),
            Some(Overlay::Messages) => draw_messages(self.look, frame, screen, shown),
            None => {}
        }
    }

    fn panels(&mut self, frame: &mut Frame<'_>, areas: &Areas, view: &View, history: &History) {
        draw_traffic(self.look, frame, areas.traffic, view, history);
        draw_store(self.look, frame, areas.store, view, history);
        if let Some(area) = areas.states {
            draw_states(self.look, frame, area, view, history);
        }
        if let Some(area) = areas.alerts {
            draw_alerts(self, frame, area, view);
        }
        for (area, panel) in
            [(areas.sources, Focus::Sources), (areas.destinations, Focus::Destinations)]
        {
            if let Some(area) = area {
                draw_talkers(self, frame, area, panel, view);
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
            // Tenths of a second would flicker.
            let up = duration(up / 1_000_000_000 * 1_000_000_000).replace(".0 s", " s");
            right = format!("up {up}   {} UTC ", view.time.get(11..19).unwrap_or_default());
            left = format!("{left}  {}", names.join(", "));
        }
        let paused = if self.paused { " PAUSED " } else { "" };
        let right_width = right.chars().count() + paused.len() + 2;
        let left = cut(&left, usize::from(area.width).saturating_sub(right_width));
        frame.render_widget(Paragraph::new(left).style(self.look.header()), area);
        let right = Line::from(vec![
            Span::styled(paused, self.look.bad().patch(self.look.badge())),
            Span::raw(if self.paused { "  " } else { "" }),
            Span::raw(right),
        ]);
        let right = Paragraph::new(right).style(self.look.header()).alignment(Alignment::Right);
        let width = u16::try_from(right_width).unwrap_or(area.width).min(area.width);
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

fn too_small(frame: &mut Frame<'_>, screen: Rect) {
    let words = [
        "Terminal too small".to_owned(),
        format!("{}×{}; it takes {WIDTH_MIN}×{HEIGHT_MIN}", screen.width, screen.height),
        // `q` does not while a filter is typed.
        "Ctrl-C quits".to_owned(),
    ];
    let top = screen.height.saturating_sub(3) / 2;
    let middle = Rect { y: screen.y + top, height: screen.height.min(3), ..screen };
    let lines: Vec<Line<'_>> = words.into_iter().map(Line::raw).collect();
    frame.render_widget(Paragraph::new(lines).alignment(Alignment::Center), middle);
}

/// Conditions and the last message that the user should know of.
fn draw_notices(look: Look, frame: &mut Frame<'_>, area: Rect, shown: &Shown<'_>) {
    let message = shown.messages.last().filter(|_| shown.has_recent_message);
    let mut notices: Vec<String> = message.map(|text| one_line(text)).into_iter().collect();
    notices.extend(shown.view.map(conditions).unwrap_or_default());
    let lines = usize::from(area.height);
    // One per line; the last line takes the rest.
    let rest = notices.split_off(notices.len().min(lines.saturating_sub(1)));
    if !rest.is_empty() {
        notices.push(rest.join(" · "));
    }
    for (notice, row) in notices.into_iter().zip(area.rows()) {
        let line = cut(&format!(" ! {notice}"), usize::from(row.width));
        frame.render_widget(Line::styled(line, look.notable()), row);
    }
}

/// A message in one line, without the prefix that identifies the program.
fn one_line(message: &str) -> String {
    let message = printable(message.strip_prefix("acsm: ").unwrap_or(message));
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Unusual conditions of the run, the most severe first.
fn conditions(view: &View) -> Vec<String> {
    let mut notices: Vec<String> = view
        .interfaces
        .iter()
        .filter(|counts| !counts.is_open)
        .map(|counts| format!("{} is gone", printable(&counts.interface)))
        .collect();
    let store = &view.store;
    if let Some(since) = &view.overload.since {
        let time = since.get(11..19).unwrap_or(since);
        notices.push(format!("overload since {time}: too many new flows"));
    }
    if store.is_overloaded() {
        let planned = short(store.flows as f64);
        notices.push(format!("overload: the store was made for {planned} flows"));
    }
    if store.full > 0 {
        notices.push(format!("no room for {} flows", grouped(store.full)));
    }
    if store.evicted > 0 {
        notices.push(format!("{} flows had to leave for others", grouped(store.evicted)));
    }
    if view.one_way {
        notices.push("one direction only".to_owned());
    }
    if view.no_session_muted {
        notices.push("\"no session\" rules are mute".to_owned());
    }
    notices
}

fn draw_help(look: Look, frame: &mut Frame<'_>, screen: Rect) {
    let key = |(key, what): &(&'static str, &'static str)| {
        Line::from(vec![Span::styled(format!("{key:<14}"), look.figure()), Span::raw(*what)])
    };
    let mut lines: Vec<Line<'_>> = KEYS.iter().map(key).collect();
    lines.extend(NOTES.map(|note| Line::styled(note, look.faint())));
    draw_box(look, frame, screen, " Keys ", lines);
}

/// Current conditions and earlier messages, newest first, as many as fit.
fn draw_messages(look: Look, frame: &mut Frame<'_>, screen: Rect, shown: &Shown<'_>) {
    let (width, height) = (text_width(screen), usize::from(screen.height.saturating_sub(4)));
    let conditions = shown.view.map(conditions).unwrap_or_default();
    let texts = conditions.iter().map(|condition| format!("! {condition}"));
    let texts = texts.chain(shown.messages.iter().rev().map(|text| one_line(text)));
    let lines = texts.flat_map(|text| wrapped(&text, width));
    let mut lines: Vec<Line<'_>> = lines.take(height).map(Line::raw).collect();
    if lines.is_empty() {
        lines.push(Line::raw("Nothing was said so far."));
    }
    draw_box(look, frame, screen, " Messages ", lines);
}

fn text_width(screen: Rect) -> usize {
    usize::from(screen.width.saturating_sub(4).min(74))
}

fn draw_box(look: Look, frame: &mut Frame<'_>, screen: Rect, title: &str, lines: Vec<Line<'_>>) {
    let width = text_width(screen) as u16 + 4;
    let height = (lines.len() as u16 + 2).min(screen.height);
    let area = Rect {
        x: screen.x + screen.width.saturating_sub(width) / 2,
        y: screen.y + screen.height.saturating_sub(height) / 2,
        width,
        height,
    };
    let block = Block::bordered().title(Span::styled(title, look.title(true)));
    let inside = block.inner(area);
    frame.render_widget(Clear, area);
    frame.render_widget(block, area);
    let inside = Rect { x: inside.x + 1, width: inside.width.saturating_sub(2), ..inside };
    frame.render_widget(Text::from(lines), inside);
}
