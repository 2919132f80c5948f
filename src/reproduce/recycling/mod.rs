//! The figures of *Modeling Average False Positive Rates of Recycling Bloom Filters* (`recycling`), and what
//! it leaves out.
//!
//! | file | what |
//! |---|---|
//! | `simulate` | the paper's simulation |
//! | `figures` | figures 3–5: its own comparisons of models and simulation |
//! | `capacity` | figures 6–8: messages at an average rate |
//! | `variants` | the four chains, the three ways of counting |
//! | `memory`, `forgetting` | false negatives; two phases as printed and ours; an age-partitioned filter |

mod capacity;
mod figures;
mod forgetting;
mod memory;
mod simulate;
mod variants;

use super::experiment::ClaimKind::{Neither, Shape};
use super::experiment::Experiment;
use super::experiment::Work::Run;

/// Its figures (1 and 2 are drawings, table I is a list of symbols), and experiments of ours.
#[rustfmt::skip]
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        id: "recycling/fig3",
        title: "One phase: model and simulation",
        claim: "For all data points, the value of f_σ¹ lies within the confidence interval",
        kind: Shape,
        seconds: 10,
        work: Run(figures::one_phase),
    },
    Experiment {
        id: "recycling/fig4",
        title: "Two phases: model and simulation",
        claim: "The value of f_σ² lies within the confidence interval for all points",
        kind: Shape,
        seconds: 20,
        work: Run(figures::two_phases),
    },
    Experiment {
        id: "recycling/fig5",
        title: "Lower bounds for filters bounded by messages",
        claim: "For all data points, both f_o and f_a are below the sample mean, and fall either within or below the \
                confidence interval […]. Observe that f_a is a “tighter” lower bound than f_o",
        kind: Shape,
        seconds: 10,
        work: Run(figures::bounded_by_messages),
    },
    Experiment {
        id: "recycling/fig6",
        title: "Messages at a rate of 0.01, against M",
        claim: "f_a is seen to be a good approximation […]. f_w […] consistently suffers a > 30% underestimation of maximum \
                message capacity",
        kind: Shape,
        seconds: 5,
        work: Run(capacity::against_bits),
    },
    Experiment {
        id: "recycling/fig7",
        title: "Messages against the rate",
        claim: "the worst-case N model sees a consistent underestimation of max message capacity of around 30%",
        kind: Shape,
        seconds: 1,
        work: Run(capacity::against_rate),
    },
    Experiment {
        id: "recycling/fig8",
        title: "One phase against two",
        claim: "the one-phase RBF appears to outperform the two-phased filter [figure; abstract:] two-phase overhead diminishes \
                as the needed False Positive rate is tightened",
        kind: Shape,
        seconds: 1,
        work: Run(capacity::one_phase_over_two),
    },
    Experiment {
        id: "recycling/chains",
        title: "The four chains",
        claim: "the results for the combinations of colliding/non-colliding and retaining/non-retaining variants are nearly \
                identical",
        kind: Shape,
        seconds: 10,
        work: Run(variants::chains),
    },
    Experiment {
        id: "recycling/counts",
        title: "Three ways of counting",
        claim: "We can prove that count-instance is the most stringent (largest) of False Positive rates of the three versions",
        kind: Shape,
        seconds: 5,
        work: Run(variants::counts),
    },
    Experiment {
        id: "recycling/false-negatives",
        title: "False negatives, which the paper leaves out",
        claim: "well-provisioned RBFs can make false negative rates negligible. […] a detailed investigation of false negatives \
                is beyond the scope of this paper",
        kind: Shape,
        seconds: 8,
        work: Run(forgetting::false_negatives),
    },
    Experiment {
        id: "recycling/two-phase",
        title: "Two phases as printed, and ours",
        claim: "the status of the previously active (now frozen) filter remains unaffected [in ours, hits move]",
        kind: Neither,
        seconds: 8,
        work: Run(forgetting::two_phases),
    },
    Experiment {
        id: "recycling/age-partitioned",
        title: "An age-partitioned Bloom filter (ours)",
        claim: "[not of the paper: arXiv 2001.03147 as today's alternative]",
        kind: Neither,
        seconds: 8,
        work: Run(forgetting::age_partitioned),
    },
];
