//! Figures as SVG: lines with markers over linear, logarithmic and time axes.
//!
//! A [`Figure`] says what is to be seen; [`Figure::inline`] gives an `<svg>` element for a page that
//! holds [`css`] and shows the [`legend`] itself, [`Figure::document`] a file that stands alone.
//!
//! ```
//! use acsm::report::plot::{Axis, Figure, Point, Scale, Series};
//!
//! let figure = Figure {
//!     title: "Error against memory".into(),
//!     description: "fcf falls from 0.01 at 14 bits a flow; at 24 bits none was seen.".into(),
//!     x_axis: Axis::new("bits per flow", Scale::Log),
//!     y_axis: Axis::new("errors per lookup", Scale::Log),
//!     series: vec![Series::new("fcf", 0, vec![
//!         Point::at(14.0, 1e-2).between(0.9e-2, 1.2e-2),
//!         Point::at(19.5, 1e-3),
//!         Point::at(24.0, 3e-6).at_most(),
//!     ])],
//!     ..Figure::default()
//! };
//! assert!(figure.document().starts_with("<svg xmlns="));
//! ```
//!
//! # What holds for every figure
//!
//! - Colours follow the reader's light or dark scheme, and print is light. They are told apart by the
//!   colour-blind, have a contrast of at least 3:1, and are never alone: each series also has a
//!   marker and a dash of its own ([`look`]).
//! - Points with the same x are repetitions: each is drawn, and the line goes through their mean.
//! - "None seen: at most y" is an open triangle that points down, never a zero; a dotted line leads
//!   to it.
//! - Title and description are there for those who do not see it. A marker has its numbers as
//!   `data-x` and `data-y`.
//! - Values that an axis cannot show (not finite; not positive on a logarithmic one) are left out: no
//!   input makes it panic.

mod axis;
mod draw;
mod legend;
pub mod look;
mod mean;
mod ticks;

pub use axis::{Axis, Scale};
pub use legend::legend;
pub use look::css;

/// What is to be seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Unique in its page, of letters, digits and `-`: names its title and description.
    pub id: String,
    /// What it shows, in a few words.
    pub title: String,
    /// What a reader sees in it, for one who cannot.
    pub description: String,
    /// To the right.
    pub x_axis: Axis,
    /// Upwards.
    pub y_axis: Axis,
    /// The lines, in the order of the legend.
    pub series: Vec<Series>,
    /// Moves series beside each other where they share few values of x.
    pub side_by_side: bool,
    /// Width and height, in units of a pixel at the size it is meant for.
    pub size: (u32, u32),
}

impl Default for Figure {
    /// An empty figure of the size of a panel: legible on a phone, and three beside each other.
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

/// The size of one of several figures beside each other.
pub const PANEL: (u32, u32) = (340, 262);
/// The size of a figure that stands alone.
pub const ALONE: (u32, u32) = (720, 460);

impl Figure {
    /// An `<svg>` element for a page with [`css`] in its style sheet. The page shows the legend.
    pub fn inline(&self) -> String {
        draw::svg(self, draw::Place::Inline)
    }

    /// A document of its own, with legend, background and style.
    pub fn document(&self) -> String {
        draw::svg(self, draw::Place::Document)
    }
}

/// A line.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Which colour, marker and dash: see [`look`]. [`look::REFERENCE`] is a plain line.
    pub look: usize,
    /// In the order of the line.
    pub points: Vec<Point>,
}

impl Series {
    /// A line through `points`.
    pub fn new(name: impl Into<String>, look: usize, points: Vec<Point>) -> Self {
        Series { name: name.into(), look, points }
    }
}

/// One measured value.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Where it is.
    pub x: f64,
    /// What it is; not a number for a gap in the line.
    pub y: f64,
    /// The interval of y.
    pub interval: Option<[f64; 2]>,
    /// What the value says.
    pub bound: Bound,
    /// What a pointer on it shows.
    pub note: String,
}

/// Whether a value is what was measured, or none was seen and it is the most it can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// As measured.
    None,
    /// y is at most this.
    Y,
    /// x is at most this.
    X,
}

impl Point {
    /// A value without an interval.
    pub const fn at(x: f64, y: f64) -> Self {
        Point { x, y, interval: None, bound: Bound::None, note: String::new() }
    }

    /// With an interval of y.
    pub const fn between(mut self, low: f64, high: f64) -> Self {
        self.interval = Some([low, high]);
        self
    }

    /// None seen: y is what it is at most.
    pub const fn at_most(mut self) -> Self {
        self.bound = Bound::Y;
        self
    }

    /// The same for x.
    pub const fn x_at_most(mut self) -> Self {
        self.bound = Bound::X;
        self
    }

    /// With words for a pointer that rests on it.
    pub fn noted(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }
}
