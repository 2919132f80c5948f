//! A figure as SVG text.

use std::fmt::Write as _;

use super::Figure;
use super::axis::{Axis, Projection};
use super::series::{Bound, Point, Series, vertices};
use super::style::{self, SWATCH, SeriesStyle, dashes, swatch};
use crate::report::escape::Escaped;

/// What the SVG is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Embedding {
    /// A page, which has the style sheet and the legend.
    Inline,
    /// A separate file.
    Document,
}

/// Series with more points get a marker on a sample of them only.
const MARKED_POINTS_MAX: usize = 14;
/// About how many markers then.
const MARKED_SAMPLE: usize = 7;
/// Distance of the outermost values from the frame, so that markers stay within it.
const INSET: f64 = 11.0;
const LINE_HEIGHT: f64 = 18.0;
/// Width of a letter: an upper estimate, since the renderer's font is unknown.
const LETTER: f64 = 7.2;

/// The plot area and the projections of both axes onto it.
struct Canvas<'a> {
    figure: &'a Figure,
    out: String,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x: Projection,
    y: Projection,
    /// Horizontal offset between neighbouring series at the same x.
    step: f64,
}

pub(super) fn svg(figure: &Figure, embedding: Embedding) -> String {
    let (width, height) = (figure.size.0.clamp(120, 4096), figure.size.1.clamp(120, 4096));
    let id = Escaped(&figure.id);
    let mut head = String::new();
    let xmlns = match embedding {
        Embedding::Inline => "",
        Embedding::Document => " xmlns=\"http://www.w3.org/2000/svg\"",
    };
    let size = match embedding {
        Embedding::Inline => String::new(),
        Embedding::Document => format!(" width=\"{width}\" height=\"{height}\""),
    };
    put(
        &mut head,
        format_args!(
            "<svg{xmlns} class=\"plot\" viewBox=\"0 0 {width} {height}\"{size} role=\"img\" \
             aria-labelledby=\"{id}-title\" aria-describedby=\"{id}-desc\">\
             <title id=\"{id}-title\">{}</title><desc id=\"{id}-desc\">{}</desc>",
            Escaped(&figure.title),
            Escaped(&figure.description)
        ),
    );
    if embedding == Embedding::Document {
        let background = style::base("paper");
        put(
            &mut head,
            format_args!(
                "<style>{}</style><rect class=\"paper\" width=\"100%\" height=\"100%\" fill=\"{background}\"/>",
                style::css()
            ),
        );
    }
    let mut canvas = Canvas::new(figure, embedding, head, (f64::from(width), f64::from(height)));
    canvas.axes();
    for (index, series) in figure.series.iter().enumerate() {
        canvas.series(index, series);
    }
    canvas.out.push_str("</svg>");
    canvas.out
}

/// Writing to a `String` cannot fail.
fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

impl<'a> Canvas<'a> {
    /// Writes heading and legend; the axes get the remaining area.
    fn new(
        figure: &'a Figure,
        embedding: Embedding,
        mut out: String,
        (width, height): (f64, f64),
    ) -> Self {
        let mut top = 4.0;
        for line in wrapped(&figure.title, ((width - 16.0) / (LETTER * 1.35)) as usize) {
            top += LINE_HEIGHT;
            text(&mut out, "heading", (8.0, top - 4.0), "start", &line);
        }
        if embedding == Embedding::Document {
            top = legend_rows(&mut out, figure, width, top + 4.0);
        }
        if !figure.y_axis.label.is_empty() {
            top += LINE_HEIGHT;
            text(&mut out, "unit", (8.0, top - 4.0), "start", &figure.y_axis.label);
        }
        let (top, bottom, right) = (top + 6.0, height - 42.0, width - 8.0);
        let values = |of: fn(&Point) -> [f64; 3]| {
            figure.series.iter().flat_map(|series| &series.points).flat_map(of)
        };
        let x_range = range(&figure.x_axis, values(|point| [point.x; 3]));
        let y_range = range(&figure.y_axis, values(y_values));
        let y = Projection::new(&figure.y_axis, y_range, bottom - INSET, top + INSET);
        let ticks = y.ticks(rows(top, bottom));
        let widest = ticks.iter().map(|tick| tick.label.chars().count()).max().unwrap_or(0);
        let left = 14.0 + (widest as f64 * 6.6).clamp(14.0, 90.0);
        let (step, aside) = side_by_side(figure, (right - left) * 0.6);
        let (first, last) = (left + INSET + aside, right - INSET - aside);
        let x = Projection::new(&figure.x_axis, x_range, first, last);
        Canvas { figure, out, left, right, top, bottom, x, y, step }
    }

