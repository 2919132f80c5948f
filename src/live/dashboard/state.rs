//! What a dashboard shows and what the user selected; how keys change the selection.

use super::keys::Key;
use super::style::Look;
use crate::live::{History, View};

/// Limit for the filter's text.
const FILTER_CHARS_MAX: usize = 60;

/// What the owner of the terminal has to do after a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Nothing: nothing has changed.
    Nothing,
    /// Draw again.
    Redraw,
    /// Clear the screen and draw: another program wrote on it.
    Repaint,
    /// End the program.
    Quit,
}

/// The panel that keys apply to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Focus {
    Alerts,
    Sources,
    Destinations,
}

/// The sort order of alerts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AlertOrder {
    Newest,
    Severity,
    Rule,
}

/// The sort order of the busiest addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TalkerOrder {
    Packets,
    Bytes,
}

/// A box over the panels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overlay {
    Help,
    Messages,
}

/// What there is to show.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// The latest view; `None` in the first second.
    pub view: Option<&'a View>,
    /// The last minutes.
    pub history: &'a History,
    /// Messages to the user, oldest first.
    pub messages: &'a [String],
    /// Whether the last message is recent.
    pub has_recent_message: bool,
}

/// A dashboard with the user's selection.
#[derive(Debug)]
pub struct Dashboard {
    pub(super) look: Look,
    pub(super) paused: bool,
    pub(super) focus: Focus,
    pub(super) alert_order: AlertOrder,
    pub(super) talker_order: TalkerOrder,
    pub(super) filter: String,
    /// Whether the filter is being typed.
    pub(super) typing: bool,
    pub(super) overlay: Option<Overlay>,
    /// The first row shown of the panel in focus; limited to existing rows when drawing.
    pub(super) scroll: usize,
    /// The number of rows that panel shows; set when drawing.
    pub(super) page: usize,
}

impl Dashboard {
    /// Alerts in focus, newest first, nothing filtered.
    pub fn new(look: Look) -> Dashboard {
        Dashboard {
            look,
            paused: false,
            focus: Focus::Alerts,
            alert_order: AlertOrder::Newest,
            talker_order: TalkerOrder::Packets,
            filter: String::new(),
            typing: false,
            overlay: None,
            scroll: 0,
            page: 1,
        }
    }

    /// Whether the screen is frozen: the owner should draw the same view again.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// Applies a key.
    pub fn handle(&mut self, key: Key) -> Action {
        match key {
            Key::CtrlC => Action::Quit,
            Key::CtrlL => Action::Repaint,
            key if self.typing => self.type_filter(key),
            // Any key closes a box over the panels, `q` too.
            _ if self.overlay.is_some() => {
                self.overlay = None;
                Action::Redraw
            }
            Key::Char('q') => Action::Quit,
            key => self.choose(key),
        }
    }

    fn type_filter(&mut self, key: Key) -> Action {
        match key {
            Key::Char(c) if self.filter.chars().count() < FILTER_CHARS_MAX => self.filter.push(c),
            Key::Backspace => drop(self.filter.pop()),
            Key::Enter => self.typing = false,
            Key::Esc => self.clear_filter(),
            _ => return Action::Nothing,
        }
        self.scroll = 0;
        Action::Redraw
    }

    fn clear_filter(&mut self) {
        self.filter.clear();
        self.typing = false;
        self.scroll = 0;
    }

    fn choose(&mut self, key: Key) -> Action {
        match key {
            Key::Char('p' | ' ') => self.paused = !self.paused,
            Key::Char('/') => {
                self.set_focus(Focus::Alerts);
                self.typing = true;
            }
            Key::Esc => self.clear_filter(),
            Key::Char('s') => self.sort(),
            Key::Char('?' | 'h') => self.overlay = Some(Overlay::Help),
            Key::Char('m') => self.overlay = Some(Overlay::Messages),
            Key::Tab => self.set_focus(match self.focus {
                Focus::Alerts => Focus::Sources,
                Focus::Sources => Focus::Destinations,
                Focus::Destinations => Focus::Alerts,
            }),
            Key::BackTab => self.set_focus(match self.focus {
                Focus::Alerts => Focus::Destinations,
                Focus::Sources => Focus::Alerts,
                Focus::Destinations => Focus::Sources,
            }),
            key => return self.scroll_by(key),
        }
        Action::Redraw
    }

    fn set_focus(&mut self, focus: Focus) {
        if self.focus != focus {
            (self.focus, self.scroll) = (focus, 0);
        }
    }

    fn sort(&mut self) {
        self.scroll = 0;
        if self.focus == Focus::Alerts {
            self.alert_order = match self.alert_order {
                AlertOrder::Newest => AlertOrder::Severity,
                AlertOrder::Severity => AlertOrder::Rule,
                AlertOrder::Rule => AlertOrder::Newest,
            };
        } else {
            self.talker_order = match self.talker_order {
                TalkerOrder::Packets => TalkerOrder::Bytes,
                TalkerOrder::Bytes => TalkerOrder::Packets,
            };
        }
    }

