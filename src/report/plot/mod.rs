//! Figures as SVG: lines with markers over linear, logarithmic and time axes.
//!
//! A [`Figure`] describes the plot; [`Figure::inline`] gives an `<svg>` element for a page that
//! contains [`css`] and shows the [`legend()`] itself, [`Figure::document`] a complete file.
//!
//! ```
//! use acsm::report::plot::{Axis, Figure, Point, Scale, Series};
//!
//! let figure = Figure {
//!     title: "Error against memory".into(),
//!     description: "The error falls from 0.01 at 14 bits per flow; at 24 bits none was seen.".into(),
//!     x_axis: Axis::new("bits per flow", Scale::Log),
//!     y_axis: Axis::new("errors per lookup", Scale::Log),
//!     series: vec![Series::new("measured", 0, vec![
//!         Point::at(14.0, 1e-2).between(0.9e-2, 1.2e-2),
//!         Point::at(19.5, 1e-3),
//!         Point::at(24.0, 3e-6).at_most(),
//!     ])],
//!     ..Figure::default()
//! };
//! assert!(figure.document().starts_with("<svg xmlns="));
//! ```
//!
//! | file | what |
//! |---|---|
//! | `series` | series, points, the line through repeated measurements |
//! | `axis`, `ticks` | ranges and positions on an axis; tick marks and their labels |
//! | [`style`] | colours, markers, dashes, the legend and the style sheet |
//! | `svg` | a figure as SVG text |
//!
//! # Properties of every figure
//!
//! - Colours follow the reader's light or dark scheme; print is light. They are distinguishable with
//!   colour blindness, have a contrast of at least 3:1, and are never the only difference: each
//!   series also has its own marker and dash.
//! - Points with the same x are repetitions: each is drawn, and the line goes through their mean.
//! - "None seen: at most y" is a hollow marker with an arrow that points down, never a zero; a
//!   dotted line leads to it.
//! - Title and description serve screen readers. A marker has its numbers as `data-x` and `data-y`.
//! - Values that an axis cannot show (not finite; not positive on a logarithmic axis) are left out:
//!   no input causes a panic.

mod axis;
mod series;
pub mod style;
mod svg;
mod ticks;

pub use axis::{Axis, Scale};
pub use series::{Bound, Point, Series};
pub use style::{css, legend};

/// A plot: two axes and the series to draw.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Unique in its page, of letters, digits and `-`: prefix of the ids of title and description.
    pub id: String,
    /// What it shows, in a few words.
    pub title: String,
    /// What can be read from it, for screen readers.
    pub description: String,
    /// The horizontal axis.
    pub x_axis: Axis,
    /// The vertical axis.
    pub y_axis: Axis,
    /// The lines, in the order of the legend.
    pub series: Vec<Series>,
    /// Draws the series next to each other where they share few values of x.
    pub side_by_side: bool,
    /// Width and height, in pixels at the nominal size.
    pub size: (u32, u32),
}

impl Default for Figure {
    /// An empty figure of [`PANEL`] size: legible on a phone, and three fit in a row.
    fn default() -> Self {
        Figure {
            id: "figure".to_owned(),
            title: String::new(),
            description: String::new(),
            x_axis: Axis::default(),
            y_axis: Axis::default(),
            series: vec![],
            side_by_side: false,
            size: PANEL,
        }
    }
}

/// The size of one of several figures in a row.
pub const PANEL: (u32, u32) = (340, 262);
/// The size of a figure in a separate file.
pub const ALONE: (u32, u32) = (720, 460);

impl Figure {
    /// An `<svg>` element for a page with [`css`] in its style sheet. The page shows the legend.
    pub fn inline(&self) -> String {
        svg::svg(self, svg::Embedding::Inline)
    }

    /// A complete SVG document, with legend, background and style.
    pub fn document(&self) -> String {
        svg::svg(self, svg::Embedding::Document)
    }
}
