//! What goes where, at which size. The smallest screen has the figures and one table, which Tab changes;
//! 80×24 has everything; more room goes to plots, alerts and talkers.

use ratatui::layout::Rect;

use super::state::Focus;

/// Below this nothing sensible fits.
pub const WIDTH_MIN: u16 = 60;
pub const HEIGHT_MIN: u16 = 16;

/// Lines of the store's panel, and of the traffic's at its lowest.
pub const FIGURE_LINES: u16 = 5;
/// From this width on the states stand between traffic and store.
const WIDE: u16 = 112;
const STATES_WIDTH: u16 = 30;
/// Columns between panels.
const GAP: u16 = 2;
/// From these heights on there are states, and tables of everything at once.
const HEIGHT_WITH_STATES: u16 = 19;
const HEIGHT_WITH_TALKERS: u16 = 24;

/// An area from whose sides others are cut.
#[derive(Debug, Clone, Copy)]
pub struct Room(pub Rect);

impl Room {
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

/// Where panels are; `None` for those that have no room.
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
    /// The areas of a screen whose panel in focus must be among them.
    pub fn new(screen: Rect, focus: Focus) -> Areas {
        let spare = screen.height.saturating_sub(HEIGHT_WITH_TALKERS);
        let wide = screen.width >= WIDE && screen.height >= HEIGHT_WITH_TALKERS;
        let mut room = Room(screen);
        let header = room.top(1);
        let footer = room.bottom(1);
        let notices = room.bottom(if screen.height >= 30 { 2 } else { 1 });
        let mut top = Room(room.top(1 + if wide { 8 } else { FIGURE_LINES + (spare / 4).min(4) }));
        let store = top.right((screen.width * 19 / 40).clamp(30, 42));
        let states = match (wide, screen.height >= HEIGHT_WITH_STATES) {
            (true, _) => {
                top.right(GAP);
                let states = top.right(STATES_WIDTH);
                top.right(GAP);
                Some(states)
            }
            (false, true) => Some(room.top(3)),
            (false, false) => None,
        };
        let (alerts, [sources, destinations]) = tables_in(room, screen.height, focus);
        let traffic = top.0;
        Areas { header, traffic, states, store, alerts, sources, destinations, notices, footer }
    }
}

/// Alerts over talkers; or, where that is too much, what is in focus.
fn tables_in(mut room: Room, height: u16, focus: Focus) -> (Option<Rect>, [Option<Rect>; 2]) {
    let halves = |area: Rect| {
        let mut room = Room(area);
        let sources = room.left(area.width.saturating_sub(GAP) / 2);
        room.left(GAP);
        [Some(sources), Some(room.0)]
    };
    if height < HEIGHT_WITH_TALKERS {
        return match focus {
            Focus::Alerts => (Some(room.0), [None, None]),
            Focus::Sources | Focus::Destinations => (None, halves(room.0)),
        };
    }
    let talkers = room.bottom(5 + ((height - HEIGHT_WITH_TALKERS) / 3).min(6));
    (Some(room.0), halves(talkers))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The panels there are, by size; none may lie over another.
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
