//! Metrics: their text, held to `promtool`; the Grafana dashboard and the documents name what exists.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

use acsm::capture::live::InterfaceCounts;
use acsm::capture::parse::Skip;
use acsm::live::metrics;
use acsm_filters::Backend;
use acsm_test_support::repository;
use serde_json::Value;

use super::fixture::{busy_view, small_view};

#[test]
fn a_view_reads_as_it_should() {
    let text = metrics(&small_view()).replace(env!("CARGO_PKG_VERSION"), "VERSION");
    let shown = text.lines().filter(|line| !line.starts_with("acsm_skipped_total"));
    let shown: Vec<&str> = shown.collect();
    assert_eq!(shown.join("\n").trim(), include_str!("metrics.txt").trim());
    let skipped: Vec<&str> =
        text.lines().filter(|line| line.starts_with("acsm_skipped_total")).collect();
    assert_eq!(skipped.len(), Skip::ALL.len());
    assert!(skipped.contains(&"acsm_skipped_total{reason=\"udp\"} 12"));
    assert!(skipped.contains(&"acsm_skipped_total{reason=\"arp\"} 0"));
}

#[test]
fn labels_cannot_break_out() {
    let mut view = small_view();
    view.rules[0].name = "a\"} 1\nb\\".to_owned();
    let text = metrics(&view);
    assert!(text.contains("\nacsm_alerts_total{rule=\"a\\\"} 1\\nb\\\\\"} 0\n"), "{text}");
}

#[test]
fn each_series_is_there_once() {
    let mut view = small_view();
    let other = InterfaceCounts { interface: "eth1".to_owned(), ..view.interfaces[0].clone() };
    view.interfaces.push(other);
    let text = metrics(&view);
    let mut series: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| Some(line.rsplit_once(' ')?.0))
        .collect();
    let all = series.len();
    series.sort_unstable();
    series.dedup();
    assert_eq!(series.len(), all);
    assert!(text.contains("acsm_interface_bytes_total{interface=\"eth1\"} 2500\n"), "{text}");
}

#[test]
fn an_exact_table_was_made_for_any_number() {
    let mut view = small_view();
    view.store.backend = Backend::Exact;
    assert!(!metrics(&view).contains("acsm_store_planned_flows"));
}

#[test]
fn what_is_estimated_says_so() {
    let mut view = small_view();
    assert!(metrics(&view).contains("# HELP acsm_live_flows Flows alive, estimated"));
    view.store.live_estimated = false;
    assert!(metrics(&view).contains("# HELP acsm_live_flows Flows alive.\n"));
}

/// What `promtool check metrics` reports about a text: errors, and names against convention.
/// `None` where it is missing, after a message on stderr.
pub fn complaints_of_promtool(text: &str) -> Option<String> {
    let promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut promtool) = promtool else {
        eprintln!(
            "SKIPPED: no promtool here; THE METRICS WERE NOT CHECKED. Install it: apt-get install prometheus"
        );
        return None;
    };
    promtool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(output.status.success() || !said.is_empty(), "{}", output.status);
    Some(said)
}

#[test]
fn promtool_finds_nothing_to_complain_of() {
    for view in [small_view(), busy_view(0), busy_view(1000)] {
        let Some(complaints) = complaints_of_promtool(&metrics(&view)) else { return };
        assert_eq!(complaints, "");
    }
    let wrong = complaints_of_promtool("# TYPE a_bits gauge\na_bits 1\n");
    assert!(wrong.is_some_and(|complaints| !complaints.is_empty()), "it does look");
}

/// Names of all series in the text: what a query can ask for.
pub fn series_names(text: &str) -> BTreeSet<&str> {
    let series = text.lines().filter(|line| !line.starts_with('#'));
    series.filter_map(|line| line.split(['{', ' ']).next()).collect()
}

/// Names of metrics in a text for people or programs.
fn names_in(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("acsm_")).collect()
}

/// What the panels of the Grafana dashboard ask for.
pub fn names_of_dashboard() -> BTreeSet<String> {
    let dashboard: Value = serde_json::from_str(&repository::read("dist/grafana.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let queries = panels.flat_map(|panel| panel["targets"].as_array().expect("targets"));
    let mut texts: Vec<String> =
        queries.map(|query| query["expr"].as_str().expect("an expression").to_owned()).collect();
    texts.push(dashboard["templating"].to_string());
    texts.iter().flat_map(|text| names_in(text)).map(str::to_owned).collect()
}

#[test]
fn the_dashboard_asks_for_what_exists() {
    let text = metrics(&small_view());
    let (asked, exist) = (names_of_dashboard(), series_names(&text));
    let missing: Vec<_> = asked.iter().filter(|name| !exist.contains(name.as_str())).collect();
    assert!(missing.is_empty() && asked.len() > 10, "{missing:?} of {asked:?}");
}
