//! docs/errata.md: ids are unique and in order, what shows an error exists, and the numbers in bold are
//! computed again from the closed forms.

use std::collections::BTreeSet;

use acsm::reproduce;
use acsm_filters::codes::GREEDY_CODES;
use acsm_model::bloom_g::BloomG;
use acsm_model::recycling::{
    Cycle, End, Filter, Frozen, Hashing, expected_messages, n_bounded, one_hash,
};
use acsm_model::{bloom, dbf, kbf};
use acsm_test_support::repository::read;

use crate::tidy;

/// A row: its id, its text, and what shows it.
struct Erratum {
    id: String,
    text: String,
    shown_by: Vec<String>,
}

fn errata() -> Vec<Erratum> {
    let page = read("docs/errata.md");
    let rows = page.lines().filter_map(|line| {
        let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
        let [id, _, _, _, shown_by] = cells.as_slice() else { return None };
        (*id != "id").then(|| Erratum {
            id: (*id).to_owned(),
            text: line.to_owned(),
            shown_by: shown_by.split('`').skip(1).step_by(2).map(str::to_owned).collect(),
        })
    });
    rows.collect()
}

#[test]
fn ids_count_up_in_each_paper() {
    let errata = errata();
    assert!(errata.len() > 40, "{} rows", errata.len());
    let mut last = ("", 0);
    for erratum in &errata {
        let (paper, number) = erratum.id.split_once('-').expect(&erratum.id);
        let number: u32 = number.parse().expect(&erratum.id);
        let expected = if paper == last.0 { last.1 + 1 } else { 1 };
        assert_eq!(number, expected, "{}", erratum.id);
        last = (paper, number);
    }
}

#[test]
fn what_shows_an_error_exists() {
    let sources = tidy::sources();
    let functions: BTreeSet<&str> = sources
        .iter()
        .flat_map(|source| &source.lines)
        .filter_map(|line| line.trim_start().strip_prefix("fn ")?.split('(').next())
        .collect();
    for erratum in errata() {
        assert!(!erratum.shown_by.is_empty() || erratum.text.ends_with("| — |"), "{}", erratum.id);
        for by in &erratum.shown_by {
            let exists = match by.rsplit_once("::") {
                Some((_, function)) => functions.contains(function),
                None => !reproduce::find(by).is_empty(),
            };
            assert!(exists, "{}: `{by}` is not there", erratum.id);
        }
    }
}

const BITS: f64 = 1_048_576.0;

fn filter(words: usize, hashes: usize) -> BloomG {
    BloomG { bits: BITS, word_bits: 64, words, hashes }
}

/// The numbers in bold of the Bloom-g paper.
fn of_bloom_g() -> Vec<(&'static str, String)> {
    let at = |load: f64| load * BITS;
    let too_low = |hashes| {
        let exact = filter(1, hashes).false_positive_rate_exact(at(0.1));
        100.0 * (1.0 - filter(1, hashes).false_positive_rate(at(0.1)) / exact)
    };
    let three = |load: f64| n_bounded::worst(BITS, 3, at(load));
    let within = filter(2, 2).with_best_hashes_within(at(0.04), 60.0);
    let range = |log: i32| {
        let bits = 2f64.powi(log);
        let end = |load: f64| {
            let blank = BloomG { bits, ..filter(1, 1) };
            blank.with_best_hashes_within(load * bits, 3.0 * f64::from(log)).hash_bits()
        };
        format!("{}–{}", end(1.0), end(1e-3))
    };
    let best = |words: usize, load: f64| filter(words, words).with_best_hashes(at(load), 40);
    let over_best = |words: usize| {
        let bloom = bloom::fp_rate(BITS, bloom::optimal_hashes(25.0).round() as usize, at(0.04));
        best(words, 0.04).false_positive_rate(at(0.04)) / bloom
    };
    let printed = filter(2, 3).false_positive_rate_printed(at(0.04));
    let right = filter(2, 3).false_positive_rate(at(0.04));
    let whole = filter(2, 3).false_positive_rate_exact(at(0.04));
    let over_three = |filter: BloomG, load: f64| filter.false_positive_rate(at(load)) / three(load);
    let same_hash_bits = filter(2, 2).with_best_hashes_within(at(0.2), 60.0);
    vec![
        ("BG-1", format!("{printed:.1e}")),
        ("BG-1", format!("{right:.1e}")),
        ("BG-2", format!("{:.1} %", too_low(3))),
        ("BG-2", format!("{:.1} %", too_low(6))),
        ("BG-3", format!("{:.2e}", three(0.04))),
        ("BG-3", format!("{whole:.1e}")),
        ("BG-3", format!("{:.1e}", within.false_positive_rate(at(0.04)))),
        ("BG-3", format!("{:.1e}", within.false_positive_rate_exact(at(0.04)))),
        ("BG-5", range(16)),
        ("BG-5", range(20)),
        ("BG-5", range(24)),
        ("BG-6", best(3, 0.01).hash_bits().to_string()),
        ("BG-7", format!("{:.3}", over_three(filter(2, 5), 0.04))),
        ("BG-8", format!("{:.1}", over_three(filter(1, 3), 0.04))),
        ("BG-8", format!("{:.1}", over_three(filter(1, 3), 0.01))),
        ("BG-9", format!("{:.3}", over_three(same_hash_bits, 0.2))),
        ("BG-10", format!("{:.0}", over_best(2))),
        ("BG-10", format!("{:.1}", over_best(3))),
    ]
}

