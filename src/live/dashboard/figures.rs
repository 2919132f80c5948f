//! The panels of figures: traffic with plots of the last minutes, flows into states, the store.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::Sparkline;

use super::layout::{FIGURE_LINES, FreeArea, panel};
use super::style::{Look, cut, percentage, printable, ratio, short};
use crate::live::{DropCounts, History, Sample, StoreView, View};
use crate::report::format::{bar, bytes};

/// The time that a plot covers at least, however narrow.
const PLOT_SECONDS: usize = 120;
const LABEL_WIDTH: u16 = 9;
const FIGURE_WIDTH: u16 = 7;
const NAME_CHARS_MAX: usize = 16;
const RATE_CHARS: usize = 6;
const BAR_COLUMNS: usize = 11;
/// From this width on nothing is abbreviated.
const STORE_WIDTH_FULL: u16 = 38;

/// A line of the traffic panel: a label, a figure, and a plot of its history.
struct Row<'a> {
    label: &'a str,
    figure: String,
    plotted: fn(&Sample) -> f64,
}

pub fn draw_traffic(look: Look, frame: &mut Frame<'_>, area: Rect, view: &View, history: &History) {
    let plot_width = area.width.saturating_sub(LABEL_WIDTH + FIGURE_WIDTH + 3);
    let minutes = seconds_per_column(plot_width) * usize::from(plot_width) / 60;
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
            plotted: |sample| sample.packets_per_second,
        },
        Row {
            label: "bits/s",
            figure: short(rate(|sample| 8.0 * sample.bytes_per_second)),
            plotted: |sample| sample.bytes_per_second,
        },
        Row { label: "TCP", figure: percentage(rate(tcp)), plotted: tcp },
        Row {
            label: "alerts/s",
            figure: short(rate(|sample| sample.alerts_per_second)),
            plotted: |sample| sample.alerts_per_second,
        },
    ];
    // Spare lines make the first two plots higher.
    let spare = inside.height.saturating_sub(FIGURE_LINES);
    let heights = [1 + spare.div_ceil(2), 1 + spare / 2, 1, 1];
    let mut free = FreeArea(inside);
    for (row, height) in rows.into_iter().zip(heights) {
        draw_row(look, frame, free.top(height), &row, history);
    }
    let drops = free.top(1);
    frame.render_widget(
        drops_line(look, view, rate(|sample| sample.drops_per_second), drops.width),
        drops,
    );
}

fn draw_row(look: Look, frame: &mut Frame<'_>, line: Rect, row: &Row<'_>, history: &History) {
    let mut free = FreeArea(line);
    let label = free.left(LABEL_WIDTH + 1);
    let figure = free.left(FIGURE_WIDTH);
    free.left(1);
    free.right(1);
    frame.render_widget(row.label, label);
    frame.render_widget(Line::styled(row.figure.as_str(), look.figure()).right_aligned(), figure);
    draw_plot(look, frame, free.0, history, &row.plotted);
}

/// The rate of dropped packets, red unless 0; and their total since the start, by reason if that fits.
fn drops_line(look: Look, view: &View, per_second: f64, width: u16) -> Line<'static> {
    let DropCounts { kernel, interface } = view.drops;
    let by_reason = [("kernel", kernel), ("iface", interface)].into_iter();
    let by_reason = by_reason.filter(|(_, count)| *count > 0);
    let by_reason = by_reason.map(|(reason, count)| format!("{reason} {}", short(count as f64)));
    let total = match (view.drops.total(), width < 40) {
        (0, _) => " (none)".to_owned(),
        (all, true) => format!(" ({} ever)", short(all as f64)),
        (_, false) => format!(" ({})", by_reason.collect::<Vec<_>>().join(", ")),
    };
    let style = if per_second > 0.0 { look.bad() } else { look.figure() };
    let (label, figure) = (usize::from(LABEL_WIDTH) + 1, usize::from(FIGURE_WIDTH));
    Line::from(vec![
        Span::raw(format!("{:<label$}", "drops/s")),
        Span::styled(format!("{:>figure$}", short(per_second)), style),
        Span::raw(total),
    ])
}

