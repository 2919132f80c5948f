//! The options of a plan: the best store of every shape, the best first, and one recommended.

use std::cmp::Ordering;

use super::requirements::{Requirements, RequirementsError, ResolvedRequirements, Target};
use super::shape::{Shape, is_buildable};
use super::solve::{self, Choice};
use super::theory::Theory;
use acsm_filters::{Expire, Footprint};
use acsm_model::ErrorRates;

/// A store with half the memory accesses is recommended if it takes at most this much more memory.
const MEMORY_RATIO_MAX: f64 = 1.1;
/// The same for errors, where memory is given.
const ERROR_RATIO_MAX: f64 = 1.5;

/// One store that meets the requirements, or comes as close as its shape can.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlanOption {
    /// Store, layout and expiry.
    pub shape: Shape,
    /// The number of flows it is for.
    pub flows: u64,
    /// Its memory.
    pub footprint: Footprint,
    /// Memory over flows.
    pub bits_per_flow: f64,
    /// Errors when it holds that many.
    pub errors: ErrorRates,
    /// All errors per lookup.
    pub total_rate: f64,
    /// Wrong answers with a state, per hour: an upper bound of spurious alerts.
    pub spurious_alerts_per_hour: f64,
    /// Cache lines that a packet touches, at most.
    pub memory_accesses: u64,
    /// Bits of a digest that a packet needs.
    pub hash_bits: u64,
    /// New flows until it recycles, all of it or one half.
    pub messages_before_recycle: Option<f64>,
    /// With stamps: the age from which on one in twenty lookups of a flow is wrong.
    pub reliable_seconds: Option<f64>,
    /// Whether it meets all requirements.
    pub meets: bool,
    /// Whether a run could build it.
    pub buildable: bool,
}

/// The answer to requirements.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The requirements with defaults filled in.
    pub resolved: ResolvedRequirements,
    /// All stores, the best first.
    pub options: Vec<PlanOption>,
    /// Index of the recommended one.
    pub recommended: Option<usize>,
}

/// Plans stores of these shapes, and recommends one that expires in one of these ways.
///
/// ```
/// use acsm::engine::plan::{Requirements, Shape, Traffic, plan};
/// use acsm_filters::Expire;
///
/// let requirements = Requirements {
///     flows: Some(2_000_000),
///     target: None,
///     memory_bytes: Some(16 << 20),
///     traffic: Traffic::typical(6),
///     arrivals_per_second: None,
///     packets_per_second: None,
///     decode: None,
/// };
/// let shapes: Vec<Shape> = Shape::all().filter(|shape| shape.expire == Expire::Timer).collect();
/// let plan = plan(&requirements, &shapes, &[Expire::Timer])?;
/// let best = plan.recommended.and_then(|index| plan.options.get(index)).ok_or("none")?;
/// assert!(best.total_rate < 1e-4 && best.footprint.bits <= 8.0 * (16 << 20) as f64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn plan(
    requirements: &Requirements,
    shapes: &[Shape],
    recommend: &[Expire],
) -> Result<Plan, RequirementsError> {
    let resolved = requirements.resolve()?;
    let theory = theory_for(requirements);
    let mut options: Vec<PlanOption> = vec![];
    for &shape in shapes {
        // The best number of hashes differs little between the layouts of one store.
        let like = |option: &&PlanOption| {
            (option.shape.backend, option.shape.expire) == (shape.backend, shape.expire)
        };
        let hint = options.iter().rfind(like).map(|option| option.footprint.hashes);
        let choice = solve::choose(&theory, shape, &resolved, hint);
        options
            .extend(choice.map(|choice| option(&theory, requirements, &resolved, shape, choice)));
    }
    options.sort_by(|a, b| resolved.compare(requirements, a, b));
    let recommended = recommended(requirements, &resolved, &options, recommend);
    Ok(Plan { resolved, options, recommended })
}

fn theory_for(requirements: &Requirements) -> Theory {
    Theory::new(requirements.traffic.clone()).with_decode(requirements.decode, None)
}

