//! Verdicts: whether an experiment agrees with its paper.

use serde::{Deserialize, Serialize};

use crate::units::scientific;

/// Whether an experiment agrees with its paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// It agrees.
    Reproduced,
    /// It does not.
    Differs,
    /// That cannot be said.
    Undecided,
}

impl Answer {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Answer::Reproduced => "reproduced",
            Answer::Differs => "differs",
            Answer::Undecided => "undecided",
        }
    }
}

/// A verdict with its reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether it agrees.
    #[serde(rename = "verdict")]
    pub answer: Answer,
    /// What the paper says, in short.
    pub paper: String,
    /// What was measured.
    pub measured: String,
    /// Why that agrees, differs, or decides nothing.
    pub why: String,
}

/// A statement about what is measured, fixed before the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The statement.
    pub says: String,
    /// Whether it holds; `None` if that cannot be said.
    pub holds: Option<bool>,
    /// What was measured.
    pub seen: String,
}

impl Check {
    /// A statement that holds or does not.
    pub fn new(says: impl Into<String>, holds: bool, seen: impl Into<String>) -> Check {
        Check { says: says.into(), holds: Some(holds), seen: seen.into() }
    }

    /// A statement that cannot be tested, and why.
    pub fn open(says: impl Into<String>, why: impl Into<String>) -> Check {
        Check { says: says.into(), holds: None, seen: why.into() }
    }
}

impl Verdict {
    /// Of any answer.
    pub fn new(
        answer: Answer,
        paper: impl Into<String>,
        measured: impl Into<String>,
        why: impl Into<String>,
    ) -> Verdict {
        Verdict { answer, paper: paper.into(), measured: measured.into(), why: why.into() }
    }

    /// Nothing can be said.
    pub fn undecided(paper: impl Into<String>, why: impl Into<String>) -> Verdict {
        Verdict::new(Answer::Undecided, paper, "", why)
    }

    /// Of a number: reproduced if `printed` lies in `interval`, which is for the paper's sample size.
    pub fn of_number(
        paper: impl Into<String>,
        printed: f64,
        measured: f64,
        [low, high]: [f64; 2],
    ) -> Verdict {
        let inside = (low..=high).contains(&printed);
        let answer = if inside { Answer::Reproduced } else { Answer::Differs };
        let place = if inside { "is in" } else { "is outside" };
        Verdict::new(
            answer,
            paper,
            scientific(measured),
            format!(
                "{} {place} the 99 % interval {} to {} for the paper's sample size",
                scientific(printed),
                scientific(low),
                scientific(high)
            ),
        )
    }

    /// Of a shape: differs if a check fails, else undecided if one is open, else reproduced.
    pub fn of_checks(paper: impl Into<String>, checks: &[Check]) -> Verdict {
        let any = |holds| checks.iter().any(|check| check.holds == holds);
        let answer = match () {
            () if any(Some(false)) => Answer::Differs,
            () if any(None) || checks.is_empty() => Answer::Undecided,
            () => Answer::Reproduced,
        };
        let seen: Vec<&str> = checks.iter().map(|check| check.seen.as_str()).collect();
        let why: Vec<String> = checks
            .iter()
            .map(|Check { says, holds, .. }| match holds {
                Some(true) => format!("{says}: holds"),
                Some(false) => format!("{says}: does not hold"),
                None => format!("{says}: open"),
            })
            .collect();
        Verdict::new(answer, paper, seen.join("; "), why.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failed_check_is_enough_and_all_must_hold() {
        let answer = |checks: &[Option<bool>]| {
            let checks: Vec<Check> = checks
                .iter()
                .map(|&holds| Check { holds, ..Check::new("x falls", true, "1 to 2") })
                .collect();
            Verdict::of_checks("it falls", &checks).answer
        };
        assert_eq!(answer(&[Some(true), Some(true)]), Answer::Reproduced);
        assert_eq!(answer(&[Some(true), None]), Answer::Undecided);
        assert_eq!(answer(&[None, Some(false)]), Answer::Differs);
        assert_eq!(answer(&[]), Answer::Undecided);
    }

    #[test]
    fn a_number_is_compared_with_the_interval() {
        let verdict = |printed| Verdict::of_number("0.6", printed, 0.61, [0.55, 0.67]);
        assert_eq!(verdict(0.55).answer, Answer::Reproduced);
        assert_eq!(verdict(0.68).answer, Answer::Differs);
        assert!(verdict(0.68).why.contains("is outside"), "{}", verdict(0.68).why);
    }
}
