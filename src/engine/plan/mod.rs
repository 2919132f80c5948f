//! Plans: which stores meet a user's requirements, and the errors of each.
//!
//! # Properties
//!
//! All figures come from the closed forms of `acsm_model`, for a store that holds the planned number
//! of flows. No store is built.
//!
//! # Usage
//!
//! [`plan`] takes [`Requirements`] (flows, memory, an error: any two give the third) and answers for
//! every [`Shape`]: stores × layouts × ways to expire. [`frontier`] gives the memory that each error
//! rate takes. [`Theory::predict`] gives the errors of a store that exists, at a given load.
//!
//! # Implementation
//!
//! | file | what |
//! |---|---|
//! | `shape` | what can be planned, and the cost of a lookup |
//! | `requirements` | what is required, and for which traffic |
//! | `theory`, `curve` | errors by load, computed once and interpolated |
//! | `solve` | for one shape: least memory, least error, or most flows |
//! | `options` | for all shapes: options in order, the recommended one, the frontier |

mod curve;
mod demand;
mod options;
mod requirements;
mod shape;
mod solve;
mod theory;

pub use demand::{Demand, DemandError, demand};
pub use options::{Plan, PlanOption, frontier, plan};
pub use requirements::{Requirements, RequirementsError, ResolvedRequirements, Target, Traffic};
pub use shape::Shape;
pub use theory::Theory;
