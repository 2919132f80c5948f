//! Plans: from what a user knows to stores that would do, with what each gets wrong.
//!
//! [`plan`] takes a [`Wish`] (flows, memory, an error: any two give the third) and answers for every
//! [`Shape`]: stores × layouts × ways to expire. [`Theory::predict`] says what a given store gets
//! wrong at a given load. Both are open loop, as all of [`model`](crate::model).
//!
//! | file | what |
//! |---|---|
//! | `shape` | what can be planned |
//! | `wish`, `traffic` | what is asked, and of which traffic |
//! | `room`, `slots` | what cells and slots take |
//! | `theory`, `curve` | errors by load, computed once |
//! | `solve` | least memory, least error, most flows |
//! | `predict` | errors of a store that exists |
//! | `frontier` | what each error costs |

mod curve;
mod demand;
mod frontier;
mod predict;
mod room;
mod shape;
mod slots;
mod solve;
mod theory;
mod traffic;
mod wish;

use std::cmp::Ordering;

pub use demand::{Demand, DemandError, demand};
pub use frontier::frontier;
pub use room::Room;
pub use shape::Shape;
pub use theory::Theory;
pub use traffic::Traffic;
pub use wish::{Asked, Target, Wish, WishError};

use acsm_filters::Expire;
use acsm_model::ErrorRates;
use solve::Choice;

/// A dearer store is worth it if it takes half the memory accesses and at most this much more.
const WORTH: f64 = 1.1;
/// The same for errors where memory is given.
const WORTH_ERRORS: f64 = 1.5;

/// One store that would do, or comes as near as its shape can.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlanOption {
    /// Store, layout and expiry.
    pub shape: Shape,
    /// Flows that it is for.
    pub flows: u64,
    /// Its memory.
    pub room: Room,
    /// Memory over flows.
    pub bits_per_flow: f64,
    /// Errors when it holds them.
    pub errors: ErrorRates,
    /// All errors per lookup.
    pub total_rate: f64,
    /// Wrong answers with a state an hour: no more alerts than these are spurious.
    pub spurious_alerts_per_hour: f64,
    /// Cache lines that a packet touches at most.
    pub memory_accesses: u64,
    /// Bits of a digest that a packet needs.
    pub hash_bits: u64,
    /// New flows until it empties itself, or half of itself.
    pub messages_before_recycle: Option<f64>,
    /// Whether it meets all of the wish.
    pub meets: bool,
    /// Whether a run could build it.
    pub buildable: bool,
}

/// The answer to a wish.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What was answered.
    pub asked: Asked,
    /// All stores, the best first.
    pub options: Vec<PlanOption>,
    /// The one to take: an index.
    pub recommended: Option<usize>,
}

/// Answers a wish with stores of these shapes, and recommends one that expires in one of these ways.
///
/// ```
/// use acsm::engine::plan::{Shape, Traffic, Wish, plan};
/// use acsm_filters::Expire;
///
/// let wish = Wish {
///     flows: Some(2_000_000),
///     target: None,
///     memory_bytes: Some(16 << 20),
///     traffic: Traffic::typical(6),
///     arrivals_per_second: None,
///     packets_per_second: None,
/// };
/// let shapes: Vec<Shape> = Shape::all().filter(|shape| shape.expire == Expire::Timer).collect();
/// let plan = plan(&wish, &shapes, &[Expire::Timer])?;
/// let best = plan.recommended.and_then(|index| plan.options.get(index)).ok_or("none")?;
/// assert!(best.total_rate < 1e-4 && best.room.bits <= 8.0 * (16 << 20) as f64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn plan(wish: &Wish, shapes: &[Shape], recommend: &[Expire]) -> Result<Plan, WishError> {
    let asked = wish.asked()?;
    let theory = Theory::new(wish.traffic.clone());
    let mut options: Vec<PlanOption> = vec![];
    for &shape in shapes {
        // Layouts come after each other: what was best for the last is near what is for this.
        let like = |option: &&PlanOption| {
            (option.shape.backend, option.shape.expire) == (shape.backend, shape.expire)
        };
        let near = options.iter().rfind(like).map(|option| option.room.hashes);
        let choice = solve::choose(&theory, shape, &asked, near);
        options.extend(choice.map(|choice| option(wish, &asked, shape, choice)));
    }
    options.sort_by(|a, b| asked.compare(wish, a, b));
    let recommended = recommended(wish, &asked, &options, recommend);
    Ok(Plan { asked, options, recommended })
}

