//! The table of all experiments: one table per paper, in the order of the page.

use super::experiment::Experiment;
use super::{acsm, bloom_g, kbf, recycling};

/// The tables of the papers.
const TABLES: &[&[Experiment]] =
    &[kbf::JOURNAL, kbf::INFOCOM, recycling::EXPERIMENTS, bloom_g::EXPERIMENTS, acsm::EXPERIMENTS];

/// All experiments.
pub fn experiments() -> impl Iterator<Item = &'static Experiment> {
    TABLES.iter().copied().flatten()
}

/// The experiments that `name` means: one by its id, or all of a paper.
pub fn find(name: &str) -> Vec<&'static Experiment> {
    experiments().filter(|experiment| experiment.id == name || experiment.paper() == name).collect()
}
