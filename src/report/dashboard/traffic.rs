//! Rates of the last second, and how they moved in the last minutes.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Sparkline;

use super::Look;
use super::fit::{share, short};
use super::layout::{FIGURE_LINES, Room};
use super::screen::panel;
use crate::report::live::{History, Sample, View};

/// Plots reach back at least so far, however narrow.
const PLOT_SECONDS: usize = 120;
const LABEL_WIDTH: u16 = 9;
const FIGURE_WIDTH: u16 = 7;

/// A line of the panel: a label, a figure, and how it moved.
struct Row<'a> {
    label: &'a str,
    figure: String,
    of: fn(&Sample) -> f64,
}

pub fn draw(look: Look, frame: &mut Frame<'_>, area: Rect, view: &View, history: &History) {
    let plot_width = area.width.saturating_sub(LABEL_WIDTH + FIGURE_WIDTH + 3);
    let minutes = plot_seconds(plot_width) * usize::from(plot_width) / 60;
    let title = Span::styled(" Traffic ", look.title(false));
    let span = Line::styled(format!(" {minutes} min "), look.faint());
    let inside = panel(frame, area, [title.into(), span], look.faint());
    let now = history.samples().next_back();
    let rate = |of: fn(&Sample) -> f64| now.map_or(0.0, of);
    let tcp: fn(&Sample) -> f64 =
        |sample| ratio(sample.tcp_packets_per_second, sample.packets_per_second);
    let rows = [
        Row {
            label: "packets/s",
            figure: short(rate(|sample| sample.packets_per_second)),
            of: |sample| sample.packets_per_second,
        },
        Row {
            label: "bits/s",
            figure: short(rate(|sample| 8.0 * sample.bytes_per_second)),
            of: |sample| sample.bytes_per_second,
        },
        Row { label: "TCP", figure: share(rate(tcp)), of: tcp },
        Row {
            label: "alerts/s",
            figure: short(rate(|sample| sample.alerts_per_second)),
            of: |sample| sample.alerts_per_second,
        },
    ];
    // What is spare makes the first two plots higher.
    let spare = inside.height.saturating_sub(FIGURE_LINES);
    let heights = [1 + spare.div_ceil(2), 1 + spare / 2, 1, 1];
    let mut room = Room(inside);
    for (row, height) in rows.into_iter().zip(heights) {
        draw_row(look, frame, room.top(height), &row, history);
    }
    let drops = room.top(1);
    frame.render_widget(
        drops_line(look, view, rate(|sample| sample.drops_per_second), drops.width),
        drops,
    );
}

pub fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn draw_row(look: Look, frame: &mut Frame<'_>, line: Rect, row: &Row<'_>, history: &History) {
    let mut room = Room(line);
    let label = room.left(LABEL_WIDTH + 1);
    let figure = room.left(FIGURE_WIDTH);
    room.left(1);
    room.right(1);
    frame.render_widget(row.label, label);
    frame.render_widget(Line::styled(row.figure.as_str(), look.figure()).right_aligned(), figure);
    draw_plot(look, frame, room.0, history, &row.of);
}

/// Red while packets are being lost; since the start by whom, where there is room.
fn drops_line(look: Look, view: &View, per_second: f64, width: u16) -> Line<'static> {
    let lost = view.drops.iter().map(|(who, n)| (who.as_str(), n.as_f64().unwrap_or(0.0)));
    let all: f64 = lost.clone().map(|(_, count)| count).sum();
    let by_whom = lost.filter(|(_, count)| *count > 0.0).map(|(who, count)| {
        format!("{} {}", if who == "interface" { "iface" } else { who }, short(count))
    });
    let lost = match (all > 0.0, width < 40) {
        (false, _) => " (none)".to_owned(),
        (true, true) => format!(" ({} ever)", short(all)),
        (true, false) => format!(" ({})", by_whom.collect::<Vec<_>>().join(", ")),
    };
    let style = if per_second > 0.0 { look.bad() } else { look.figure() };
    let (label, figure) = (usize::from(LABEL_WIDTH) + 1, usize::from(FIGURE_WIDTH));
    Line::from(vec![
        Span::raw(format!("{:<label$}", "drops/s")),
        Span::styled(format!("{:>figure$}", short(per_second)), style),
        Span::raw(lost),
    ])
}

/// How many seconds a column of a plot stands for.
fn plot_seconds(width: u16) -> usize {
    PLOT_SECONDS.div_ceil(usize::from(width).max(1))
}

/// Plots `of` each sample, the latest at the right.
pub fn draw_plot(
    look: Look,
    frame: &mut Frame<'_>,
    area: Rect,
    history: &History,
    of: &dyn Fn(&Sample) -> f64,
) {
    let columns = columns(history, area.width, of);
    frame.render_widget(Sparkline::default().data(columns).style(look.plot()), area);
}

/// A height a column, in thousandths of the highest. A column shows the highest of its seconds, so that a
/// peak stays a peak; and goes by the run's own seconds, so that it does not change shape as it moves.
fn columns(history: &History, width: u16, of: &dyn Fn(&Sample) -> f64) -> Vec<u64> {
    let (width, seconds) = (usize::from(width), plot_seconds(width));
    let column_of = |sample: &Sample| sample.uptime_seconds.max(0.0) as usize / seconds;
    let Some(last) = history.samples().next_back().map(column_of) else { return vec![] };
    let mut columns = vec![0.0_f64; width];
    for sample in history.samples() {
        let from_right = last.saturating_sub(column_of(sample));
        let column = width.checked_sub(1 + from_right).and_then(|at| columns.get_mut(at));
        if let Some(column) = column {
            *column = column.max(of(sample));
        }
    }
    let highest = columns.iter().copied().fold(0.0, f64::max);
    columns.into_iter().map(|value| (1000.0 * ratio(value, highest)).ceil() as u64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(second: u32, packets: f64) -> Sample {
        Sample {
            uptime_seconds: f64::from(second) + 0.01,
            packets_per_second: packets,
            tcp_packets_per_second: 0.0,
            bytes_per_second: 0.0,
            drops_per_second: 0.0,
            alerts_per_second: 0.0,
            dont_know_per_second: 0.0,
            entered_per_second: vec![],
            live_flows: 0,
            fill_ratio: 0.0,
            predicted_error: 0.0,
        }
    }

    #[test]
    fn columns_keep_their_peaks_as_they_move() {
        let mut history = History::default();
        let packets = |sample: &Sample| sample.packets_per_second;
        assert!(columns(&history, 24, &packets).is_empty());
        for second in 1..=60 {
            history.add(sample(second, if second == 31 { 100.0 } else { 10.0 }));
        }
        // Five seconds a column: seconds 60 to 64 are the last, 30 to 34 the seventh from the right.
        let shown = columns(&history, 24, &packets);
        assert_eq!(shown.len(), 24);
        assert_eq!(shown[24 - 7], 1000);
        assert!(shown[24 - 6..].iter().all(|height| *height == 100));
        (61..=64).for_each(|second| history.add(sample(second, 10.0)));
        assert_eq!(columns(&history, 24, &packets), shown);
        history.add(sample(65, 10.0));
        assert_eq!(columns(&history, 24, &packets)[..23], shown[1..]);
    }

    #[test]
    fn a_plot_without_width_is_nothing() {
        let mut history = History::default();
        history.add(sample(1, 1.0));
        assert!(columns(&history, 0, &|_| 1.0).is_empty());
    }
}