/// The number of seconds per column of a plot.
fn seconds_per_column(width: u16) -> usize {
    PLOT_SECONDS.div_ceil(usize::from(width).max(1))
}

/// Plots `value` of each sample, the latest at the right.
fn draw_plot(
    look: Look,
    frame: &mut Frame<'_>,
    area: Rect,
    history: &History,
    value: &dyn Fn(&Sample) -> f64,
) {
    let columns = columns(history, area.width, value);
    frame.render_widget(Sparkline::default().data(columns).style(look.plot()), area);
}

/// The height of each column, in thousandths of the highest. A column shows the maximum of its seconds, so
/// that peaks stay visible; columns are aligned to the run's uptime, so that they keep their shape as they
/// move left.
fn columns(history: &History, width: u16, value: &dyn Fn(&Sample) -> f64) -> Vec<u64> {
    let (width, seconds) = (usize::from(width), seconds_per_column(width));
    let column_of = |sample: &Sample| sample.uptime_seconds.max(0.0) as usize / seconds;
    let Some(last) = history.samples().next_back().map(column_of) else { return vec![] };
    let mut columns = vec![0.0_f64; width];
    for sample in history.samples() {
        let from_right = last.saturating_sub(column_of(sample));
        let column = width.checked_sub(1 + from_right).and_then(|at| columns.get_mut(at));
        if let Some(column) = column {
            *column = column.max(value(sample));
        }
    }
    let highest = columns.iter().copied().fold(0.0, f64::max);
    columns.into_iter().map(|height| (1000.0 * ratio(height, highest)).ceil() as u64).collect()
}

/// A state's name, its index among the states, and its rate.
type Rate = (String, usize, f64);

pub fn draw_states(look: Look, frame: &mut Frame<'_>, area: Rect, view: &View, history: &History) {
    let title = Span::styled(" Flows into states, per second ", look.title(false));
    let inside = panel(frame, area, [title.into(), Line::default()], look.faint());
    let now = history.samples().next_back();
    let rates: Vec<Rate> = view
        .entered
        .iter()
        .enumerate()
        .map(|(index, (name, _))| {
            let rate = now.and_then(|now| now.entered_per_second.get(index)).copied();
            (cut(&printable(name), NAME_CHARS_MAX), index, rate.unwrap_or(0.0))
        })
        .collect();
    // If there are enough lines for one per state, it is a list with plots.
    match inside.height > 2 {
        true => state_list(look, frame, inside, &rates, history),
        false => state_grid(look, frame, inside, rates),
    }
}

fn name_width(rates: &[Rate]) -> usize {
    rates.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0)
}

/// In the order of the rules, which follows the life of a connection.
fn state_list(look: Look, frame: &mut Frame<'_>, area: Rect, rates: &[Rate], history: &History) {
    let width = name_width(rates);
    for ((name, index, rate), row) in rates.iter().zip(area.rows()) {
        let mut free = FreeArea(row);
        let text = free.left((width + RATE_CHARS + 2) as u16);
        frame.render_widget(state_cell(look, name, width, *rate), text);
        let rate = |sample: &Sample| sample.entered_per_second.get(*index).copied().unwrap_or(0.0);
        draw_plot(look, frame, free.0, history, &rate);
    }
}

/// In as many columns as fit; if not all states fit, the busiest are shown.
fn state_grid(look: Look, frame: &mut Frame<'_>, area: Rect, mut rates: Vec<Rate>) {
    let width = name_width(&rates);
    let cell_width = width + RATE_CHARS + 2;
    let columns = ((usize::from(area.width) + 1) / cell_width).max(1);
    let cells = columns * usize::from(area.height);
    if rates.len() > cells {
        rates.sort_by(|a, b| b.2.total_cmp(&a.2));
        rates.truncate(cells);
        rates.sort_by_key(|(_, index, _)| *index);
    }
    for (cells, row) in rates.chunks(columns).zip(area.rows()) {
        let mut line = Line::default();
        for (name, _, rate) in cells {
            line.extend(state_cell(look, name, width, *rate));
            line.push_span(Span::raw(" "));
        }
        frame.render_widget(line, row);
    }
}

