//! The latest alerts, as a table.

use std::cmp::Reverse;
use std::net::IpAddr;

use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Row, Table};

use super::Dashboard;
use super::fit::{address, cut, endpoint, printable};
use super::screen::panel;
use super::state::{AlertOrder, Focus};
use crate::report::format::grouped;
use crate::report::live::{SeenAlert, View, total};

const TIME_WIDTH: usize = 8;
const SEVERITY_WIDTH: usize = 3;
/// Messages are shown where they have at least so much room.
const MESSAGE_WIDTH_MIN: usize = 16;

pub fn draw(dashboard: &mut Dashboard, frame: &mut Frame<'_>, area: Rect, view: &View) {
    let alerts = chosen(dashboard, &view.latest_alerts);
    let page = usize::from(area.height.saturating_sub(2));
    let first = dashboard.first_row(Focus::Alerts, alerts.len(), page);
    let rows: Vec<&SeenAlert> = alerts.iter().copied().skip(first).take(page).collect();
    let which = match rows.len() {
        0 => String::new(),
        n => format!(" {}–{} of {} ", first + 1, first + n, alerts.len()),
    };
    let look = dashboard.look;
    let titles = [title(dashboard, view), Line::styled(which, look.faint())];
    let inside = panel(frame, area, titles, look.faint());
    if rows.is_empty() {
        let words = if view.latest_alerts.is_empty() { "None so far." } else { "None match." };
        frame.render_widget(words, inside);
        return;
    }
    frame.render_widget(table(dashboard, &rows, usize::from(inside.width)), inside);
}

/// Those that match the filter, in the order that was chosen.
fn chosen<'v>(dashboard: &Dashboard, alerts: &'v [SeenAlert]) -> Vec<&'v SeenAlert> {
    let wanted = dashboard.filter.to_lowercase();
    let mut chosen: Vec<&SeenAlert> =
        alerts.iter().rev().filter(|alert| matches(alert, &wanted)).collect();
    match dashboard.alert_order {
        AlertOrder::Newest => {}
        AlertOrder::Severity => chosen.sort_by_key(|alert| (alert.severity, Reverse(alert.number))),
        AlertOrder::Rule => chosen.sort_by_key(|alert| (&alert.rule, Reverse(alert.number))),
    }
    chosen
}

/// In the rule's name, its message, or an address with its port.
fn matches(alert: &SeenAlert, wanted: &str) -> bool {
    let ends = [(alert.src_ip, alert.src_port), (alert.dest_ip, alert.dest_port)];
    wanted.is_empty()
        || alert.rule.to_lowercase().contains(wanted)
        || alert.message.to_lowercase().contains(wanted)
        || ends.iter().any(|(ip, port)| endpoint(*ip, *port, usize::MAX).contains(wanted))
}

fn title(dashboard: &Dashboard, view: &View) -> Line<'static> {
    let look = dashboard.look;
    let order = match dashboard.alert_order {
        AlertOrder::Newest => "newest first",
        AlertOrder::Severity => "gravest first",
        AlertOrder::Rule => "by rule",
    };
    let focused = dashboard.focus == Focus::Alerts;
    let mut title = Line::from(vec![
        Span::styled(" Alerts ", look.title(focused)),
        Span::raw(format!(" {} in all, {order} ", grouped(total(&view.alerts)))),
    ]);
    if dashboard.typing {
        title.push_span(Span::styled(format!(" /{}▏", dashboard.filter), look.notable()));
    } else if !dashboard.filter.is_empty() {
        title.push_span(Span::styled(format!(" /{} ", dashboard.filter), look.notable()));
    }
    title
}

/// Columns are as wide as what they show; long addresses give way.
fn table(dashboard: &Dashboard, rows: &[&SeenAlert], width: usize) -> Table<'static> {
    let widest = |of: &dyn Fn(&SeenAlert) -> usize, least: usize| {
        rows.iter().map(|alert| of(alert)).max().unwrap_or(0).max(least)
    };
    let full = |ip, port| endpoint(ip, port, usize::MAX).len();
    let rule = widest(&|alert| alert.rule.chars().count(), 4).min((width / 4).min(24));
    let count = widest(&|alert| count(alert).len(), 5);
    let src = widest(&|alert| full(alert.src_ip, alert.src_port), 6);
    let dst = widest(&|alert| full(alert.dest_ip, alert.dest_port), 11);
    let room = width.saturating_sub(TIME_WIDTH + SEVERITY_WIDTH + rule + count + 7);
    // The port of who began is any port: it is the first to go.
    let source_ports = src + dst <= room;
    let src = if source_ports { src } else { widest(&|alert| address_width(alert.src_ip), 6) };
    let (src, dst) = shared(room, src, dst);
    let source = |alert: &SeenAlert| match source_ports {
        true => endpoint(alert.src_ip, alert.src_port, src),
        false => address(alert.src_ip, src),
    };
    let message = room.saturating_sub(src + dst + 1);
    let message = if message >= MESSAGE_WIDTH_MIN { message } else { 0 };
    let widths = [TIME_WIDTH, SEVERITY_WIDTH, rule, src, 1, dst, count, message];
    let heads = ["time", "sev", "rule", "source", "", "destination", "count", "what"];
    let shown = if message > 0 { widths.len() } else { widths.len() - 1 };
    let cells = |alert: &&SeenAlert| {
        let severity = dashboard.look.severity(alert.severity);
        let cells = [
            Cell::new(alert.time.get(11..19).unwrap_or_default().to_owned()),
            Cell::new(Span::styled(format!("{:>2}", alert.severity), severity)),
            Cell::new(Span::styled(cut(&printable(&alert.rule), rule), severity)),
            Cell::new(source(alert)),
            Cell::new("→"),
            Cell::new(endpoint(alert.dest_ip, alert.dest_port, dst)),
            Cell::new(Line::raw(self::count(alert)).right_aligned()),
            Cell::new(printable(&alert.message)),
        ];
        Row::new(cells.into_iter().take(shown))
    };
    let head = heads.map(|head| Cell::new(Span::styled(head, dashboard.look.faint())));
    let widths = widths.into_iter().take(shown).map(|width| Constraint::Length(width as u16));
    Table::new(rows.iter().map(cells), widths)
        .header(Row::new(head.into_iter().take(shown)))
        .column_spacing(1)
}

fn address_width(ip: IpAddr) -> usize {
    address(ip, usize::MAX).len()
}

fn count(alert: &SeenAlert) -> String {
    alert.count.map_or_else(String::new, grouped)
}

/// Two columns in `room`, which hold `left` and `right` if they can. Where not, the right one keeps an
/// IPv4 address with its port, and the left one two fifths.
fn shared(room: usize, left: usize, right: usize) -> (usize, usize) {
    if left + right <= room {
        return (left, right);
    }
    let for_right = right.min("255.255.255.255:65535".len());
    let left = left.min(room.saturating_sub(for_right).max(room * 2 / 5));
    (left, right.min(room - left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_share_what_room_there_is() {
        assert_eq!(shared(50, 20, 20), (20, 20));
        assert_eq!(shared(40, 10, 47), (10, 30));
        assert_eq!(shared(40, 47, 10), (30, 10));
        assert_eq!(shared(40, 47, 47), (19, 21));
        assert_eq!(shared(20, 15, 19), (8, 12));
        assert_eq!(shared(0, 1, 1), (0, 0));
    }
}
