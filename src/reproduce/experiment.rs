//! An experiment, and what its function is given.

use std::sync::atomic::{AtomicBool, Ordering};

use acsm_filters::HashKey;
use acsm_filters::kv::KvError;
use acsm_filters::rng::Random;
use acsm_filters::{SpecError, StoreError};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::outcome::Outcome;
use crate::seed::Seed;

/// One figure, table or claim of a paper.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// `paper/item`: `kbf-j/fig7`.
    pub id: &'static str,
    /// What it shows, in a few words.
    pub title: &'static str,
    /// What the paper says, in its words; in brackets, what our text of it lacks.
    pub claim: &'static str,
    /// What kind of claim that is.
    pub kind: ClaimKind,
    /// About how long it takes at the default scale, on one core.
    pub seconds: u32,
    /// How it is done.
    pub work: Work,
}

/// How an experiment is done.
#[derive(Debug, Clone, Copy)]
pub enum Work {
    /// By this function.
    Run(fn(&Context<'_>) -> Result<Outcome, Failure>),
    /// By this function, while nothing else runs: it measures time.
    Timed(fn(&Context<'_>) -> Result<Outcome, Failure>),
    /// It is the same as the experiment with this id.
    SameAs(&'static str),
}

/// What kind of claim an experiment tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimKind {
    /// A number.
    Number,
    /// How a curve runs, or which of two is above the other.
    Shape,
    /// No claim that could be tested, or a question of our own.
    Neither,
}

/// How large the experiments are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// All in a minute: for tests.
    Tiny,
    /// All in a quarter of an hour on two cores and in 4 GiB.
    Default,
    /// The papers' own sizes.
    Full,
}

impl Scale {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Scale::Tiny => "tiny",
            Scale::Default => "default",
            Scale::Full => "full",
        }
    }
}

/// Why an experiment has no outcome.
#[derive(Debug, Error)]
pub enum Failure {
    /// Somebody asked to stop.
    #[error("interrupted")]
    Stopped,
    /// A store cannot be made.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A store cannot be made as it is specified.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A key-value store refused something.
    #[error(transparent)]
    KeyValue(#[from] KvError),
    /// Something of the system failed.
    #[error(transparent)]
    System(#[from] std::io::Error),
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
}

/// What an experiment is given.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// How large it is to be.
    pub scale: Scale,
    /// All its randomness comes from here.
    pub seed: Seed,
    /// Nanoseconds since some moment: for durations that are the result, never for decisions.
    pub stopwatch: fn() -> u64,
    /// Set to end it early.
    pub stop: &'a AtomicBool,
    /// Is told which part of the work is done, from 0 to 1.
    pub progress: &'a (dyn Fn(f64) + Sync),
}

impl Context<'_> {
    /// The one of three values that belongs to the scale.
    pub fn pick<T>(&self, tiny: T, default: T, full: T) -> T {
        match self.scale {
            Scale::Tiny => tiny,
            Scale::Default => default,
            Scale::Full => full,
        }
    }

    /// Says which part of the work is done, from 0 to 1. An error if the experiment is to end; so call
    /// it about once per second or more often.
    pub fn done(&self, part: f64) -> Result<(), Failure> {
        (self.progress)(part.clamp(0.0, 1.0));
        self.check()
    }

    /// An error if the experiment is to end.
    pub fn check(&self) -> Result<(), Failure> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(Failure::Stopped),
            false => Ok(()),
        }
    }

    /// Random numbers for one purpose of this experiment.
    pub fn random(&self, purpose: u64) -> Random {
        let [seed] = self.seed.numbers(purpose);
        Random::new(seed)
    }

    /// The hash key of repetition `n`.
    pub fn hash_key(&self, n: u64) -> HashKey {
        self.seed.plus(n).hash_key()
    }
}

impl Experiment {
    /// The paper: `kbf-j`.
    pub fn paper(&self) -> &'static str {
        self.id.split_once('/').map_or(self.id, |(paper, _)| paper)
    }

    /// The item: `fig7`.
    pub fn item(&self) -> &'static str {
        self.id.split_once('/').map_or("", |(_, item)| item)
    }
}
