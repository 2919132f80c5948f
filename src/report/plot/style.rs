//! The style of series: a colour, a marker and a dash for each; the legend and the style sheet.

use std::fmt::Write as _;

use crate::report::escape::Escaped;

/// The style of a line that is not a measurement: dashed, in the text's colour, without markers.
pub const REFERENCE: usize = usize::MAX;

/// Width of a legend entry's line with its marker.
pub(super) const SWATCH: u32 = 34;

/// Colours of series on a light and on a dark page: of different lightness, and distinguishable
/// with colour blindness.
const COLOURS: [(&str, &str); 8] = [
    ("#0b62b5", "#6cb0ff"), // blue
    ("#c2410c", "#ff8a4c"), // vermilion
    ("#00795f", "#3fd0a4"), // green
    ("#8b2fa8", "#cf8bf0"), // purple
    ("#8a6200", "#e3b341"), // amber
    ("#4b5563", "#b8c0cc"), // slate
    ("#1486bd", "#4fd2f2"), // sky
    ("#d0317a", "#ff7fb2"), // pink
];

/// Background, text, secondary text and grid lines: name, light, dark.
const BASE: [(&str, &str, &str); 4] = [
    ("paper", "#ffffff", "#161b22"),
    ("ink", "#1b2430", "#e6eaf0"),
    ("faint", "#566171", "#a3adba"),
    ("grid", "#e0e4ea", "#2d3540"),
];

const DASHES: [&str; 8] =
    ["", "7 3", "2.5 2.5", "10 3 2.5 3", "4.5 2", "14 3", "1.5 3.5", "7 2 1.5 2 1.5 2"];

/// Shapes around 0, 0: circle, square, diamond, triangle, saltire, cross, bow tie, star.
const MARKERS: [&str; 8] = [
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "M-3.6 -3.6h7.2v7.2h-7.2z",
    "M0 -5.2L5.2 0L0 5.2L-5.2 0z",
    "M0 -5L4.9 3.7H-4.9z",
    "M-4.6 -2.6L-2.6 -4.6L0 -2L2.6 -4.6L4.6 -2.6L2 0L4.6 2.6L2.6 4.6L0 2L-2.6 4.6L-4.6 2.6L-2 0z",
    "M-1.5 -5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5z",
    "M-4.6 -4.2L0 -1.2L4.6 -4.2V4.2L0 1.2L-4.6 4.2z",
    "M0 -5.6L1.5 -1.9L5.4 -1.7L2.4 0.8L3.4 4.6L0 2.5L-3.4 4.6L-2.4 0.8L-5.4 -1.7L-1.5 -1.9z",
];

/// The style of one series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SeriesStyle {
    /// The CSS class that sets its colour.
    pub class: usize,
    /// Its colour for renderers without style sheets.
    pub colour: &'static str,
    /// The dashes of its line; empty for none.
    pub dash: &'static str,
    /// The path of its marker; empty for none.
    pub marker: &'static str,
}

impl SeriesStyle {
    /// The style at `index`; styles repeat after 64.
    pub fn of(index: usize) -> SeriesStyle {
        if index == REFERENCE {
            let class = COLOURS.len();
            return SeriesStyle { class, colour: BASE[1].1, dash: "5 4", marker: "" };
        }
        let (class, round) = (index % COLOURS.len(), index / COLOURS.len());
        SeriesStyle {
            class,
            colour: COLOURS[class].0,
            dash: DASHES[(index + round) % DASHES.len()],
            marker: MARKERS[(index + round) % MARKERS.len()],
        }
    }
}

/// The CSS of figures, for a page's style sheet. Colours follow the reader's scheme; print is light.
pub fn css() -> String {
    let (mut light, mut dark, mut classes) = (String::new(), String::new(), String::new());
    for (name, on_light, on_dark) in BASE {
        let _ = write!(light, "--plot-{name}:{on_light};"); // writing to a String cannot fail
        let _ = write!(dark, "--plot-{name}:{on_dark};");
    }
    for (index, (on_light, on_dark)) in COLOURS.iter().enumerate() {
        let _ = write!(light, "--plot-{index}:{on_light};");
        let _ = write!(dark, "--plot-{index}:{on_dark};");
        let _ = writeln!(classes, ".plot .look-{index}{{color:var(--plot-{index})}}");
    }
    let reference = COLOURS.len();
    let _ = writeln!(classes, ".plot .look-{reference}{{color:var(--plot-ink)}}");
    format!(
        ".plot{{{light}}}\n@media screen and (prefers-color-scheme:dark){{.plot{{{dark}}}}}\n\
         {classes}{}",
        include_str!("plot.css")
    )
}

/// The light variant of a base colour, for renderers without style sheets.
pub(super) fn base(name: &str) -> &'static str {
    BASE.iter().find(|(base, ..)| *base == name).map_or("", |(_, light, _)| light)
}

/// An HTML list for a page: names with their styles, shared by all figures below it.
pub fn legend<'a>(entries: impl IntoIterator<Item = (&'a str, usize)>) -> String {
    let mut html = String::from("<ul class=\"legend\">");
    for (name, style) in entries {
        let _ = write!(
            html,
            "<li><svg class=\"plot\" viewBox=\"0 0 {SWATCH} 14\" width=\"{SWATCH}\" height=\"14\" \
             aria-hidden=\"true\">{}</svg>{}</li>",
            swatch(style, 0.0, 7.0),
            Escaped(name)
        );
    }
    html.push_str("</ul>");
    html
}

/// A short line with a marker in its middle.
pub(super) fn swatch(style: usize, x: f64, y: f64) -> String {
    let SeriesStyle { class, colour, dash, marker } = SeriesStyle::of(style);
    let half = SWATCH / 2;
    format!(
        "<g class=\"look-{class}\" color=\"{colour}\" transform=\"translate({x} {y})\">\
         <path d=\"M1 0H{}\" stroke=\"currentColor\" stroke-width=\"1.8\" fill=\"none\"{}/>\
         <path d=\"{marker}\" transform=\"translate({half} 0)\" fill=\"currentColor\"/></g>",
        SWATCH - 1,
        dashes(dash)
    )
}

/// The `stroke-dasharray` attribute, if there are dashes.
pub(super) fn dashes(dash: &str) -> String {
    if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance as WCAG 2 defines it.
    fn luminance(colour: &str) -> f64 {
        let part = |at: usize| {
            let c = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn contrast_suffices_in_both_schemes() {
        let [(_, light, dark), ink, faint, _] = BASE;
        for (_, on_light, on_dark) in [ink, faint] {
            assert!(contrast(on_light, light) >= 4.5, "{on_light}");
            assert!(contrast(on_dark, dark) >= 4.5, "{on_dark}");
        }
        for (on_light, on_dark) in COLOURS {
            assert!(contrast(on_light, light) >= 3.0, "{on_light}");
            assert!(contrast(on_dark, dark) >= 3.0, "{on_dark}");
        }
    }

    #[test]
    fn no_two_styles_are_alike() {
        let styles: Vec<SeriesStyle> = (0..64).map(SeriesStyle::of).collect();
        for (at, style) in styles.iter().enumerate() {
            assert!(!styles[..at].contains(style), "{at}");
            let same_colour = styles[..at].iter().filter(|other| other.class == style.class);
            assert!(same_colour.clone().all(|other| other.marker != style.marker), "{at}");
        }
    }
}
