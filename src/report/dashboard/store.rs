//! The store: how many flows, how full, how often it errs.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span, Text};

use super::Look;
use super::fit::{share, short};
use super::screen::panel;
use super::traffic::ratio;
use crate::report::format::{bar, bytes};
use crate::report::live::{History, StoreView, View, count, total};

/// Estimates of flows alive are good to some percent: no alarm below that.
const TOLERATED: f64 = 1.05;
const BAR_COLUMNS: usize = 11;
/// From this width on nothing is abbreviated.
const ROOMY: u16 = 38;

pub fn draw(look: Look, frame: &mut Frame<'_>, area: Rect, view: &View, history: &History) {
    let store = &view.store;
    let title = Span::styled(" Store ", look.title(false));
    let kind =
        Line::styled(format!(" {}, {} ", store.backend, bytes(store.bits / 8)), look.faint());
    let inside = panel(frame, area, [title.into(), kind], look.faint());
    let room_for_words = inside.width >= ROOMY;
    let (inserted, deleted) = (short(store.inserted as f64), short(store.deleted as f64));
    let changes = if room_for_words { format!("{inserted}, deleted {deleted}") } else { inserted };
    let lines = [
        flows(look, store, room_for_words),
        fill(look, store),
        line("error now", format!("{} predicted", error(store)), look.figure()),
        line("don't know", dont_know(view, history, room_for_words), look.figure()),
        line("inserted", changes, look.figure()),
    ];
    frame.render_widget(Text::from(Vec::from(lines)), inside);
}

fn line(label: &'static str, figure: String, style: Style) -> Line<'static> {
    Line::from(vec![Span::raw(format!("{label:<11}")), Span::styled(figure, style)])
}

/// Whether there are more flows than it was made for; `exact` takes any number.
pub fn is_crowded(store: &StoreView) -> bool {
    store.backend != "exact" && store.live_flows as f64 > TOLERATED * store.flows as f64
}

/// The word is spelt out where it has room.
fn flows(look: Look, store: &StoreView, room_for_words: bool) -> Line<'static> {
    let style = if is_crowded(store) { look.bad() } else { look.figure() };
    let (live, made_for) = (short(store.live_flows as f64), short(store.flows as f64));
    match (store.backend, store.live_estimated) {
        ("exact", _) => line("flows", live, style),
        (_, false) => line("flows", format!("{live} of {made_for}"), style),
        (_, true) if room_for_words => {
            line("flows", format!("~{live} of {made_for}, estimated"), style)
        }
        (_, true) => line("flows est.", format!("~{live} of {made_for}"), style),
    }
}

fn fill(look: Look, store: &StoreView) -> Line<'static> {
    let bar = bar(store.fill_ratio, 1.0, BAR_COLUMNS).to_string();
    Line::from(vec![
        Span::raw(format!("{:<11}", "fill")),
        Span::styled(format!("{:<7} ", share(store.fill_ratio)), look.figure()),
        Span::styled(format!("{bar:·<BAR_COLUMNS$}"), look.plot()),
    ])
}

fn error(store: &StoreView) -> String {
    match store.predicted_error {
        error if error > 0.0 => format!("{error:.1e}"),
        _ => "none".to_owned(),
    }
}

/// Of the last second's lookups, which are one a TCP packet; and of all.
fn dont_know(view: &View, history: &History, room_for_words: bool) -> String {
    let now = history.samples().next_back();
    let now = now.map_or(0.0, |now| ratio(now.dont_know_per_second, now.tcp_packets_per_second));
    let ever = ratio(count(&view.lookups, "dont_know") as f64, total(&view.lookups) as f64);
    match room_for_words {
        true => format!("{} now, {} in all", share(now), share(ever)),
        false => format!("{} of lookups", share(now)),
    }
}