/// Those of the recycling paper.
fn of_recycling() -> Vec<(&'static str, String)> {
    let distinct = Filter { hashing: Hashing::Distinct, ..Filter::new(1000, 7) };
    let messages = |end| format!("{:.2}", expected_messages(&Filter::new(1000, 7), 500, end));
    let higher = |hashes, sigma| {
        let cycle = Cycle::new(Filter::new(500, hashes));
        let rate = |frozen| cycle.two_phase_rate(sigma, frozen);
        let ratio = rate(Frozen::AfterOverflow) / rate(Frozen::BeforeOverflow);
        format!("{:.1} %", 100.0 * (ratio - 1.0))
    };
    vec![
        ("RBF-7", format!("{:.4}", distinct.false_positive_rate(500))),
        ("RBF-8", format!("{:.3}", one_hash(1000, 500))),
        ("RBF-9", messages(End::AtOrBeyond)),
        ("RBF-9", messages(End::Beyond)),
        ("RBF-10", higher(3, 200)),
        ("RBF-10", higher(5, 250)),
        ("RBF-10", higher(7, 280)),
        ("RBF-11", format!("{:.2e}", n_bounded::actual(1000.0, 4, 200.0))),
        ("RBF-11", format!("{:.2e}", n_bounded::exact(&Filter::new(1000, 4), 200))),
    ]
}

/// Those of the kBF papers and of ACSM 2006.
fn of_state_machines() -> Vec<(&'static str, String)> {
    let below = GREEDY_CODES.iter().filter(|&&code| code < 1 << 29).count();
    let f = 0.6185_f64.powf(14.4);
    let over_print = dbf::dont_know(f, 6) / dbf::dont_know_as_printed(14.4, 6);
    vec![
        ("KBF-1", format!("{:.7}", kbf::crowded_cell(1.0))),
        ("KBF-2", format!("{:.1e}", kbf::undecodable_as_printed(2.0, 10))),
        ("KBF-2", format!("{:.1e}", kbf::undecodable_flow(2.0, 10))),
        ("KBF-4", format!("{},{:03}", below / 1000, below % 1000)),
        ("KBF-11", (496 * 496).to_string()),
        ("ACSM-3", format!("{over_print:.1}")),
    ]
}

#[test]
fn numbers_in_bold_are_computed_again() {
    // KBF-5.
    for printed in [237_525_822, 237_551_267] {
        assert!(GREEDY_CODES.binary_search(&printed).is_err(), "{printed} is a greedy code");
    }
    let mut computed = [of_bloom_g(), of_recycling(), of_state_machines()].concat();
    let mut bold: Vec<(String, String)> = vec![];
    for erratum in errata() {
        let numbers = erratum.text.split("**").skip(1).step_by(2);
        bold.extend(numbers.map(|number| (erratum.id.clone(), number.to_owned())));
    }
    for (id, number) in &bold {
        let found = computed.iter().position(|(of, text)| of == id && text == number);
        let of_row: Vec<_> = computed.iter().filter(|(of, _)| of == id).collect();
        let found = found.unwrap_or_else(|| panic!("{id}: {number} is not among {of_row:?}"));
        computed.remove(found);
    }
    assert!(computed.is_empty(), "not in bold: {computed:?}");
}
