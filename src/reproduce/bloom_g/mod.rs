//! The figures and tables of *Fast Bloom Filters and Their Generalization* (`bloom-g`): Bloom-1, Bloom-g
//! and Bloom-α, with the real structures beside the formulas.
//!
//! | file | what |
//! |---|---|
//! | `design` | the filters that are compared: formula, and measurement |
//! | `rates` | figures 1, 2, 5, 6, 9, 10: false positive rates |
//! | `hashes` | figures 3, 4, 7, 8, tables 2–5: membership bits, hash bits, accesses |
//! | `loads` | figures 11, 12: words by load |
//! | `alpha` | figure 13, table 6, accesses: Bloom-α |
//! | `speed`, `labels` | throughput; the flow labels of a trace |

mod alpha;
mod design;
mod hashes;
mod labels;
mod loads;
mod rates;
mod speed;

use super::experiment::ClaimKind::{Neither, Number, Shape};
use super::experiment::Work::{Run, Timed};
use super::experiment::{ClaimKind, Context, Experiment, Failure, Work};
use super::outcome::Outcome;

type Function = fn(&Context<'_>) -> Result<Outcome, Failure>;

const fn row(
    id: &'static str,
    title: &'static str,
    claim: &'static str,
    kind: ClaimKind,
    seconds: u32,
    run: Function,
) -> Experiment {
    let work: Work = Run(run);
    Experiment { id, title, claim, kind, seconds, work }
}

/// Its figures, its tables (1 is a list of symbols), and its claims without a figure.
#[rustfmt::skip]
pub const EXPERIMENTS: &[Experiment] = &[
    row("bloom-g/fig1", "Bloom-1 by the size of its words",
        "a larger word size helps to reduce the false positive ratio", Shape, 5, rates::word_sizes),
    row("bloom-g/fig2", "Bloom-1 and a Bloom filter with k = 3",
        "the false positive ratio of B1(k = 3) is slightly worse than that of B(k = 3) […]. B1(h = 3 log2 m) is \
         better than B(k = 3) when the load factor is smaller than 0.1", Shape, 5, rates::bloom_1_against_3),
    row("bloom-g/fig3", "Membership bits of Bloom-1",
        "B1(h = 3 log2 m) is able to use a larger k than B(k = 3), as shown in Fig. 3", Shape, 1, hashes::bits_of_bloom_1),
    row("bloom-g/fig4", "Best k of Bloom-1 and of a Bloom filter",
        "When the load factor is less than 0.1, k1* is significantly smaller than k*", Shape, 1, hashes::best_of_bloom_1),
    row("bloom-g/fig5", "Bloom-1 and a Bloom filter, best k",
        "The Bloom filter has a much lower false positive ratio than the Bloom-1 filter", Shape, 4, rates::bloom_1_against_best),
    row("bloom-g/fig6", "Bloom-2 and a Bloom filter with k = 3",
        "B(k = 3) and B2(k = 3) have comparable false positive ratios in load factor range of [0.1, 1], whereas \
         B2(h = 3 log2 m) performs better in load factor range of [0.00005, 1]", Shape, 5, rates::bloom_2_against_3),
    row("bloom-g/fig7", "Membership bits of Bloom-2",
        "Fig. 7 shows the number of membership bits used by the filters", Shape, 1, hashes::bits_of_bloom_2),
    row("bloom-g/fig8", "Best k of Bloom-g and of a Bloom filter",
        "It shows that the Bloom filter uses many more membership bits when the load factor is small", Shape, 1,
        hashes::best_of_bloom_g),
    row("bloom-g/fig9", "Bloom-g and a Bloom filter, best k",
        "the false positive ratio of B2(optimal k) is very close to that of B(optimal k). Furthermore, the curve of \
         B3(optimal k) is almost entirely overlapped with that of B(optimal k) for the whole load-factor range",
        Shape, 6, rates::bloom_g_against_best),
    row("bloom-g/fig10", "Filters of a growing set",
        "Before the load factor reaches 0.17, the Bloom-2 filter has significantly smaller false positive ratios than \
         the Bloom filter. When the load factor is 0.04, [it] is just one-fourth", Shape, 6, rates::growing_sets),
    row("bloom-g/fig11", "False positives by the load of the word",
        "For words whose loads are 6 or smaller, false positive ratios are very small. However, false positive ratio \
         grows superlinearly. When the loads are 10 or greater, false positive ratios are very high", Shape, 2,
        loads::rate_by_load),
    row("bloom-g/fig12", "Words by load",
        "Fewer words have heavy loads of 10 or higher in Bloom-2 than Bloom-1", Shape, 1, loads::words_by_load),
    row("bloom-g/fig13", "Bloom-α between Bloom-1 and Bloom-2",
        "The false positive ratio of Bloom-α is between those of Bloom-1 and Bloom-2. When the value of α is increased \
         from 25 to 50 percent, the false positive ratio of Bloom-α is decreased […]. When α = 50%, [it] is close to \
         that of Bloom-2", Shape, 8, alpha::rates),
    row("bloom-g/table2", "Accesses and hash bits of Bloom-1, k = 3",
        "1 access; 28, 32, 36 hash bits, and 32–44, 40–58, 48–72 with h = 3 log2 m", Number, 1, hashes::table_2),
    row("bloom-g/table3", "Accesses and hash bits of Bloom-1, best k",
        "80, 74, 62, 50, 38 hash bits; 1380, 700, 340, 180, 80 of the Bloom filter", Number, 1, hashes::table_3),
    row("bloom-g/table4", "Accesses and hash bits of Bloom-2, k = 3",
        "2 accesses; 38, 46, 54 hash bits, and 32–44, 40–58, 48–72 with h = 3 log2 m", Number, 1, hashes::table_4),
    row("bloom-g/table5", "Accesses and hash bits of Bloom-g, best k",
        "142, 118, 94, 70, 52 hash bits for g = 2 and 198, 162, 126, 90, 66 for g = 3", Number, 1, hashes::table_5),
    row("bloom-g/table6", "Accesses and hash bits of Bloom-α",
        "at most 1 + α accesses, 2 log2 l + k log2 w hash bits", Shape, 1, alpha::table_6),
    row("bloom-g/rates", "The rates that §3.2 prints",
        "when the load factor is 0.04, the false positive ratio of B(k = 3) is 1.5e-3 and that of B2(k = 3) is 1.6e-3, \
         while [that] of B2(h = 3 log2 m) is 3.1e-4", Number, 6, rates::printed_rates),
    row("bloom-g/accesses", "Accesses of Bloom-α, without a figure",
        "for α = 0.5, the average number of memory accesses is actually very close to one", Shape, 8, alpha::accesses),
    Experiment {
        id: "bloom-g/throughput",
        title: "Throughput of Bloom-1, without a figure",
        claim: "the query throughput of B1(k = 3) can be up to three times of the throughput of B(k = 3)",
        kind: Shape,
        seconds: 15,
        work: Timed(speed::throughput),
    },
    row("bloom-g/trace", "Flow labels of a trace as members (ours)",
        "We also perform experiments based on a real traffic trace [in a supplement that we do not have]", Neither, 6,
        labels::members_of_a_trace),
];
