//! The panels that scroll: the latest alerts and the busiest addresses.

use std::cmp::Reverse;
use std::net::IpAddr;

use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Row, Table};

use super::layout::{FreeArea, panel};
use super::state::{AlertOrder, Dashboard, Focus, TalkerOrder};
use super::style::{address, cut, endpoint, printable, short};
use crate::live::{SeenAlert, TalkerView, View};
use crate::report::format::{bytes, grouped};

const TIME_WIDTH: usize = 8;
const SEVERITY_WIDTH: usize = 3;
/// Messages are shown if this width is left for them.
const MESSAGE_WIDTH_MIN: usize = 16;
const PACKETS_WIDTH: u16 = 8;
const BYTES_WIDTH: u16 = 11;
/// Below this width a row has one figure only.
const NARROW: u16 = 36;

pub fn draw_alerts(dashboard: &mut Dashboard, frame: &mut Frame<'_>, area: Rect, view: &View) {
    let alerts = selected(dashboard, &view.latest_alerts);
    let page = usize::from(area.height.saturating_sub(2));
    let first = dashboard.first_row(Focus::Alerts, alerts.len(), page);
    let rows: Vec<&SeenAlert> = alerts.iter().copied().skip(first).take(page).collect();
    let range = match rows.len() {
        0 => String::new(),
        n => format!(" {}–{} of {} ", first + 1, first + n, alerts.len()),
    };
    let look = dashboard.look;
    let titles = [alerts_title(dashboard, view), Line::styled(range, look.faint())];
    let inside = panel(frame, area, titles, look.faint());
    if rows.is_empty() {
        let words = if view.latest_alerts.is_empty() { "None so far." } else { "None match." };
        frame.render_widget(words, inside);
        return;
    }
    let table = alerts_table(dashboard, &rows, usize::from(inside.width));
    frame.render_widget(table, inside);
}

/// The alerts that match the filter, in the selected order.
fn selected<'v>(dashboard: &Dashboard, alerts: &'v [SeenAlert]) -> Vec<&'v SeenAlert> {
    let wanted = dashboard.filter.to_lowercase();
    let mut selected: Vec<&SeenAlert> =
        alerts.iter().rev().filter(|alert| matches(alert, &wanted)).collect();
    match dashboard.alert_order {
        AlertOrder::Newest => {}
        AlertOrder::Severity => {
            selected.sort_by_key(|alert| (alert.severity, Reverse(alert.number)))
        }
        AlertOrder::Rule => selected.sort_by_key(|alert| (&alert.rule, Reverse(alert.number))),
    }
    selected
}

/// Whether `wanted` occurs in the rule's name, its message, or an address with its port.
fn matches(alert: &SeenAlert, wanted: &str) -> bool {
    let ends = [(alert.src_ip, alert.src_port), (alert.dest_ip, alert.dest_port)];
    wanted.is_empty()
        || alert.rule.to_lowercase().contains(wanted)
        || alert.message.to_lowercase().contains(wanted)
        || ends.iter().any(|(ip, port)| endpoint(*ip, *port, usize::MAX).contains(wanted))
}

fn alerts_title(dashboard: &Dashboard, view: &View) -> Line<'static> {
    let look = dashboard.look;
    let order = match dashboard.alert_order {
        AlertOrder::Newest => "newest first",
        AlertOrder::Severity => "gravest first",
        AlertOrder::Rule => "by rule",
    };
    let focused = dashboard.focus == Focus::Alerts;
    let mut title = Line::from(vec![
        Span::styled(" Alerts ", look.title(focused)),
        Span::raw(format!(" {} in all, {order} ", grouped(view.alerts.total()))),
    ]);
    if dashboard.typing {
        title.push_span(Span::styled(format!(" /{}▏", dashboard.filter), look.notable()));
    } else if !dashboard.filter.is_empty() {
        title.push_span(Span::styled(format!(" /{} ", dashboard.filter), look.notable()));
    }
    title
}

