//! What goes where, at which size. The smallest screen has the figures and one table, which Tab changes;
//! 80×24 has everything; more room goes to plots, alerts and talkers.

use ratatui::layout::{Constraint, Layout, Rect};

use super::state::Focus;

/// Below this nothing sensible fits.
pub const WIDTH_MIN: u16 = 60;
pub const HEIGHT_MIN: u16 = 16;

/// Lines of the store's panel, and of the traffic's at its lowest.
pub const FIGURE_LINES: u16 = 5;
/// From this width on the states stand between traffic and store.
const WIDE: u16 = 112;
/// From these heights on there are states, and tables of everything at once.
const HEIGHT_WITH_STATES: u16 = 19;
const HEIGHT_WITH_TALKERS: u16 = 24;

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
        let figures = if wide { 8 } else { FIGURE_LINES + (spare / 4).min(4) };
        let states = if wide || screen.height < HEIGHT_WITH_STATES { 0 } else { 3 };
        let notices = if screen.height >= 30 { 2 } else { 1 };
        let [header, top, states_below, tables, notices, footer] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(1 + figures),
            Constraint::Length(states),
            Constraint::Fill(1),
            Constraint::Length(notices),
            Constraint::Length(1),
        ])
        .areas(screen);
        let store_width = (screen.width * 19 / 40).clamp(30, 42);
        let states_width = if wide { 30 } else { 0 };
        let [traffic, states_between, store] = Layout::horizontal([
            Constraint::Fill(1),
            Constraint::Length(states_width),
            Constraint::Length(store_width),
        ])
        .spacing(if wide { 2 } else { 0 })
        .areas(top);
        let states = if wide { states_between } else { states_below };
        let (alerts, [sources, destinations]) = tables_in(tables, screen.height, focus);
        Areas {
            header,
            traffic,
            states: Some(states).filter(|states| states.height > 0),
            store,
            alerts,
            sources,
            destinations,
            notices,
            footer,
        }
    }
}

/// Alerts over talkers; or, where that is too much, what is in focus.
fn tables_in(area: Rect, screen_height: u16, focus: Focus) -> (Option<Rect>, [Option<Rect>; 2]) {
    let halves = |area: Rect| {
        let [sources, destinations] =
            Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).spacing(2).areas(area);
        [Some(sources), Some(destinations)]
    };
    if screen_height < HEIGHT_WITH_TALKERS {
        return match focus {
            Focus::Alerts => (Some(area), [None, None]),
            Focus::Sources | Focus::Destinations => (None, halves(area)),
        };
    }
    let talkers = 5 + ((screen_height - HEIGHT_WITH_TALKERS) / 3).min(6);
    let [alerts, talkers] =
        Layout::vertical([Constraint::Fill(1), Constraint::Length(talkers)]).areas(area);
    (Some(alerts), halves(talkers))
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
