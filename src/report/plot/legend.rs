//! What each colour, marker and dash stands for.

use std::fmt::Write as _;

use super::look::Look;
use crate::report::markup::Escaped;

/// Width of a line with its marker.
pub(super) const SWATCH: u32 = 34;

/// An HTML list for a page: names with their looks, the same for all figures under it.
pub fn legend<'a>(entries: impl IntoIterator<Item = (&'a str, usize)>) -> String {
    let mut html = String::from("<ul class=\"legend\">");
    for (name, look) in entries {
        let _ = write!(
            html,
            "<li><svg class=\"plot\" viewBox=\"0 0 {SWATCH} 14\" width=\"{SWATCH}\" height=\"14\" \
             aria-hidden=\"true\">{}</svg>{}</li>",
            swatch(look, 0.0, 7.0),
            Escaped(name)
        );
    }
    html.push_str("</ul>");
    html
}

/// A piece of line with a marker in its middle.
pub(super) fn swatch(look: usize, x: f64, y: f64) -> String {
    let Look { class, colour, dash, marker } = Look::of(look);
    let half = SWATCH / 2;
    format!(
        "<g class=\"look-{class}\" color=\"{colour}\" transform=\"translate({x} {y})\">\
         <path d=\"M1 0H{}\" stroke=\"currentColor\" stroke-width=\"1.8\" fill=\"none\"{}/>\
         <path d=\"{marker}\" transform=\"translate({half} 0)\" fill=\"currentColor\"/></g>",
        SWATCH - 1,
        dashes(dash)
    )
}

/// The attribute, if there are dashes.
pub(super) fn dashes(dash: &str) -> String {
    if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") }
}
