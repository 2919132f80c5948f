//! The figures and tables of the recycling paper, the Bloom-g paper and ACSM 2006, typed from their texts:
//! each is an experiment, or is left out for a reason.

use std::collections::BTreeSet;

use acsm::reproduce::experiments;

/// What a paper has.
struct Paper {
    name: &'static str,
    /// How many figures and tables, numbered from 1.
    figures: u32,
    tables: u32,
    /// Figures and tables without a result.
    left_out: &'static [(&'static str, &'static str)],
    /// Experiments beyond them: claims without a figure, and ours.
    more: &'static [&'static str],
}

const PAPERS: [Paper; 3] = [
    Paper {
        name: "recycling",
        figures: 8,
        tables: 1,
        left_out: &[
            ("fig1", "a drawing of the chain's steps forwards"),
            ("fig2", "a drawing of its steps backwards"),
            ("table1", "a list of symbols"),
        ],
        more: &["chains", "counts", "false-negatives", "two-phase", "age-partitioned"],
    },
    Paper {
        name: "bloom-g",
        figures: 13,
        tables: 6,
        left_out: &[("table1", "a list of symbols")],
        more: &["rates", "accesses", "throughput", "trace"],
    },
    Paper {
        name: "acsm",
        figures: 2,
        // Of the fragment that we have.
        tables: 0,
        left_out: &[],
        more: &["state-given", "machines", "counters", "dont-know", "steady-state", "ghosts"],
    },
];

#[test]
fn every_figure_and_table_is_an_experiment() {
    for paper in PAPERS {
        let printed = (1..=paper.figures).map(|n| format!("fig{n}"));
        let printed: BTreeSet<String> =
            printed.chain((1..=paper.tables).map(|n| format!("table{n}"))).collect();
        let left_out: BTreeSet<String> =
            paper.left_out.iter().map(|(item, _)| (*item).to_owned()).collect();
        assert!(left_out.is_subset(&printed), "{}", paper.name);
        let mut expected: BTreeSet<String> = &printed - &left_out;
        expected.extend(paper.more.iter().map(|item| (*item).to_owned()));
        let of_paper = experiments().filter(|experiment| experiment.paper() == paper.name);
        let listed: BTreeSet<String> = of_paper.map(|one| one.item().to_owned()).collect();
        assert_eq!(listed, expected, "{}", paper.name);
    }
}
