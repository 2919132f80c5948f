//! The position of each panel, by screen size. The smallest screen has the figures and one table, selected
//! with Tab; 80×24 has everything; larger screens give more lines to plots and tables.

use ratatui::Frame;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders};

use super::state::Focus;

/// The smallest usable screen.
pub const WIDTH_MIN: u16 = 60;
pub const HEIGHT_MIN: u16 = 16;

/// Lines of the store's panel, and the least of the traffic's.
pub const FIGURE_LINES: u16 = 5;
/// From this width on the states are between traffic and store.
const WIDE: u16 = 112;
const STATES_WIDTH: u16 = 30;
/// Columns between panels.
const GAP: u16 = 2;
/// From these heights on the states are shown, and all tables at once.
const HEIGHT_WITH_STATES: u16 = 19;
const HEIGHT_WITH_TALKERS: u16 = 24;

/// The free part of an area; others are cut from its sides.
#[derive(Debug, Clone, Copy)]
pub struct FreeArea(pub Rect);

impl FreeArea {
    pub fn top(&mut self, height: u16) -> Rect {
        let height = height.min(self.0.height);
        let cut = Rect { height, ..self.0 };
        self.0 = Rect { y: self.0.y + height, height: self.0.height - height, ..self.0 };
        cut
    }

    pub fn bottom(&mut self, height: u16) -> Rect {
        let height = height.min(self.0.height);
        self.0.height -= height;
        Rect { y: self.0.bottom(), height, ..self.0 }
    }

    pub fn left(&mut self, width: u16) -> Rect {
        let width = width.min(self.0.width);
        let cut = Rect { width, ..self.0 };
        self.0 = Rect { x: self.0.x + width, width: self.0.width - width, ..self.0 };
        cut
    }

    pub fn right(&mut self, width: u16) -> Rect {
        let width = width.min(self.0.width);
        self.0.width -= width;
        Rect { x: self.0.right(), width, ..self.0 }
    }
}

/// The area of each panel; `None` if it is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Areas {
    pub header: Rect,
    pub traffic: Rect,
    pub states: Option<Rect>,
    pub store: Rect,
    pub alerts: Option<Rect>,
    pub sources: Option<Rect>,
    pub destinations: Option<Rect>,
    pub notices: Rect,
    pub footer: Rect,
}

impl Areas {
    /// The areas of a screen. The panel in focus is always shown.
    pub fn new(screen: Rect, focus: Focus) -> Areas {
        let spare = screen.height.saturating_sub(HEIGHT_WITH_TALKERS);
        let wide = screen.width >= WIDE && screen.height >= HEIGHT_WITH_TALKERS;
        let mut free = FreeArea(screen);
        let header = free.top(1);
        let footer = free.bottom(1);
        let notices = free.bottom(if screen.height >= 30 { 2 } else { 1 });
        let mut top =
            FreeArea(free.top(1 + if wide { 8 } else { FIGURE_LINES + (spare / 4).min(4) }));
        let store = top.right((screen.width * 19 / 40).clamp(30, 42));
        let states = match (wide, screen.height >= HEIGHT_WITH_STATES) {
            (true, _) => {
                top.right(GAP);
                let states = top.right(STATES_WIDTH);
                top.right(GAP);
                Some(states)
            }
            (false, true) => Some(free.top(3)),
            (false, false) => None,
        };
        let (alerts, [sources, destinations]) = tables_in(free, screen.height, focus);
        let traffic = top.0;
        Areas { header, traffic, states, store, alerts, sources, destinations, notices, footer }
    }
}

/// Alerts above the busiest addresses; on a low screen only what is in focus.
fn tables_in(mut free: FreeArea, height: u16, focus: Focus) -> (Option<Rect>, [Option<Rect>; 2]) {
    let halves = |area: Rect| {
        let mut free = FreeArea(area);
        let sources = free.left(area.width.saturating_sub(GAP) / 2);
        free.left(GAP);
        [Some(sources), Some(free.0)]
    };
    if height < HEIGHT_WITH_TALKERS {
        return match focus {
            Focus::Alerts => (Some(free.0), [None, None]),
            Focus::Sources | Focus::Destinations => (None, halves(free.0)),
        };
    }
    let talkers = free.bottom(5 + ((height - HEIGHT_WITH_TALKERS) / 3).min(6));
    (Some(free.0), halves(talkers))
}

/// Draws a panel's title line; returns the area below it.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// No panel may overlap another, at any size.
    #[test]
    fn panels_share_every_screen_without_overlap() {
        for width in WIDTH_MIN..=240 {
            for height in HEIGHT_MIN..=90 {
                for focus in [Focus::Alerts, Focus::Sources, Focus::Destinations] {
                    let screen = Rect::new(0, 0, width, height);
                    let areas = Areas::new(screen, focus);
                    let Areas { header, traffic, store, notices, footer, .. } = areas;
                    let mut shown = vec![header, traffic, store, notices, footer];
                    shown.extend([areas.states, areas.alerts].iter().flatten());
                    shown.extend([areas.sources, areas.destinations].iter().flatten());
                    assert!(areas.alerts.or(areas.sources).unwrap().height >= 4, "{screen:?}");
                    for (at, one) in shown.iter().enumerate() {
                        assert!(one.width > 0 && one.height > 0, "{screen:?} {areas:?}");
                        assert_eq!(one.intersection(screen), *one);
                        let apart = |other: &Rect| !one.intersects(*other);
                        assert!(shown[at + 1..].iter().all(apart), "{screen:?} {areas:?}");
                    }
                }
            }
        }
    }
}
