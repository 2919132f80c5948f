//! The figures of *Beyond Bloom Filters: From Approximate Membership Checks to Approximate State Machines*
//! (`acsm`), of which our text is a fragment without the experiments' parameters; and experiments of ours
//! in its setting.
//!
//! | file | what |
//! |---|---|
//! | `figures` | figures 1 and 2, lookups with the state given |
//! | `machines` | stores on random state machines; counters, don't know, steady state |
//! | `ghosts` | what ended flows leave on cells under the timer |
//! | `flow_map`, `random_machine` | any store as a map; machines and streams |

mod figures;
mod flow_map;
mod ghosts;
mod machines;
mod random_machine;

use super::experiment::ClaimKind::{Neither, Number, Shape};
use super::experiment::Experiment;
use super::experiment::Work::Run;

/// Its two figures, and what its text supports.
#[rustfmt::skip]
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        id: "acsm/fig1",
        title: "A state change in a direct Bloom filter",
        claim: "The counters for the old flow-state pair are decremented, the counters for the new flow-state pair are \
                incremented",
        kind: Number,
        seconds: 1,
        work: Run(figures::state_change),
    },
    Experiment {
        id: "acsm/fig2",
        title: "Timer-based deletion",
        claim: "One bit is used for each cell; when the global timer goes off, untouched cells (in grey) are reset to 0",
        kind: Number,
        seconds: 1,
        work: Run(figures::global_reset),
    },
    Experiment {
        id: "acsm/state-given",
        title: "Lookups with the state given, and without",
        claim: "the time to check for a state is proportional to the number of states; moreover, because of false positives \
                […], it is possible that a flow appears to be in multiple states",
        kind: Shape,
        seconds: 2,
        work: Run(figures::state_given),
    },
    Experiment {
        id: "acsm/machines",
        title: "dbf, sbf and fcf on random state machines (ours)",
        claim: "[our fragment has neither the figures nor the parameters of the paper's experiments]",
        kind: Neither,
        seconds: 15,
        work: Run(machines::on_random_machines),
    },
    Experiment {
        id: "acsm/counters",
        title: "Counters of none, 2 and 4 bits under the timer (ours)",
        claim: "A small counter would be useful when flows change state often within a timing phase; otherwise, the filter \
                will be highly polluted",
        kind: Shape,
        seconds: 15,
        work: Run(machines::counters),
    },
    Experiment {
        id: "acsm/dont-know",
        title: "Don't know against false return (ours)",
        claim: "Returning DK is generally far less damaging for an application than a false negative or a false return state",
        kind: Neither,
        seconds: 5,
        work: Run(machines::dont_know),
    },
    Experiment {
        id: "acsm/steady-state",
        title: "Fill over phases until it settles (ours)",
        claim: "a well-behaved, sufficiently large filter will reach a fairly consistent steady-state over time […]. \
                Non-terminating flows eventually would cause the filter itself to saturate with non-zero entries, unless \
                timing-based mechanisms are used",
        kind: Shape,
        seconds: 3,
        work: Run(machines::steady_state),
    },
    Experiment {
        id: "acsm/ghosts",
        title: "What ended flows leave on cells under the timer (ours)",
        claim: "any cell not touched during a phase is reset, so that any flow that has not taken part in an operation will \
                eventually be removed from the ACSM",
        kind: Neither,
        seconds: 10,
        work: Run(ghosts::ghosts),
    },
];
