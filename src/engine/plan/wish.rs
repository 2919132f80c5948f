//! What a user knows: flows, memory or an error they can accept. Any two give the third.

use thiserror::Error;

use super::traffic::Traffic;
use acsm_model::ErrorRates;

/// Flows, if neither they nor both memory and an error are given: as in a run.
const FLOWS_DEFAULT: u64 = 1_000_000;
/// The error, if neither it nor memory is given.
const TARGET_DEFAULT: Target = Target::FpRate(0.01);
/// More flows are no wish but a slip of the keyboard.
const FLOWS_MAX: u64 = 1_000_000_000_000;

/// An error that can be accepted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// This part of the lookups of strangers may be taken for flows.
    FpRate(f64),
    /// This part of all lookups may be answered wrongly, or with "don't know".
    Error(f64),
}

impl Target {
    /// The part that may be wrong.
    pub const fn rate(&self) -> f64 {
        match self {
            Target::FpRate(rate) | Target::Error(rate) => *rate,
        }
    }

    /// What these errors come to, by this measure.
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

/// What is wished for.
#[derive(Debug, Clone, PartialEq)]
pub struct Wish {
    /// Peak number of flows alive at once.
    pub flows: Option<u64>,
    /// The error that can be accepted.
    pub target: Option<Target>,
    /// Memory for the store.
    pub memory_bytes: Option<u64>,
    /// What the store will be asked.
    pub traffic: Traffic,
    /// New flows a second, if it was measured; else what keeps the flows alive.
    pub arrivals_per_second: Option<f64>,
    /// Packets a second; else what the flows send.
    pub packets_per_second: Option<f64>,
}

/// A wish that means nothing.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum WishError {
    /// `--flows 0`.
    #[error("--flows 0: a store needs room for at least one flow")]
    NoFlows,
    /// More than anybody has.
    #[error("--flows {0}: plans go up to {FLOWS_MAX}")]
    TooManyFlows(u64),
    /// A rate that is none.
    #[error("{option} {rate:?}: it must be above 0 and below 1, such as 0.01, 1e-4 or 0.1%")]
    Rate {
        /// The option.
        option: &'static str,
        /// What was given.
        rate: f64,
    },
    /// A pace that is none.
    #[error("--packet-rate {0:?}: it must be above 0")]
    PacketRate(f64),
}

/// A wish with its gaps filled: at most one of the three is open.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Asked {
    /// Flows; open if both others are given.
    pub flows: Option<u64>,
    /// The error; open if it is to be the least.
    pub target: Option<Target>,
    /// Memory; open if it is to be the least.
    pub memory_bytes: Option<u64>,
}

impl Wish {
    /// Fills the gaps with what a run takes, or says what makes no sense.
    pub fn asked(&self) -> Result<Asked, WishError> {
        match self.flows {
            Some(0) => return Err(WishError::NoFlows),
            Some(flows) if flows > FLOWS_MAX => return Err(WishError::TooManyFlows(flows)),
            _ => {}
        }
        if let Some(target) = self.target {
            let option = match target {
                Target::FpRate(_) => "--fp-rate",
                Target::Error(_) => "--error",
            };
            // Written so that NaN fails too.
            if !(target.rate() > 0.0 && target.rate() < 1.0) {
                return Err(WishError::Rate { option, rate: target.rate() });
            }
        }
        if let Some(rate) = self.packets_per_second.filter(|rate| rate.is_nan() || *rate <= 0.0) {
            return Err(WishError::PacketRate(rate));
        }
        let target = match (self.target, self.memory_bytes, self.flows) {
            (None, Some(_), Some(_)) => None,
            (target, ..) => target.or(Some(TARGET_DEFAULT)),
        };
        let flows = match (self.flows, self.memory_bytes) {
            (None, Some(_)) => None,
            (flows, _) => flows.or(Some(FLOWS_DEFAULT)),
        };
        Ok(Asked { flows, target, memory_bytes: self.memory_bytes })
    }

    /// New flows a second where so many are alive: what comes must go.
    pub fn arrivals_per_second(&self, flows: f64) -> f64 {
        self.arrivals_per_second.unwrap_or(flows / self.traffic.held_seconds())
    }

    /// Packets a second where so many flows are alive.
    pub fn packets_per_second(&self, flows: f64) -> f64 {
        self.packets_per_second
            .unwrap_or(self.arrivals_per_second(flows) / self.traffic.absent.clamp(1e-9, 1.0))
    }
}

impl Asked {
    /// How errors are weighed: by the target, or all of them.
    pub fn measure(&self, errors: &ErrorRates, absent: f64) -> f64 {
        self.target.unwrap_or(Target::Error(0.0)).measure(errors, absent)
    }

    /// Memory in bits.
    pub fn bits(&self) -> Option<f64> {
        self.memory_bytes.map(|bytes| 8.0 * bytes as f64)
    }
}