/// Columns are as wide as their content; long addresses are shortened first.
fn alerts_table(dashboard: &Dashboard, rows: &[&SeenAlert], width: usize) -> Table<'static> {
    let widest = |of: &dyn Fn(&SeenAlert) -> usize, least: usize| {
        rows.iter().map(|alert| of(alert)).max().unwrap_or(0).max(least)
    };
    let full = |ip, port| endpoint(ip, port, usize::MAX).len();
    let rule = widest(&|alert| alert.rule.chars().count(), 4).min((width / 4).min(24));
    let count = widest(&|alert| count(alert).len(), 5);
    let src = widest(&|alert| full(alert.src_ip, alert.src_port), 6);
    let dst = widest(&|alert| full(alert.dest_ip, alert.dest_port), 11);
    let addresses = width.saturating_sub(TIME_WIDTH + SEVERITY_WIDTH + rule + count + 7);
    // The source port is arbitrary: it is omitted first.
    let has_source_ports = src + dst <= addresses;
    let src = if has_source_ports { src } else { widest(&|alert| address_width(alert.src_ip), 6) };
    let (src, dst) = share_width(addresses, src, dst);
    let source = |alert: &SeenAlert| match has_source_ports {
        true => endpoint(alert.src_ip, alert.src_port, src),
        false => address(alert.src_ip, src),
    };
    let message = addresses.saturating_sub(src + dst + 1);
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

/// The widths of two columns that would need `left` and `right`, in `width` together. If that is too
/// little, the right one keeps an IPv4 address with its port, and the left one two fifths.
fn share_width(width: usize, left: usize, right: usize) -> (usize, usize) {
    if left + right <= width {
        return (left, right);
    }
    let for_right = right.min("255.255.255.255:65535".len());
    let left = left.min(width.saturating_sub(for_right).max(width * 2 / 5));
    (left, right.min(width - left))
}

/// The busiest addresses, as estimated by the engine's sketch.
pub fn draw_talkers(
    dashboard: &mut Dashboard,
    frame: &mut Frame<'_>,
    area: Rect,
    which: Focus,
    view: &View,
) {
    let (name, talkers) = match which {
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
    let first = dashboard.first_row(which, talkers.len(), page);
    let look = dashboard.look;
    let title = Line::from(vec![
        Span::styled(name, look.title(dashboard.focus == which)),
        Span::raw(format!(" estimates, {order} ")),
    ]);
    let inside = panel(frame, area, [title, Line::default()], look.faint());
    if talkers.is_empty() {
        frame.render_widget("None so far.", inside);
    }
    for (talker, row) in talkers.into_iter().skip(first).zip(inside.rows()) {
        draw_talker(frame, row, talker, dashboard.talker_order);
    }
}

/// On a narrow screen only one of packets and bytes, the one sorted by.
fn draw_talker(frame: &mut Frame<'_>, row: Rect, talker: &TalkerView, order: TalkerOrder) {
    let (narrow, mut free) = (row.width < NARROW, FreeArea(row));
    if !narrow || order == TalkerOrder::Bytes {
        let size = free.right(BYTES_WIDTH);
        frame.render_widget(Line::raw(bytes(talker.bytes)).right_aligned(), size);
    }
    if !narrow || order == TalkerOrder::Packets {
        let packets = free.right(PACKETS_WIDTH);
        frame.render_widget(Line::raw(short(talker.packets as f64)).right_aligned(), packets);
    }
    frame.render_widget(address(talker.address, usize::from(free.0.width)), free.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_share_the_width() {
        assert_eq!(share_width(50, 20, 20), (20, 20));
        assert_eq!(share_width(40, 10, 47), (10, 30));
        assert_eq!(share_width(40, 47, 10), (30, 10));
        assert_eq!(share_width(40, 47, 47), (19, 21));
        assert_eq!(share_width(20, 15, 19), (8, 12));
        assert_eq!(share_width(0, 1, 1), (0, 0));
    }
}