    /// Grid, frame, ticks and labels.
    fn axes(&mut self) {
        let &mut Canvas { left, right, top, bottom, .. } = self;
        let (grid, faint) = (style::base("grid"), style::base("faint"));
        let mut lines = String::new();
        let y_ticks: Vec<_> = self
            .y
            .ticks(rows(top, bottom))
            .into_iter()
            .map(|t| (self.y.position(t.value), t))
            .collect();
        for (y, tick) in y_ticks {
            put(&mut lines, format_args!("M{left:.1} {y:.1}H{right:.1}"));
            text(&mut self.out, "tick", (left - 7.0, y + 4.2), "end", &tick.label);
        }
        let wanted = ((right - left) / 52.0).max(2.0) as usize;
        let x_ticks: Vec<_> =
            self.x.ticks(wanted).into_iter().map(|t| (self.x.position(t.value), t)).collect();
        for (x, tick) in x_ticks {
            put(&mut lines, format_args!("M{x:.1} {top:.1}V{bottom:.1}"));
            let half = tick.label.chars().count() as f64 * 3.9;
            let at = x.clamp(half, (right + 8.0 - half).max(half));
            text(&mut self.out, "tick", (at, bottom + 17.0), "middle", &tick.label);
        }
        let middle = (left + right) / 2.0;
        text(&mut self.out, "unit", (middle, bottom + 35.0), "middle", &self.figure.x_axis.label);
        put(
            &mut self.out,
            format_args!(
                "<path class=\"grid\" d=\"{lines}\" stroke=\"{grid}\" fill=\"none\"/>\
                 <path class=\"axis\" d=\"M{left:.1} {top:.1}V{bottom:.1}H{right:.1}\" \
                 stroke=\"{faint}\" fill=\"none\"/>"
            ),
        );
    }

    /// Draws the intervals, then the line, then the markers on top.
    fn series(&mut self, index: usize, series: &Series) {
        let SeriesStyle { class, colour, dash, marker } = SeriesStyle::of(series.style);
        let shift = self.shift(index);
        put(
            &mut self.out,
            format_args!(
                "<g class=\"series look-{class}\" color=\"{colour}\" data-series=\"{}\">",
                Escaped(&series.name)
            ),
        );
        let (seen, unseen) = self.line(series, shift);
        for (d, style) in [
            (self.whiskers(series, shift), " stroke-width=\"1.2\" opacity=\"0.65\"".to_owned()),
            (unseen, " stroke-width=\"1.4\" stroke-dasharray=\"1 4\" opacity=\"0.75\"".to_owned()),
            (seen, format!(" stroke-width=\"1.8\" stroke-linejoin=\"round\"{}", dashes(dash))),
        ] {
            if !d.is_empty() {
                put(
                    &mut self.out,
                    format_args!("<path d=\"{d}\" stroke=\"currentColor\" fill=\"none\"{style}/>"),
                );
            }
        }
        if !marker.is_empty() {
            self.markers(series, index, shift);
        }
        self.out.push_str("</g>");
    }

    /// Horizontal offset of a series: those at the same x are centred on it.
    fn shift(&self, index: usize) -> f64 {
        (index as f64 - (self.figure.series.len() as f64 - 1.0) / 2.0) * self.step
    }

    fn can_show(&self, point: &Point) -> bool {
        self.figure.x_axis.can_show(point.x) && self.figure.y_axis.can_show(point.y)
    }

    /// Two paths: between measurements, and to and from upper bounds.
    fn line(&self, series: &Series, shift: f64) -> (String, String) {
        let (mut seen, mut unseen) = (String::new(), String::new());
        let mut before: Option<(f64, f64, bool)> = None;
        for vertex in vertices(&series.points, |point| self.can_show(point)) {
            let here =
                vertex.map(|v| (self.x.position(v.x) + shift, self.y.position(v.y), v.none_seen));
            if let (Some((x0, y0, none0)), Some((x, y, none))) = (before, here) {
                let path = if none0 || none { &mut unseen } else { &mut seen };
                // A continued path keeps its dash pattern.
                if !path.ends_with(&format!("L{x0:.1} {y0:.1}")) {
                    put(path, format_args!("M{x0:.1} {y0:.1}"));
                }
                put(path, format_args!("L{x:.1} {y:.1}"));
            }
            before = here;
        }
        (seen, unseen)
    }

    fn whiskers(&self, series: &Series, shift: f64) -> String {
        let mut path = String::new();
        for point in series.points.iter().filter(|point| self.can_show(point)) {
            let Some([low, high]) = point.interval.filter(|_| point.bound != Bound::Y) else {
                continue;
            };
            let (x, low, high) =
                (self.x.position(point.x) + shift, self.y.position(low), self.y.position(high));
            let (a, b) = (x - 2.5, x + 2.5);
            put(
                &mut path,
                format_args!(
                    "M{x:.1} {low:.1}V{high:.1}M{a:.1} {low:.1}H{b:.1}M{a:.1} {high:.1}H{b:.1}"
                ),
            );
        }
        path
    }

