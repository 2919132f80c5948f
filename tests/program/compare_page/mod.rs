//! The page of `acsm compare`: well-formed, the report's numbers, safe, and right in a browser.

mod fixture;
mod in_browser;
mod markup;
mod numbers;

use acsm::report::compare::{CompareReport, html};

/// Every report of the fixture, with its name.
fn reports() -> Vec<(&'static str, CompareReport)> {
    vec![
        ("default", fixture::default_report()),
        ("large", fixture::large_report()),
        ("repeated", fixture::repeated_report()),
        ("single", fixture::single_report()),
        ("faultless", fixture::faultless_report()),
        ("empty", fixture::empty_report()),
        ("hostile", fixture::hostile_report()),
    ]
}

fn page(report: &CompareReport) -> String {
    let mut bytes = vec![];
    html::write(report, &mut bytes).expect("writing to memory");
    String::from_utf8(bytes).expect("pages are UTF-8")
}

/// The page as XML.
fn parsed(page: &str) -> roxmltree::Document<'_> {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    roxmltree::Document::parse_with_options(page, options)
        .unwrap_or_else(|error| panic!("not well-formed: {error}"))
}
