//! Flows that came into a state in the last second, by state.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::Look;
use super::fit::{cut, printable, short};
use super::layout::Room;
use super::screen::panel;
use super::traffic::draw_plot;
use crate::report::live::{History, Sample, View};

const NAME_CHARS_MAX: usize = 16;
const RATE_CHARS: usize = 6;

/// A state's name, its place among the states, and its rate.
type Rate = (String, usize, f64);

pub fn draw(look: Look, frame: &mut Frame<'_>, area: Rect, view: &View, history: &History) {
    let title = Span::styled(" Flows into states, per second ", look.title(false));
    let inside = panel(frame, area, [title.into(), Line::default()], look.faint());
    let now = history.samples().next_back();
    let rates: Vec<Rate> = view
        .entered
        .keys()
        .enumerate()
        .map(|(at, name)| {
            let rate = now.and_then(|now| now.entered_per_second.get(at)).copied();
            (cut(&printable(name), NAME_CHARS_MAX), at, rate.unwrap_or(0.0))
        })
        .collect();
    // High enough for one a line, it is drawn as a list with plots.
    match inside.height > 2 {
        true => list(look, frame, inside, &rates, history),
        false => grid(look, frame, inside, rates),
    }
}

fn name_width(rates: &[Rate]) -> usize {
    rates.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0)
}

/// The order of the rules, which is that of a connection's life.
fn list(look: Look, frame: &mut Frame<'_>, area: Rect, rates: &[Rate], history: &History) {
    let width = name_width(rates);
    for ((name, at, rate), row) in rates.iter().zip(area.rows()) {
        let mut room = Room(row);
        let text = room.left((width + RATE_CHARS + 2) as u16);
        frame.render_widget(cell(look, name, width, *rate), text);
        let of = |sample: &Sample| sample.entered_per_second.get(*at).copied().unwrap_or(0.0);
        draw_plot(look, frame, room.0, history, &of);
    }
}

/// As many columns as fit; where not all states do, the busiest stay.
fn grid(look: Look, frame: &mut Frame<'_>, area: Rect, mut rates: Vec<Rate>) {
    let width = name_width(&rates);
    let cell_width = width + RATE_CHARS + 2;
    let columns = ((usize::from(area.width) + 1) / cell_width).max(1);
    let room = columns * usize::from(area.height);
    if rates.len() > room {
        rates.sort_by(|a, b| b.2.total_cmp(&a.2));
        rates.truncate(room);
        rates.sort_by_key(|(_, at, _)| *at);
    }
    for (cells, row) in rates.chunks(columns).zip(area.rows()) {
        let mut line = Line::default();
        for (name, _, rate) in cells {
            line.extend(cell(look, name, width, *rate));
            line.push_span(Span::raw(" "));
        }
        frame.render_widget(line, row);
    }
}

fn cell(look: Look, name: &str, width: usize, rate: f64) -> Line<'static> {
    Line::from(vec![
        Span::raw(format!("{name:<width$} ")),
        Span::styled(format!("{:>RATE_CHARS$}", short(rate)), look.figure()),
    ])
}
