//! How series are told apart: a colour, a marker and a dash for each.

use std::fmt::Write as _;

/// The look of what is no measurement: a plain dashed line of the text's colour, without markers.
pub const REFERENCE: usize = usize::MAX;

/// Colours of series on a light and on a dark page: of different lightness, and none that the
/// colour-blind take for its neighbour.
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

/// The page, text, text that matters less, and lines of the grid.
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

/// What one series looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    /// The class that gives its colour.
    pub class: usize,
    /// Its colour where style sheets are not understood.
    pub colour: &'static str,
    /// The dashes of its line; empty for none.
    pub dash: &'static str,
    /// The path of its marker; empty for none.
    pub marker: &'static str,
}

impl Look {
    /// Repeats after 64.
    pub fn of(index: usize) -> Look {
        if index == REFERENCE {
            let class = COLOURS.len();
            return Look { class, colour: BASE[1].1, dash: "5 4", marker: "" };
        }
        let (class, round) = (index % COLOURS.len(), index / COLOURS.len());
        Look {
            class,
            colour: COLOURS[class].0,
            dash: DASHES[(index + round) % DASHES.len()],
            marker: MARKERS[(index + round) % MARKERS.len()],
        }
    }
}

/// The style of figures, for a page's style sheet. Colours are those of the reader's scheme; print
/// is light.
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

/// Colours where style sheets are not understood: those of a light page.
pub(super) fn base(name: &str) -> &'static str {
    BASE.iter().find(|(base, ..)| *base == name).map_or("", |(_, light, _)| light)
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
    fn everything_stands_out_in_both_schemes() {
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
    fn no_two_series_look_alike() {
        let looks: Vec<Look> = (0..64).map(Look::of).collect();
        for (at, look) in looks.iter().enumerate() {
            assert!(!looks[..at].contains(look), "{at}");
            let same_colour = looks[..at].iter().filter(|other| other.class == look.class);
            assert!(same_colour.clone().all(|other| other.marker != look.marker), "{at}");
        }
    }
}