fn option(
    theory: &Theory,
    requirements: &Requirements,
    resolved: &ResolvedRequirements,
    shape: Shape,
    choice: Choice,
) -> PlanOption {
    let Choice { footprint, flows, errors } = choice;
    let (absent, states) = (requirements.traffic.absent, requirements.traffic.mix.states());
    let meets_target = resolved.target.is_none_or(|target| target.is_met(&errors, absent));
    let with_state = absent * errors.false_positive
        + (1.0 - absent) * (errors.false_negative + errors.false_return);
    PlanOption {
        shape,
        flows: flows as u64,
        bits_per_flow: footprint.bits / flows,
        total_rate: errors.total(absent),
        spurious_alerts_per_hour: 3600.0 * requirements.packets_per_second(flows) * with_state,
        memory_accesses: shape.memory_accesses(states, &footprint),
        hash_bits: shape.hash_bits(states, &footprint),
        messages_before_recycle: match shape.expire {
            Expire::None | Expire::Timer | Expire::Stamps => None,
            Expire::Recycle => Some(flows),
            Expire::TwoPhase => Some(0.5 * flows),
        },
        reliable_seconds: match shape.has_cells() {
            true => {
                let cells_per_line = shape.cell_format(states, footprint.hashes).cells_per_line();
                let load = footprint.hashes as f64 * flows / footprint.cells;
                theory.reliable_seconds(shape, cells_per_line, footprint.hashes, load)
            }
            false => None,
        },
        meets: meets_target && resolved.bits().is_none_or(|bits| footprint.bits <= bits),
        buildable: is_buildable(&footprint),
        errors,
        footprint,
    }
}

impl ResolvedRequirements {
    /// The better first: what meets the requirements, then by what was left open.
    fn compare(&self, requirements: &Requirements, a: &PlanOption, b: &PlanOption) -> Ordering {
        let cost = |option: &PlanOption| self.cost(requirements, option);
        b.meets
            .cmp(&a.meets)
            .then(cost(a).total_cmp(&cost(b)))
            .then(a.memory_accesses.cmp(&b.memory_accesses))
            .then(a.shape.names().cmp(&b.shape.names()))
    }

    /// What is to be minimal.
    fn cost(&self, requirements: &Requirements, option: &PlanOption) -> f64 {
        match (self.flows, self.target, self.memory_bytes) {
            (None, ..) => 1.0 / option.flows.max(1) as f64,
            (_, Some(_), None) => option.footprint.bits,
            (_, Some(_), Some(_)) if option.meets => option.footprint.bits,
            _ => self.measure(&option.errors, requirements.traffic.absent),
        }
    }
}

/// The first that a run can build; or one that costs little more and takes half the memory accesses.
fn recommended(
    requirements: &Requirements,
    resolved: &ResolvedRequirements,
    options: &[PlanOption],
    expires: &[Expire],
) -> Option<usize> {
    let candidates = || {
        let fitting = |(_, option): &(usize, &PlanOption)| expires.contains(&option.shape.expire);
        options.iter().enumerate().filter(fitting)
    };
    let (first, best) =
        candidates().find(|(_, option)| option.buildable).or_else(|| candidates().next())?;
    let ratio_max = match (best.meets, resolved.target) {
        (true, Some(_)) => MEMORY_RATIO_MAX,
        (true, None) => ERROR_RATIO_MAX,
        // Nothing meets the requirements: the closest, whatever it costs.
        (false, _) => 1.0,
    };
    let is_quicker = |(_, option): &(usize, &PlanOption)| {
        option.meets == best.meets
            && option.buildable == best.buildable
            && resolved.cost(requirements, option) <= ratio_max * resolved.cost(requirements, best)
            && 2 * option.memory_accesses <= best.memory_accesses
    };
    let quicker = candidates().filter(is_quicker).min_by_key(|(_, option)| option.memory_accesses);
    Some(quicker.map_or(first, |(index, _)| index))
}

/// For each shape the least memory that keeps each of these error rates; rates that a shape cannot
/// keep are left out.
pub fn frontier(
    requirements: &Requirements,
    shapes: &[Shape],
    rates: &[f64],
) -> Result<Vec<(Shape, Vec<PlanOption>)>, RequirementsError> {
    let resolved = requirements.resolve()?;
    let flows = Some(resolved.flows.unwrap_or(1_000_000));
    let theory = theory_for(requirements);
    let of_shape = |&shape: &Shape| {
        let mut hint = None;
        let mut options = vec![];
        for &rate in rates {
            let target = Some(match resolved.target {
                Some(Target::FpRate(_)) => Target::FpRate(rate),
                _ => Target::Error(rate),
            });
            let at_rate = ResolvedRequirements { flows, target, memory_bytes: None };
            if let Some(choice) = solve::choose(&theory, shape, &at_rate, hint) {
                hint = Some(choice.footprint.hashes);
                options.push(option(&theory, requirements, &at_rate, shape, choice));
            }
        }
        (shape, options)
    };
    Ok(shapes.iter().map(of_shape).collect())
}
