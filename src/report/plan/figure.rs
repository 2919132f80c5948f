//! The frontier as a figure: errors against bits per flow.

use super::sentence::rate;
use crate::engine::plan::{PlanOption, Shape, Target, Wish, WishError, frontier};
use crate::report::plot::{ALONE, Axis, Figure, Point, Scale, Series, style};
use acsm_filters::{Backend, Expire, LayoutKind};
use acsm_model::bound::bits_per_flow;

/// Errors of the figure: two a decade, from 0.1 down.
const RATES: [f64; 11] = [1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6];

/// What each error costs, store by store, spread and within two cache lines; and what no store can
/// do without.
pub fn frontier_figure(wish: &Wish, expire: Expire) -> Result<Figure, WishError> {
    let is_drawn = |shape: &Shape| {
        shape.expire == expire
            && shape.backend != Backend::Exact
            && matches!(shape.layout, LayoutKind::Spread | LayoutKind::Blocked(2))
    };
    let shapes: Vec<Shape> = Shape::all().filter(is_drawn).collect();
    let curves = frontier(wish, &shapes, &RATES)?;
    let asked = wish.asked()?;
    let measure = match asked.target {
        Some(Target::FpRate(_)) => "strangers taken for flows",
        _ => "errors per lookup",
    };
    let bound = RATES.map(|error| Point::at(bits_per_flow(error, &wish.traffic.mix), error));
    let mut series = vec![Series::new("bound", style::REFERENCE, bound.to_vec())];
    let drawn = curves.iter().filter(|(_, options)| !options.is_empty()).enumerate();
    series.extend(drawn.map(|(index, (shape, options))| {
        // What it comes to, which whole bits may put below what was asked for.
        let error = |option: &PlanOption| asked.measure(&option.errors, wish.traffic.absent);
        let points = options.iter().map(|option| point(option, error(option)));
        Series::new(name(*shape), index, points.collect())
    }));
    Ok(Figure {
        id: "frontier".to_owned(),
        title: format!("What an error costs, by theory (--expire {})", expire.name()),
        description: describe(&curves),
        x_axis: Axis::new("bits per flow", Scale::Log),
        y_axis: Axis::new(measure, Scale::Log),
        series,
        size: ALONE,
        ..Figure::default()
    })
}

fn point(option: &PlanOption, error: f64) -> Point {
    let note = format!("{:.1} bits a flow, k = {}", option.bits_per_flow, option.room.hashes);
    Point::at(option.bits_per_flow, error).noted(note)
}

fn name(shape: Shape) -> String {
    match shape.layout {
        LayoutKind::Spread => shape.backend.name().to_owned(),
        layout => format!("{} {}", shape.backend.name(), layout.name()),
    }
}

/// The same in words: what one error in a hundred and one in ten thousand cost.
fn describe(curves: &[(Shape, Vec<PlanOption>)]) -> String {
    let at = |options: &[PlanOption], index: usize| {
        let bits = options.get(index).map(|option| format!("{:.1}", option.bits_per_flow));
        bits.unwrap_or_else(|| "none".to_owned())
    };
    let told = curves.iter().map(|(shape, options)| {
        format!("{} {} and {}", name(*shape), at(options, 2), at(options, 6))
    });
    let told: Vec<String> = told.collect();
    format!("Bits a flow at {} and at {}: {}.", rate(RATES[2]), rate(RATES[6]), told.join("; "))
}