    fn markers(&mut self, series: &Series, index: usize, shift: f64) {
        let marks = match series.points.len() {
            many if many > MARKED_POINTS_MAX => many.div_ceil(MARKED_SAMPLE),
            _ => 1,
        };
        for (at, point) in series.points.iter().enumerate() {
            // Each series starts at another point, so that markers do not hide each other.
            if !self.can_show(point) || at % marks != (index * 5 + 1) % marks {
                continue;
            }
            let (x, y) = (self.x.position(point.x) + shift, self.y.position(point.y));
            let marker = SeriesStyle::of(series.style).marker;
            put(
                &mut self.out,
                format_args!(
                    "<g class=\"mark\" data-x=\"{}\" data-y=\"{}\" transform=\"translate({x:.1} {y:.1})\"",
                    point.x, point.y
                ),
            );
            let note = match point.note.as_str() {
                "" => String::new(),
                note => format!("<title>{}</title>", Escaped(note)),
            };
            let arrow = self.arrow(point.bound);
            match point.bound {
                Bound::None => put(
                    &mut self.out,
                    format_args!(">{note}<path d=\"{marker}\" fill=\"currentColor\"/></g>"),
                ),
                Bound::X | Bound::Y => put(
                    &mut self.out,
                    format_args!(
                        " data-bound=\"at most\">{note}<path class=\"hollow\" d=\"{marker}\" \
                         fill=\"{}\" stroke=\"currentColor\" stroke-width=\"1.3\"/><path d=\"{arrow}\" \
                         fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.3\"/></g>",
                        style::base("paper")
                    ),
                ),
            }
        }
    }

    /// The arrow from a marker towards the values below its bound.
    fn arrow(&self, bound: Bound) -> &'static str {
        match bound {
            Bound::None => "",
            Bound::Y => "M0 6V13M-2.8 10L0 13L2.8 10",
            Bound::X if self.figure.x_axis.falling => "M6 0H13M10 -2.8L13 0L10 2.8",
            Bound::X => "M-6 0H-13M-10 -2.8L-13 0L-10 2.8",
        }
    }
}

/// The offset between series at the same x in a plot of this width, and that of the outermost: the
/// space between two values of x is shared.
fn side_by_side(figure: &Figure, width: f64) -> (f64, f64) {
    if !figure.side_by_side || figure.series.len() < 2 {
        return (0.0, 0.0);
    }
    let mut xs: Vec<f64> = figure.series.iter().flat_map(|s| &s.points).map(|p| p.x).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let (values, count) = (xs.len().max(1) as f64, figure.series.len() as f64);
    let step = (width / values / count).min(6.0);
    (step, step * (count - 1.0) / 2.0)
}

/// How many ticks fit on the vertical axis.
fn rows(top: f64, bottom: f64) -> usize {
    ((bottom - top) / 20.0).max(2.0) as usize
}

fn range(axis: &Axis, values: impl Iterator<Item = f64>) -> [f64; 2] {
    let wanted =
        axis.range.filter(|[low, high]| low < high && axis.can_show(*low) && axis.can_show(*high));
    wanted.unwrap_or_else(|| axis.range_of(values))
}

/// The values that the vertical axis must include.
fn y_values(point: &Point) -> [f64; 3] {
    let [low, high] = point.interval.unwrap_or([point.y; 2]);
    // An interval that reaches almost to zero must not compress everything else.
    [point.y, low.max(point.y / 3.0), high]
}

fn text(out: &mut String, class: &str, (x, y): (f64, f64), anchor: &str, words: &str) {
    let fill = style::base(if class == "heading" { "ink" } else { "faint" });
    put(
        out,
        format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{fill}\">{}</text>",
            Escaped(words)
        ),
    );
}

/// Writes the legend of a document in as many rows as it takes; returns its lower edge.
fn legend_rows(out: &mut String, figure: &Figure, width: f64, mut top: f64) -> f64 {
    let (mut x, mut row) = (8.0, top + LINE_HEIGHT);
    for series in &figure.series {
        let wide = f64::from(SWATCH) + 8.0 + series.name.chars().count() as f64 * LETTER + 14.0;
        if x > 8.0 && x + wide > width {
            (x, row) = (8.0, row + LINE_HEIGHT);
        }
        out.push_str(&swatch(series.style, x, row - 9.0));
        let at = (x + f64::from(SWATCH) + 6.0, row - 5.0);
        text(out, "name", at, "start", &series.name);
        (x, top) = (x + wide, row);
    }
    top + 4.0
}

/// `words` in at most three lines of at most `letters` characters.
fn wrapped(words: &str, letters: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for word in words.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < letters => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.truncate(3);
    lines
}
