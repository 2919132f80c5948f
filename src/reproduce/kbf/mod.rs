//! The figures of the two kBF papers: *kBF: Towards Approximate and Bloom Filter based Key-Value Storage
//! for Cloud Computing Systems* (journal, `kbf-j`) and *kBF: a Bloom Filter for Key-Value Storage with an
//! Application on Approximate State Machines* (INFOCOM 2014, `kbf-i`).
//!
//! | file | figures of the journal |
//! |---|---|
//! | `codes` | 2, 3, 18: codes, their inverse, tables of decoding |
//! | `cells` | 4, 5: how many items a cell has |
//! | `errors` | 7, 8, 17: errors against size; the two options of decoding |
//! | `batches` | 9–12: deletions and updates |
//! | `joins` | 13, 14: JOIN and COMPRESS |
//! | `timing` | 15: time, beside a Memcached and a HashMap |
//! | `memory` | 16: memory, beside a Memcached; INFOCOM 8 |
//! | `noise` | 19: states of flows as an image |
//! | `balance` | 20–23: Algorithm 8 |
//! | `tcp` | 24, 25, INFOCOM 13: the TCP study, on a generated `trace` |
//! | `profile` | how far that depends on the parameters of the trace |
//!
//! `filter` is the filter of the papers with its pairs, `sizes` has pairs as byte strings, `memcached` runs a
//! Memcached, `trace_stores` runs stores over a trace, `temporary` has a folder for files, `points` is what checks
//! have in common.

mod balance;
mod batches;
mod cells;
mod codes;
mod errors;
mod filter;
mod joins;
mod memcached;
mod memory;
mod noise;
mod points;
mod profile;
mod sizes;
mod tcp;
mod temporary;
mod timing;
mod trace;
mod trace_stores;

use super::experiment::ClaimKind::{Neither, Number, Shape};
use super::experiment::Experiment;
use super::experiment::Work::{Run, SameAs, Timed};