fn state_cell(look: Look, name: &str, width: usize, rate: f64) -> Line<'static> {
    Line::from(vec![
        Span::raw(format!("{name:<width$} ")),
        Span::styled(format!("{:>RATE_CHARS$}", short(rate)), look.figure()),
    ])
}

pub fn draw_store(look: Look, frame: &mut Frame<'_>, area: Rect, view: &View, history: &History) {
    let store = &view.store;
    let title = Span::styled(" Store ", look.title(false));
    let kind = Line::styled(
        format!(" {}, {} ", store.backend.name(), bytes(store.bits / 8)),
        look.faint(),
    );
    let inside = panel(frame, area, [title.into(), kind], look.faint());
    let is_wide = inside.width >= STORE_WIDTH_FULL;
    let (inserted, deleted) = (short(store.inserted as f64), short(store.deleted as f64));
    let changes = if is_wide { format!("{inserted}, deleted {deleted}") } else { inserted };
    let lines = [
        live_flows(look, store, is_wide),
        fill(look, store),
        store_line("error now", error(view, is_wide), look.figure()),
        store_line("don't know", dont_know(view, history, is_wide), look.figure()),
        store_line("inserted", changes, look.figure()),
    ];
    frame.render_widget(Text::from(Vec::from(lines)), inside);
}

fn store_line(label: &'static str, figure: String, style: Style) -> Line<'static> {
    Line::from(vec![Span::raw(format!("{label:<11}")), Span::styled(figure, style)])
}

/// Live flows, red if they are too many.
fn live_flows(look: Look, store: &StoreView, is_wide: bool) -> Line<'static> {
    let style = if store.is_overloaded() { look.bad() } else { look.figure() };
    let live = short(store.live_flows as f64);
    let Some(planned) = store.planned_flows() else { return store_line("flows", live, style) };
    let planned = short(planned as f64);
    match (store.live_estimated, is_wide) {
        (false, _) => store_line("flows", format!("{live} of {planned}"), style),
        (true, true) => store_line("flows", format!("~{live} of {planned}, estimated"), style),
        (true, false) => store_line("flows est.", format!("~{live} of {planned}"), style),
    }
}

fn fill(look: Look, store: &StoreView) -> Line<'static> {
    let bar = bar(store.fill_ratio, 1.0, BAR_COLUMNS).to_string();
    Line::from(vec![
        Span::raw(format!("{:<11}", "fill")),
        Span::styled(format!("{:<7} ", percentage(store.fill_ratio)), look.figure()),
        Span::styled(format!("{bar:·<BAR_COLUMNS$}"), look.plot()),
    ])
}

/// The measured error; the predicted one, where too few flows are sampled.
fn error(view: &View, is_wide: bool) -> String {
    let figure = |error: f64| match error > 0.0 {
        true => format!("{error:.1e}"),
        false => "none".to_owned(),
    };
    match view.error.measured.filter(|measured| !measured.is_thin()) {
        None => format!("{} predicted", figure(view.store.predicted_error.value())),
        Some(measured) => {
            let (now, worst) = (figure(measured.rate()), figure(measured.worst));
            match is_wide {
                true => format!("{now} measured, worst {worst}"),
                false => format!("{now}, worst {worst}"),
            }
        }
    }
}

/// The fraction of lookups without a definite answer: of the last second, which has one lookup per TCP
/// packet, and of the whole run.
fn dont_know(view: &View, history: &History, is_wide: bool) -> String {
    let now = history.samples().next_back();
    let now = now.map_or(0.0, |now| ratio(now.dont_know_per_second, now.tcp_packets_per_second));
    let ever = ratio(view.lookups.dont_know as f64, view.lookups.total() as f64);
    match is_wide {
        true => format!("{} now, {} in all", percentage(now), percentage(ever)),
        false => format!("{} of lookups", percentage(now)),
    }
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
            predicted_error: 0.0.into(),
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
        // Five seconds per column: seconds 60 to 64 are the last, 30 to 34 the seventh from the right.
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
