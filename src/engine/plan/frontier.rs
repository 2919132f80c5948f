//! The frontier: what each error costs in each shape.

use super::shape::Shape;
use super::solve;
use super::theory::Theory;
use super::wish::{Target, Wish, WishError};
use super::{Asked, PlanOption, option};

/// For each shape the stores that keep the rates, one a rate; rates that a shape cannot keep are
/// left out.
pub fn frontier(
    wish: &Wish,
    shapes: &[Shape],
    rates: &[f64],
) -> Result<Vec<(Shape, Vec<PlanOption>)>, WishError> {
    let asked = wish.asked()?;
    let flows = Some(asked.flows.unwrap_or(1_000_000));
    let theory = Theory::new(wish.traffic.clone());
    let of_shape = |&shape: &Shape| {
        let mut near = None;
        let mut options = vec![];
        for &rate in rates {
            let target = Some(match asked.target {
                Some(Target::FpRate(_)) => Target::FpRate(rate),
                _ => Target::Error(rate),
            });
            let asked = Asked { flows, target, memory_bytes: None };
            if let Some(choice) = solve::choose(&theory, shape, &asked, near) {
                near = Some(choice.room.hashes);
                options.push(option(wish, &asked, shape, choice));
            }
        }
        (shape, options)
    };
    Ok(shapes.iter().map(of_shape).collect())
}