/// Figures of the journal paper; 1 and 6 are drawings of the architecture.
pub const JOURNAL: &[Experiment] = &[
    Experiment {
        id: "kbf-j/fig2",
        title: "Bits of a code against the number of codes",
        claim: "there is a theoretical lower bound of P = 28 for 2^14 (16,384) encodings, and the \
                greedy method is able to find a solution with P = 30",
        kind: Number,
        seconds: 50,
        work: Run(codes::bits),
    },
    Experiment {
        id: "kbf-j/fig3",
        title: "Codes by index, and the look-up by regression",
        claim: "valid encoding values usually form a curve that can be approximated with a \
                polynomial function […] only three memory accesses are needed to find the encoding \
                index and its associated value, which is much faster than the binary search method \
                with an average number of memory accesses of 14",
        kind: Shape,
        seconds: 1,
        work: Run(codes::index_of_codes),
    },
    Experiment {
        id: "kbf-j/fig4",
        title: "Cells with three items or more, against n",
        claim: "the actual non-decodable probability for a single cell is concentrated around \
                0.0333313, which is the same as the predicted value of P_n(1) as 0.0333132",
        kind: Number,
        seconds: 1,
        work: Run(cells::crowded_against_n),
    },
    Experiment {
        id: "kbf-j/fig5",
        title: "Keys that cannot be decoded, against ρ",
        claim: "for k = 10, to maintain that virtually all decoding operations as successful (success rate \
                is almost 1), we can only overload ρ to be less than 2",
        kind: Shape,
        seconds: 3,
        work: Run(cells::undecodable_against_rho),
    },
    Experiment {
        id: "kbf-j/fig7",
        title: "False negatives against the size of the filter",
        claim: "the false negative errors almost do not exist if the p-capacity is not violated. On \
                the other hand, if the size of the filter m is decreased linearly in steps from 0.9m \
                to 0.5m, the false negative errors are increasing exponentially",
        kind: Shape,
        seconds: 7,
        work: Run(errors::false_negatives),
    },
    Experiment {
        id: "kbf-j/fig8",
        title: "False positives against the size of the filter",
        claim: "if the p-capacity is not violated, the false positive rate is close to the value of \
                p […] in their order of magnitude. On the other hand, if the size of m is reduced, \
                the false positive rate becomes higher",
        kind: Shape,
        seconds: 3,
        work: Run(errors::false_positives),
    },
    Experiment {
        id: "kbf-j/fig9",
        title: "False positives after each batch of deletions, m cells",
        claim: "we delete the 10 million inserted keys in batches, each has 1 million keys. We then \
                query the deleted keys after each deletion […]. Observe that for a smaller p, the \
                performance tends to be much better",
        kind: Shape,
        seconds: 7,
        work: Run(batches::deletions),
    },
    Experiment {
        id: "kbf-j/fig10",
        title: "False positives after each batch of deletions, m/2 cells",
        claim: "Figure 9 and Figure 10 show the results for normal and half size of kBF. Observe \
                that for a smaller p, the performance tends to be much better",
        kind: Shape,
        seconds: 7,
        work: Run(batches::deletions_in_half),
    },
    Experiment {
        id: "kbf-j/fig11",
        title: "False negatives after each batch of updates, m cells",
        claim: "we update keys with new values in batches and we are interested in false negatives, \
                which refer to null values. […] the performance will be much better for smaller p \
                values and larger m sizes",
        kind: Shape,
        seconds: 1,
        work: Run(batches::updates),
    },
    Experiment {
        id: "kbf-j/fig12",
        title: "False negatives after each batch of updates, m/2 cells",
        claim: "the performance will be much better for smaller p values and larger m sizes",
        kind: Shape,
        seconds: 19,
        work: Run(batches::updates_in_half),
    },
    Experiment {
        id: "kbf-j/fig13",
        title: "False negatives after JOIN",
        claim: "when the capacity coefficient threshold is below 0.5, […] the error rate is almost \
                zero. On the other hand, when the ρs of d_1 and d_2 are beyond 0.5, […] the number \
                of false negative error increases exponentially",
        kind: Shape,
        seconds: 18,
        work: Run(joins::join),
    },
    Experiment {
        id: "kbf-j/fig14",
        title: "False negatives after COMPRESS",
        claim: "Due to the same reasoning, we have very similar results compared to join operation",
        kind: Shape,
        seconds: 10,
        work: Run(joins::compress),
    },
    Experiment {
        id: "kbf-j/fig15",
        title: "Time to insert, query and delete",
        claim: "the time of both the kBF and Memcached increases almost linearly as the number of \
                k-v pairs increases […]. More importantly, the kBF is almost 10 times faster than \
                Memcached",
        kind: Shape,
        seconds: 90,
        work: Timed(timing::beside_memcached),
    },
    Experiment {
        id: "kbf-j/fig16",
        title: "Memory beside a Memcached",
        claim: "The Memcached size is in the range from 64MB to 1024MB, and compared to Memcached, \
                the overall size of kBF could save 30.33% memory on average",
        kind: Number,
        seconds: 3,
        work: Run(memory::beside_memcached),
    },
    Experiment {
        id: "kbf-j/fig17",
        title: "False negatives of the two options of decoding, m/2 cells",
        claim: "we obtain fewer false negative errors by almost an order of magnitude by using the \
                second option",
        kind: Shape,
        seconds: 28,
        work: Run(errors::two_options),
    },
    Experiment {
        id: "kbf-j/fig18",
        title: "Memory of the two options of decoding",
        claim: "we spend 21% more memory usage on average as additional overhead",
        kind: Number,
        seconds: 2,
        work: Run(codes::memory_of_options),
    },
    Experiment {
        id: "kbf-j/fig19",
        title: "Hu's moments of patches, true and queried",
        claim: "as the false positive probability decreases, the Euclidean distance between patches \
                from the two data sources show less and less number of sporadic peaks and eventually \
                no peaks when p = 0.0001",
        kind: Shape,
        seconds: 3,
        work: Run(noise::moments),
    },
    Experiment {
        id: "kbf-j/fig20",
        title: "Pairs per server, before and after balancing",
        claim: "Figure 20 shows the number of k-v pairs each server stores before and after the algorithm",
        kind: Shape,
        seconds: 1,
        work: Run(balance::servers),
    },
    Experiment {
        id: "kbf-j/fig21",
        title: "ρ after each exchange",
        claim: "Figure 21 shows the variation of ρ during each step, where the ρ is keep decreasing",
        kind: Shape,
        seconds: 1,
        work: Run(balance::steps),
    },
    Experiment {
        id: "kbf-j/fig22",
        title: "ρ before and after, 100 starts",
        claim: "during some initial settings, there is no improvement since the original ρ is small enough \
                […]. Other than that, we could gain large decrease of ρ, especially under those very \
                imbalanced initial settings",
        kind: Shape,
        seconds: 1,
        work: Run(balance::before_and_after),
    },
    Experiment {
        id: "kbf-j/fig23",
        title: "Improvement of ρ, sorted",
        claim: "The average improvement is 60.86%",
        kind: Number,
        seconds: 2,
        work: Run(balance::improvement),
    },
    Experiment {
        id: "kbf-j/fig24",
        title: "False negatives of the TCP study",
        claim: "as the preset p value decreases, false negative errors of the kBF decreases \
                dramatically. However, false negative errors of the sBF almost stay constant",
        kind: Shape,
        seconds: 38,
        work: Run(tcp::false_negatives),
    },
    Experiment {
        id: "kbf-j/fig25",
        title: "All errors of the TCP study",
        claim: "Figure 25 shows the total errors of the kBF and the sBF. Again, we observe that the \
                kBF performs much better in terms of reducing errors",
        kind: Shape,
        seconds: 37,
        work: Run(tcp::total_errors),
    },
    Experiment {
        id: "kbf-j/profile",
        title: "The TCP study by the parameters of its trace (ours)",
        claim: "[the papers tell three figures of their trace: 908,522 flows, 900 with a FIN, 1,658 \
                with a RST]",
        kind: Neither,
        seconds: 92,
        work: Run(profile::dependence),
    },
];

