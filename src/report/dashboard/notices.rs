//! What is out of the ordinary, in words: of the run as it stands, and what was said lately.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::fit::{cut, printable, short};
use super::store::is_crowded;
use super::{Look, Shown};
use crate::report::format::grouped;
use crate::report::live::View;

pub fn draw(look: Look, frame: &mut Frame<'_>, area: Rect, shown: &Shown<'_>) {
    let said = shown.said.last().filter(|_| shown.said_lately).map(|said| in_short(said));
    let mut notices: Vec<String> = said.into_iter().collect();
    notices.extend(shown.view.map(of_view).unwrap_or_default());
    let lines = usize::from(area.height);
    // One a line; the last line takes what is left.
    let rest = notices.split_off(notices.len().min(lines.saturating_sub(1)));
    if !rest.is_empty() {
        notices.push(rest.join(" · "));
    }
    for (notice, row) in notices.into_iter().zip(area.rows()) {
        let line = cut(&format!(" ! {notice}"), usize::from(row.width));
        frame.render_widget(Line::styled(line, look.notable()), row);
    }
}

/// A message in one line, and without what it begins with for those who read it among others'.
pub fn in_short(said: &str) -> String {
    let said = printable(said.strip_prefix("acsm: ").unwrap_or(said));
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What to know of the figures, the gravest first.
pub fn of_view(view: &View) -> Vec<String> {
    let mut notices: Vec<String> = view
        .interfaces
        .iter()
        .filter(|counts| !counts.is_open)
        .map(|counts| format!("{} is gone", printable(&counts.interface)))
        .collect();
    let store = &view.store;
    if is_crowded(store) {
        let made_for = short(store.flows as f64);
        notices.push(format!("overload: the store was made for {made_for} flows"));
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
