//! What a user knows: flows, memory or an error they accept, any two of which give the third; and
//! the traffic that the store will see.

use thiserror::Error;

use acsm_filters::KbfDecode;
use acsm_model::aging::Arrivals;
use acsm_model::{ErrorRates, StateMix};

/// Flows, if neither they nor both memory and an error are given: as in a run.
const FLOWS_DEFAULT: u64 = 1_000_000;
/// The error, if neither it nor memory is given.
const TARGET_DEFAULT: Target = Target::FpRate(0.01);
/// More flows than this are a mistyped number.
const FLOWS_MAX: u64 = 1_000_000_000_000;

/// Traffic as the models see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Traffic {
    /// The part of the flows in each state.
    pub mix: StateMix,
    /// The part of the flows that are still in the state they were inserted in. `sbf` errs less
    /// on those.
    pub kept: f64,
    /// The part of the lookups that are for absent flows: the first packets of flows.
    pub absent: f64,
    /// Seconds from a flow's first packet to its last, on average.
    pub lifetime_seconds: f64,
    /// A flow idle for this long is forgotten.
    pub idle_seconds: f64,
}

impl Traffic {
    /// The traffic assumed where none was measured: eight of ten flows are in one state, which
    /// they have changed to; ten packets per flow, within five seconds; an idle timeout of a
    /// minute.
    pub fn typical(states: usize) -> Traffic {
        let rest = 0.2 / states.saturating_sub(1).max(1) as f64;
        let parts: Vec<f64> =
            (0..states.max(1)).map(|state| if state == 0 { 0.8 } else { rest }).collect();
        Traffic {
            mix: StateMix::new(&parts),
            kept: 0.2,
            absent: 0.1,
            lifetime_seconds: 5.0,
            idle_seconds: 60.0,
        }
    }

    /// How long a flow is in a store with a timer: from its first packet until it is forgotten.
    pub fn held_seconds(&self) -> f64 {
        self.arrivals().held_seconds()
    }

    /// Arrivals of which one flow is held at any time, on average.
    pub(super) fn arrivals(&self) -> Arrivals {
        let at_rate = |per_second: f64| Arrivals {
            per_second,
            lifetime_seconds: self.lifetime_seconds.max(0.0),
            phase_seconds: self.idle_seconds.max(1e-9),
        };
        at_rate(1.0 / at_rate(1.0).held_seconds())
    }

    /// The part of the held flows that still send packets.
    pub(super) fn active(&self) -> f64 {
        (self.lifetime_seconds.max(0.0) / self.held_seconds()).clamp(0.0, 1.0)
    }

    /// Lookups of a flow after its first packet.
    pub(super) fn lookups_per_flow(&self) -> f64 {
        let absent = self.absent.clamp(1e-9, 1.0);
        (1.0 - absent) / absent
    }
}

/// An error that can be accepted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// At most this part of the lookups of absent flows may find one.
    FpRate(f64),
    /// At most this part of all lookups may be answered wrongly, or with "don't know".
    Error(f64),
}

impl Target {
    /// The accepted rate.
    pub const fn rate(&self) -> f64 {
        match self {
            Target::FpRate(rate) | Target::Error(rate) => *rate,
        }
    }

    /// The rate of these errors that this target limits.
    pub fn measure(&self, errors: &ErrorRates, absent: f64) -> f64 {
        match self {
            Target::FpRate(_) => errors.of_absent(),
            Target::Error(_) => errors.total(absent),
        }
    }

    /// Whether these errors are few enough, rounding aside.
    pub fn is_met(&self, errors: &ErrorRates, absent: f64) -> bool {
        self.measure(errors, absent) <= self.rate() * (1.0 + 1e-6)
    }
}

/// What a store is required to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Requirements {
    /// Peak number of flows alive at once.
    pub flows: Option<u64>,
    /// The error that can be accepted.
    pub target: Option<Target>,
    /// Memory for the store.
    pub memory_bytes: Option<u64>,
    /// The traffic it will see.
    pub traffic: Traffic,
    /// New flows per second, if measured; else what keeps the number of flows constant.
    pub arrivals_per_second: Option<f64>,
    /// Packets per second, if known; else what the flows send.
    pub packets_per_second: Option<f64>,
    /// How `kbf` decodes, if not as in the papers.
    pub decode: Option<KbfDecode>,
}

/// Requirements outside the range that can be planned for.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum RequirementsError {
    /// No flows.
    #[error("a store needs room for at least one flow")]
    NoFlows,
    /// More flows than plans go up to.
    #[error("{flows} flows: plans go up to {limit}")]
    TooManyFlows {
        /// The number of flows.
        flows: u64,
        /// The largest number.
        limit: u64,
    },
    /// An error rate outside (0, 1).
    #[error("an error rate of {rate:?}: it must be above 0 and below 1", rate = target.rate())]
    Rate {
        /// The target.
        target: Target,
    },
    /// A packet rate that is not positive.
    #[error("{rate:?} packets per second: it must be above 0")]
    PacketRate {
        /// The rate.
        rate: f64,
    },
}

/// Requirements with defaults filled in: at most one of the three is open, and is to be solved for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResolvedRequirements {
    /// Flows; `None`: as many as possible.
    pub flows: Option<u64>,
    /// The error; `None`: as low as possible.
    pub target: Option<Target>,
    /// Memory; `None`: as little as possible.
    pub memory_bytes: Option<u64>,
}

impl Requirements {
    /// Fills in the defaults of a run, or says what is out of range.
    pub fn resolve(&self) -> Result<ResolvedRequirements, RequirementsError> {
        match self.flows {
            Some(0) => return Err(RequirementsError::NoFlows),
            Some(flows) if flows > FLOWS_MAX => {
                return Err(RequirementsError::TooManyFlows { flows, limit: FLOWS_MAX });
            }
            _ => {}
        }
        if let Some(target) = self.target
            // Written so that NaN fails too.
            && !(target.rate() > 0.0 && target.rate() < 1.0)
        {
            return Err(RequirementsError::Rate { target });
        }
        if let Some(rate) = self.packets_per_second.filter(|rate| rate.is_nan() || *rate <= 0.0) {
            return Err(RequirementsError::PacketRate { rate });
        }
        let target = match (self.target, self.memory_bytes, self.flows) {
            (None, Some(_), Some(_)) => None,
            (target, ..) => target.or(Some(TARGET_DEFAULT)),
        };
        let flows = match (self.flows, self.memory_bytes) {
            (None, Some(_)) => None,
            (flows, _) => flows.or(Some(FLOWS_DEFAULT)),
        };
        Ok(ResolvedRequirements { flows, target, memory_bytes: self.memory_bytes })
    }

    /// New flows per second with this many alive: as many as leave.
    pub fn arrivals_per_second(&self, flows: f64) -> f64 {
        self.arrivals_per_second.unwrap_or(flows / self.traffic.held_seconds())
    }

    /// Packets per second with this many flows alive.
    pub fn packets_per_second(&self, flows: f64) -> f64 {
        self.packets_per_second
            .unwrap_or(self.arrivals_per_second(flows) / self.traffic.absent.clamp(1e-9, 1.0))
    }
}

impl ResolvedRequirements {
    /// The rate by which stores are compared: the target's, or that of all errors.
    pub fn measure(&self, errors: &ErrorRates, absent: f64) -> f64 {
        self.target.unwrap_or(Target::Error(0.0)).measure(errors, absent)
    }

    /// Memory in bits.
    pub fn bits(&self) -> Option<f64> {
        self.memory_bytes.map(|bytes| 8.0 * bytes as f64)
    }
}
