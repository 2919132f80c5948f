//! The busiest addresses, as the engine's sketch estimates them.

use std::cmp::Reverse;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::Dashboard;
use super::fit::{address, short};
use super::layout::Room;
use super::screen::panel;
use super::state::{Focus, TalkerOrder};
use crate::report::format::bytes;
use crate::report::live::{TalkerView, View};

const PACKETS_WIDTH: u16 = 8;
const BYTES_WIDTH: u16 = 11;
const NARROW: u16 = 36;

pub fn draw(
    dashboard: &mut Dashboard,
    frame: &mut Frame<'_>,
    area: Rect,
    panel_of: Focus,
    view: &View,
) {
    let (name, talkers) = match panel_of {
        Focus::Destinations => (" Destinations ", &view.top_destinations),
        Focus::Alerts | Focus::Sources => (" Sources ", &view.top_sources),
    };
    let mut talkers: Vec<&TalkerView> = talkers.iter().collect();
    let order = match dashboard.talker_order {
        TalkerOrder::Packets => {
            talkers.sort_by_key(|talker| Reverse(talker.packets));
            "by packets"
        }
        TalkerOrder::Bytes => {
            talkers.sort_by_key(|talker| Reverse(talker.bytes));
            "by bytes"
        }
    };
    let page = usize::from(area.height.saturating_sub(1));
    let first = dashboard.first_row(panel_of, talkers.len(), page);
    let look = dashboard.look;
    let title = Line::from(vec![
        Span::styled(name, look.title(dashboard.focus == panel_of)),
        Span::raw(format!(" estimates, {order} ")),
    ]);
    let inside = panel(frame, area, [title, Line::default()], look.faint());
    if talkers.is_empty() {
        frame.render_widget("None so far.", inside);
    }
    for (talker, row) in talkers.into_iter().skip(first).zip(inside.rows()) {
        draw_row(frame, row, talker, dashboard.talker_order);
    }
}

/// Of packets and bytes only what is sorted by, where both would leave no room for addresses.
fn draw_row(frame: &mut Frame<'_>, row: Rect, talker: &TalkerView, order: TalkerOrder) {
    let (narrow, mut room) = (row.width < NARROW, Room(row));
    if !narrow || order == TalkerOrder::Bytes {
        let size = room.right(BYTES_WIDTH);
        frame.render_widget(Line::raw(bytes(talker.bytes)).right_aligned(), size);
    }
    if !narrow || order == TalkerOrder::Packets {
        let packets = room.right(PACKETS_WIDTH);
        frame.render_widget(Line::raw(short(talker.packets as f64)).right_aligned(), packets);
    }
    frame.render_widget(address(talker.address, usize::from(room.0.width)), room.0);
}
