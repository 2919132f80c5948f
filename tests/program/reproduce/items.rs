//! The figures of the two kBF papers, typed from their texts: each is an experiment, or a drawing.

use std::collections::BTreeSet;

use acsm::reproduce::{Work, experiments, find};

/// Paper, how many figures it has, which of them are drawings, and experiments of ours. Neither has a
/// numbered table.
const PAPERS: [(&str, u32, &[u32], &[&str]); 2] = [
    // 1: architecture of the kBF, 6: of the d-kBF.
    ("kbf-j", 25, &[1, 6], &["profile"]),
    // 1: architecture of the kBF.
    ("kbf-i", 15, &[1], &[]),
];

#[test]
fn every_figure_of_the_kbf_papers_is_an_experiment() {
    for (paper, figures, drawings, ours) in PAPERS {
        let with_results = (1..=figures).filter(|figure| !drawings.contains(figure));
        let mut expected: BTreeSet<String> = with_results.map(|n| format!("fig{n}")).collect();
        expected.extend(ours.iter().map(|item| (*item).to_owned()));
        let of_paper = experiments().filter(|experiment| experiment.paper() == paper);
        let listed: BTreeSet<String> = of_paper.map(|one| one.item().to_owned()).collect();
        assert_eq!(listed, expected, "{paper}");
    }
}

#[test]
fn ids_are_unique_and_aliases_lead_to_work() {
    let ids: BTreeSet<&str> = experiments().map(|experiment| experiment.id).collect();
    assert_eq!(ids.len(), experiments().count());
    for experiment in experiments() {
        assert!(!experiment.claim.is_empty() && !experiment.title.is_empty(), "{}", experiment.id);
        if let Work::SameAs(other) = experiment.work {
            let found = find(other);
            let [target] = found.as_slice() else { panic!("{} → {other}", experiment.id) };
            assert!(!matches!(target.work, Work::SameAs(_)), "{} → {other}", experiment.id);
            assert_eq!(experiment.seconds, target.seconds, "{}", experiment.id);
        }
    }
}
