//! The frontier as a figure: errors against bits per flow.

use super::sentence::rate;
use crate::engine::plan::{PlanOption, Requirements, RequirementsError, Shape, Target, frontier};
use crate::report::plot::{ALONE, Axis, Figure, Point, Scale, Series, style};
use acsm_filters::{Expire, LayoutKind};
use acsm_model::bound::bits_per_flow;

/// Error rates of the figure: two per decade, from 0.1 down.
const RATES: [f64; 11] = [1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6];

/// Bits per flow against errors, one curve per store, spread and in two cache lines; and the lower
/// bound for any store.
pub fn frontier_figure(
    requirements: &Requirements,
    expire: Expire,
) -> Result<Figure, RequirementsError> {
    let is_drawn = |shape: &Shape| {
        shape.expire == expire
            && shape.backend.is_approximate()
            && matches!(shape.layout, LayoutKind::Spread | LayoutKind::Blocked(2))
    };
    let shapes: Vec<Shape> = Shape::all().filter(is_drawn).collect();
    let curves = frontier(requirements, &shapes, &RATES)?;
    let resolved = requirements.resolve()?;
    let measure = match resolved.target {
        Some(Target::FpRate(_)) => "false positives per lookup of absent flows",
        _ => "errors per lookup",
    };
    let bound =
        RATES.map(|error| Point::at(bits_per_flow(error, &requirements.traffic.mix), error));
    let mut series = vec![Series::new("bound", style::REFERENCE, bound.to_vec())];
    let drawn = curves.iter().filter(|(_, options)| !options.is_empty()).enumerate();
    series.extend(drawn.map(|(index, (shape, options))| {
        // The error of the option, which rounding to whole bits may put below the rate.
        let error =
            |option: &PlanOption| resolved.measure(&option.errors, requirements.traffic.absent);
        let points = options.iter().map(|option| point(option, error(option)));
        Series::new(name(*shape), index, points.collect())
    }));
    Ok(Figure {
        id: "frontier".to_owned(),
        title: format!("Memory for an error rate, as predicted (--expire {})", expire.name()),
        description: describe(&curves),
        x_axis: Axis::new("bits per flow", Scale::Log),
        y_axis: Axis::new(measure, Scale::Log),
        series,
        size: ALONE,
        ..Figure::default()
    })
}

fn point(option: &PlanOption, error: f64) -> Point {
    let note =
        format!("{:.1} bits per flow, k = {}", option.bits_per_flow, option.footprint.hashes);
    Point::at(option.bits_per_flow, error).noted(note)
}

fn name(shape: Shape) -> String {
    match shape.layout {
        LayoutKind::Spread => shape.backend.name().to_owned(),
        layout => format!("{} {}", shape.backend.name(), layout.name()),
    }
}

/// The same in words, at one error in a hundred and one in ten thousand.
fn describe(curves: &[(Shape, Vec<PlanOption>)]) -> String {
    let at = |options: &[PlanOption], index: usize| {
        let bits = options.get(index).map(|option| format!("{:.1}", option.bits_per_flow));
        bits.unwrap_or_else(|| "none".to_owned())
    };
    let told = curves.iter().map(|(shape, options)| {
        format!("{} {} and {}", name(*shape), at(options, 2), at(options, 6))
    });
    let told: Vec<String> = told.collect();
    format!("Bits per flow at {} and at {}: {}.", rate(RATES[2]), rate(RATES[6]), told.join("; "))
}
