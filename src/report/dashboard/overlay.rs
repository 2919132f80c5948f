//! What lies over the panels for a while: the keys, or all that was said.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Clear};

use super::fit::wrapped;
use super::notices::in_short;
use super::{Look, Shown, notices};

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
    "error now: answers of the store expected to be wrong, by theory.",
    "drops: packets lost by the kernel or the interface.",
];

pub fn help(look: Look, frame: &mut Frame<'_>, screen: Rect) {
    let key = |(key, what): &(&'static str, &'static str)| {
        Line::from(vec![Span::styled(format!("{key:<14}"), look.figure()), Span::raw(*what)])
    };
    let mut lines: Vec<Line<'_>> = KEYS.iter().map(key).collect();
    lines.extend(NOTES.map(|note| Line::styled(note, look.faint())));
    boxed(look, frame, screen, " Keys ", lines);
}

/// What holds now, and what was said before, newest first, as far as there is room.
pub fn messages(look: Look, frame: &mut Frame<'_>, screen: Rect, shown: &Shown<'_>) {
    let (width, room) = (text_width(screen), usize::from(screen.height.saturating_sub(4)));
    let notices = shown.view.map(notices::of_view).unwrap_or_default();
    let words = notices.iter().map(|notice| format!("! {notice}"));
    let words = words.chain(shown.said.iter().rev().map(|said| in_short(said)));
    let lines = words.flat_map(|words| wrapped(&words, width));
    let mut lines: Vec<Line<'_>> = lines.take(room).map(Line::raw).collect();
    if lines.is_empty() {
        lines.push(Line::raw("Nothing was said so far."));
    }
    boxed(look, frame, screen, " Messages ", lines);
}

fn text_width(screen: Rect) -> usize {
    usize::from(screen.width.saturating_sub(4).min(74))
}

fn boxed(look: Look, frame: &mut Frame<'_>, screen: Rect, title: &str, lines: Vec<Line<'_>>) {
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