fn option(wish: &Wish, asked: &Asked, shape: Shape, choice: Choice) -> PlanOption {
    let Choice { room, flows, errors } = choice;
    let (absent, states) = (wish.traffic.absent, wish.traffic.mix.states());
    let meets_target = asked.target.is_none_or(|target| target.is_met(&errors, absent));
    let with_state = absent * errors.false_positive
        + (1.0 - absent) * (errors.false_negative + errors.false_return);
    PlanOption {
        shape,
        flows: flows as u64,
        bits_per_flow: room.bits / flows,
        total_rate: errors.total(absent),
        spurious_alerts_per_hour: 3600.0 * wish.packets_per_second(flows) * with_state,
        memory_accesses: room.memory_accesses(shape, states),
        hash_bits: room.hash_bits(shape, states),
        messages_before_recycle: match shape.expire {
            Expire::None | Expire::Timer => None,
            Expire::Recycle => Some(flows),
            Expire::TwoPhase => Some(0.5 * flows),
        },
        meets: meets_target && asked.bits().is_none_or(|bits| room.bits <= bits),
        buildable: room.can_be_built(),
        errors,
        room,
    }
}

impl Asked {
    /// The better first: what meets the wish, then by what was left open.
    fn compare(&self, wish: &Wish, a: &PlanOption, b: &PlanOption) -> Ordering {
        let price = |option: &PlanOption| self.price(wish, option);
        b.meets
            .cmp(&a.meets)
            .then(price(a).total_cmp(&price(b)))
            .then(a.memory_accesses.cmp(&b.memory_accesses))
            .then(a.shape.names().cmp(&b.shape.names()))
    }

    /// What is to be as little as can be.
    fn price(&self, wish: &Wish, option: &PlanOption) -> f64 {
        match (self.flows, self.target, self.memory_bytes) {
            (None, ..) => 1.0 / option.flows.max(1) as f64,
            (_, Some(_), None) => option.room.bits,
            (_, Some(_), Some(_)) if option.meets => option.room.bits,
            _ => self.measure(&option.errors, wish.traffic.absent),
        }
    }
}

/// The first that a run can build; or one that is hardly dearer and takes half the accesses.
fn recommended(
    wish: &Wish,
    asked: &Asked,
    options: &[PlanOption],
    expires: &[Expire],
) -> Option<usize> {
    let candidates = || {
        let fitting = |(_, option): &(usize, &PlanOption)| expires.contains(&option.shape.expire);
        options.iter().enumerate().filter(fitting)
    };
    let (first, best) =
        candidates().find(|(_, option)| option.buildable).or_else(|| candidates().next())?;
    let worth = match (best.meets, asked.target) {
        (true, Some(_)) => WORTH,
        (true, None) => WORTH_ERRORS,
        // What is impossible is to be as near as can be.
        (false, _) => 1.0,
    };
    let is_worth = |(_, option): &(usize, &PlanOption)| {
        option.meets == best.meets
            && option.buildable == best.buildable
            && asked.price(wish, option) <= worth * asked.price(wish, best)
            && 2 * option.memory_accesses <= best.memory_accesses
    };
    let quicker = candidates().filter(is_worth).min_by_key(|(_, option)| option.memory_accesses);
    Some(quicker.map_or(first, |(index, _)| index))
}
