//! What the checks of several figures have in common: points that are not measured, and how series run.

use crate::reproduce::{Check, EVENTS_LEAST, Panel, Row};
use crate::units::scientific;

/// Points with fewer than [`EVENTS_LEAST`] expected events.
#[derive(Default)]
pub struct Missing {
    /// Series; how many points; the point with the largest rate: x and the rate.
    series: Vec<(String, u32, f64, f64)>,
}

impl Missing {
    /// A point that is not measured, and the rate that the form gives for it.
    pub fn add(&mut self, series: &str, x: f64, rate: f64) {
        match self.series.iter_mut().find(|(name, ..)| name == series) {
            Some((_, count, at, largest)) => {
                *count += 1;
                if rate > *largest {
                    (*at, *largest) = (x, rate);
                }
            }
            None => self.series.push((series.to_owned(), 1, x, rate)),
        }
    }

    /// A sentence for each series. `trials` is what the rate is of.
    pub fn notes(&self, trials: &str) -> Vec<String> {
        let sentence = |(series, count, x, rate): &(String, u32, f64, f64)| {
            format!(
                "{series}: {count} points are undecided at this scale (fewer than ten expected events); the \
                 first of them, at {x}, takes {} {trials}.",
                scientific(EVENTS_LEAST / rate)
            )
        };
        self.series.iter().map(sentence).collect()
    }
}

/// In a series with at least two points, y grows as x falls; intervals may touch.
pub fn grows(panel: &Panel, series: &str, says: &str) -> Check {
    runs(panel, series, says, |left, right| left.1 >= right.0)
}

/// In a series with at least two points, y falls as x falls.
pub fn falls(panel: &Panel, series: &str, says: &str) -> Check {
    runs(panel, series, says, |left, right| left.0 <= right.1)
}

/// Whether each two neighbours, the one with the smaller x first, run as they should; as the lower and the
/// upper end of their intervals. The outermost differ by more than their intervals.
fn runs(
    panel: &Panel,
    series: &str,
    says: &str,
    allowed: impl Fn((f64, f64), (f64, f64)) -> bool,
) -> Check {
    let mut rows: Vec<&Row> = panel.rows_of(series).collect();
    rows.sort_by(|a, b| a.x.total_cmp(&b.x));
    let ends = |row: &Row| row.interval.map_or((row.y, row.y), |[low, high]| (low, high));
    let [first, .., last] = rows.as_slice() else {
        return Check::open(says, format!("fewer than two points of {series} can be measured"));
    };
    let neighbours = rows.windows(2).all(|pair| allowed(ends(pair[0]), ends(pair[1])));
    // The outermost without their intervals, in the strict sense.
    let (a, b) = (ends(first), ends(last));
    let apart = a.0 > b.1 || b.0 > a.1;
    let seen = format!(
        "{series}: {} at {}, {} at {}",
        scientific(first.y),
        scientific(first.x),
        scientific(last.y),
        scientific(last.x)
    );
    Check::new(says, neighbours && apart && allowed((first.y, first.y), (last.y, last.y)), seen)
}

/// The measured points of each series lie on the series of the same name with `, form`. Of 99 %
/// intervals one in a hundred misses; one in twenty is allowed, and one more.
pub fn all_but_a_few_on_the_form(panel: &Panel) -> Check {
    let (mut all, mut inside) = (0, 0);
    for row in panel.rows.iter().filter(|row| row.rate.is_some()) {
        let form = format!("{}, form", row.series);
        let Some(form) = panel.rows_of(&form).find(|form| form.x == row.x) else { continue };
        all += 1;
        inside +=
            usize::from(row.interval.is_some_and(|[low, high]| (low..=high).contains(&form.y)));
    }
    if all == 0 {
        return Check::open("the measured points lie on the closed form", "no point is measured");
    }
    let allowed = 1 + all / 20;
    Check::new(
        format!("all but {allowed} of the measured points lie on the closed form"),
        inside + allowed >= all,
        format!("{inside} of {all} points on the form"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::{Axis, Rate};

    fn panel(events: &[u64]) -> Panel {
        let mut panel = Panel::new("", Axis::linear("x"), Axis::log("y"));
        for (x, &events) in (1..).zip(events) {
            panel.rate("s", f64::from(x), Rate { events, trials: 10_000 }, 1);
            panel.computed("s, form", f64::from(x), 0.05);
        }
        panel
    }

    #[test]
    fn a_series_grows_or_falls_or_neither() {
        let holds = |events: &[u64]| {
            [grows(&panel(events), "s", ""), falls(&panel(events), "s", "")].map(|c| c.holds)
        };
        assert_eq!(holds(&[900, 500, 505, 100]), [Some(true), Some(false)]);
        assert_eq!(holds(&[100, 500, 900]), [Some(false), Some(true)]);
        assert_eq!(holds(&[500, 505]), [Some(false), Some(false)]);
        assert_eq!(holds(&[500]), [None, None]);
    }

    #[test]
    fn points_off_the_form_are_counted() {
        assert_eq!(all_but_a_few_on_the_form(&panel(&[500, 505, 900])).holds, Some(true));
        assert_eq!(all_but_a_few_on_the_form(&panel(&[100, 505, 900])).holds, Some(false));
    }
}