    fn scroll_by(&mut self, key: Key) -> Action {
        self.scroll = match key {
            Key::Up | Key::Char('k') => self.scroll.saturating_sub(1),
            Key::Down | Key::Char('j') => self.scroll.saturating_add(1),
            Key::PageUp => self.scroll.saturating_sub(self.page),
            Key::PageDown => self.scroll.saturating_add(self.page),
            Key::Home => 0,
            Key::End => usize::MAX,
            _ => return Action::Nothing,
        };
        Action::Redraw
    }

    /// The first of `rows` to show in a panel that shows `page` of them: scrolled if it is in focus.
    pub(super) fn first_row(&mut self, panel: Focus, rows: usize, page: usize) -> usize {
        if self.focus != panel {
            return 0;
        }
        self.page = page.max(1);
        self.scroll = self.scroll.min(rows.saturating_sub(page));
        self.scroll
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dashboard() -> Dashboard {
        Dashboard::new(Look { colours: true })
    }

    fn press(dashboard: &mut Dashboard, keys: &str) {
        for key in keys.chars() {
            assert_eq!(dashboard.handle(Key::Char(key)), Action::Redraw, "{key}");
        }
    }

    #[test]
    fn quits_pauses_and_goes_on() {
        let mut it = dashboard();
        assert_eq!(it.handle(Key::Char('q')), Action::Quit);
        assert_eq!(it.handle(Key::CtrlC), Action::Quit);
        assert_eq!(it.handle(Key::CtrlL), Action::Repaint);
        assert_eq!(it.handle(Key::Char('x')), Action::Nothing);
        press(&mut it, "p");
        assert!(it.is_paused());
        press(&mut it, " ");
        assert!(!it.is_paused());
    }

    #[test]
    fn a_filter_takes_every_letter_until_it_is_kept_or_dropped() {
        let mut it = dashboard();
        press(&mut it, "/qps?");
        assert!(it.typing && !it.paused && it.overlay.is_none());
        it.handle(Key::Backspace);
        it.handle(Key::Enter);
        assert_eq!((it.filter.as_str(), it.typing), ("qps", false));
        press(&mut it, "/x");
        assert_eq!(it.filter, "qpsx", "typing goes on where it was");
        it.handle(Key::Esc);
        assert_eq!((it.filter.as_str(), it.typing), ("", false));
        press(&mut it, "/y");
        it.handle(Key::Enter);
        it.handle(Key::Esc);
        assert_eq!(it.filter, "", "a filter that is kept can be dropped");
        press(&mut it, "/");
        assert_eq!(it.handle(Key::CtrlC), Action::Quit);
        for _ in 0..1000 {
            it.handle(Key::Char('z'));
        }
        assert_eq!(it.filter.len(), FILTER_CHARS_MAX);
    }

    #[test]
    fn the_panel_in_focus_is_sorted_and_scrolled() {
        let mut it = dashboard();
        press(&mut it, "s");
        assert_eq!(it.alert_order, AlertOrder::Severity);
        press(&mut it, "ss");
        assert_eq!(it.alert_order, AlertOrder::Newest);
        it.handle(Key::Tab);
        assert_eq!(it.focus, Focus::Sources);
        press(&mut it, "s");
        assert_eq!((it.alert_order, it.talker_order), (AlertOrder::Newest, TalkerOrder::Bytes));
        it.handle(Key::BackTab);
        it.handle(Key::BackTab);
        assert_eq!(it.focus, Focus::Destinations);
        press(&mut it, "/");
        assert_eq!(it.focus, Focus::Alerts, "what is filtered is in focus");
    }

    #[test]
    fn scrolling_stays_within_what_there_is() {
        let mut it = dashboard();
        it.handle(Key::End);
        assert_eq!(it.first_row(Focus::Alerts, 100, 5), 95);
        it.handle(Key::Up);
        it.handle(Key::PageUp);
        assert_eq!(it.first_row(Focus::Alerts, 100, 5), 89);
        assert_eq!(it.first_row(Focus::Sources, 100, 5), 0, "not in focus");
        assert_eq!(it.first_row(Focus::Alerts, 3, 5), 0, "fewer than fit");
        it.handle(Key::Up);
        it.handle(Key::PageDown);
        assert_eq!(it.first_row(Focus::Alerts, 100, 5), 5);
        it.handle(Key::Tab);
        assert_eq!(it.first_row(Focus::Sources, 100, 5), 0, "each panel begins at its top");
    }

    #[test]
    fn help_closes_with_any_key() {
        let mut it = dashboard();
        for key in [Key::Char('q'), Key::Esc, Key::Char('?'), Key::Down] {
            press(&mut it, "?");
            assert_eq!(it.overlay, Some(Overlay::Help));
            assert_eq!(it.handle(key), Action::Redraw);
            assert_eq!(it.overlay, None);
        }
        press(&mut it, "m");
        assert_eq!(it.handle(Key::CtrlC), Action::Quit);
    }
}