/// Figures of the INFOCOM paper; 1 is a drawing.
pub const INFOCOM: &[Experiment] = &[
    Experiment {
        id: "kbf-i/fig2",
        title: "Bits of a code against the number of codes",
        claim: "as the journal's figure 2",
        kind: Number,
        seconds: 50,
        work: SameAs("kbf-j/fig2"),
    },
    Experiment {
        id: "kbf-i/fig3",
        title: "Codes by index, and the look-up by regression",
        claim: "as the journal's figure 3",
        kind: Shape,
        seconds: 1,
        work: SameAs("kbf-j/fig3"),
    },
    Experiment {
        id: "kbf-i/fig4",
        title: "Cells with three items or more, against n",
        claim: "as the journal's figure 4",
        kind: Number,
        seconds: 1,
        work: SameAs("kbf-j/fig4"),
    },
    Experiment {
        id: "kbf-i/fig5",
        title: "Keys that cannot be decoded, against ρ",
        claim: "as the journal's figure 5",
        kind: Shape,
        seconds: 3,
        work: SameAs("kbf-j/fig5"),
    },
    Experiment {
        id: "kbf-i/fig6",
        title: "False negatives against the size of the filter",
        claim: "the false negative errors almost do not exist if the p-capacity is not violated. On \
                the other hand, if the size of the filter m is decreased by half, for larger p \
                values, the false negative errors are more frequent",
        kind: Shape,
        seconds: 7,
        work: SameAs("kbf-j/fig7"),
    },
    Experiment {
        id: "kbf-i/fig7",
        title: "False positives against the size of the filter",
        claim: "as the journal's figure 8",
        kind: Shape,
        seconds: 3,
        work: SameAs("kbf-j/fig8"),
    },
    Experiment {
        id: "kbf-i/fig8",
        title: "Memory of the filter against p",
        claim: "The entire kBF takes between 0.5G to 1.5G bytes of RAM […]. Observe that a smaller p \
                leads to a larger memory usage",
        kind: Shape,
        seconds: 1,
        work: Run(memory::against_rate),
    },
    Experiment {
        id: "kbf-i/fig9",
        title: "False positives after each batch of deletions, m cells",
        claim: "as the journal's figure 9",
        kind: Shape,
        seconds: 7,
        work: SameAs("kbf-j/fig9"),
    },
    Experiment {
        id: "kbf-i/fig10",
        title: "False positives after each batch of deletions, m/2 cells",
        claim: "as the journal's figure 10",
        kind: Shape,
        seconds: 7,
        work: SameAs("kbf-j/fig10"),
    },
    Experiment {
        id: "kbf-i/fig11",
        title: "False negatives after each batch of updates, m cells",
        claim: "we are interested in false negatives, which refer to null values or incorrect \
                values. […] the performance will be much better for smaller p values and larger m \
                sizes",
        kind: Shape,
        seconds: 1,
        work: Run(batches::null_or_wrong),
    },
    Experiment {
        id: "kbf-i/fig12",
        title: "False negatives after each batch of updates, m/2 cells",
        claim: "the performance will be much better for smaller p values and larger m sizes",
        kind: Shape,
        seconds: 19,
        work: Run(batches::null_or_wrong_in_half),
    },
    Experiment {
        id: "kbf-i/fig13",
        title: "False positives of the TCP study",
        claim: "[not mentioned in the text; by its place between figures 12 and 14]",
        kind: Neither,
        seconds: 36,
        work: Run(tcp::false_positives),
    },
    Experiment {
        id: "kbf-i/fig14",
        title: "False negatives of the TCP study",
        claim: "as the journal's figure 24",
        kind: Shape,
        seconds: 38,
        work: SameAs("kbf-j/fig24"),
    },
    Experiment {
        id: "kbf-i/fig15",
        title: "All errors of the TCP study",
        claim: "as the journal's figure 25",
        kind: Shape,
        seconds: 37,
        work: SameAs("kbf-j/fig25"),
    },
];
