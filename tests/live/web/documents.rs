//! The tables of docs/ on metrics and `/api` are those of the code.

use std::collections::BTreeSet;

use acsm::live::metrics;
use acsm_test_support::repository;
use serde_json::Value;

use super::fixture::small_view;

/// The part of a document under a heading.
fn section(document: &str, heading: &str) -> String {
    let text = repository::read(&format!("docs/{document}"));
    let (_, after) = text.split_once(&format!("\n## {heading}\n")).expect(heading);
    after.split("\n## ").next().unwrap().to_owned()
}

/// What is in backticks in the first column of its table.
fn first_column(section: &str) -> BTreeSet<&str> {
    let cells = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

#[test]
fn the_documented_metrics_are_those_that_exist() {
    let text = metrics(&small_view());
    let families = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    assert_eq!(first_column(&section("live.md", "Metrics")), families.collect());
}

#[test]
fn the_documented_paths_are_those_listed_for_unknown_ones() {
    let site = super::client::Site::on(&Default::default(), None);
    let body = site.get("/what-is-here").body;
    let listed = body.split([' ', ',', ';', '\n']).filter(|word| word.starts_with('/'));
    let section = section("live.md", "The web page");
    assert_eq!(first_column(&section), listed.collect());
}

/// Paths of all values, as jq writes them; maps of counts have keys that are data.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    let is_map =
        |map: &serde_json::Map<String, Value>| !path.is_empty() && map.values().all(Value::is_u64);
    match value {
        Value::Object(map) if !is_map(map) => {
            map.iter().for_each(|(key, value)| paths(value, &format!("{path}.{key}"), found));
        }
        Value::Array(items) if items.first().is_some_and(Value::is_object) => {
            items.iter().for_each(|item| paths(item, &format!("{path}[]"), found));
        }
        _ => drop(found.insert(path.to_owned())),
    }
}

#[test]
fn the_documented_keys_are_those_of_a_view() {
    let mut real = BTreeSet::new();
    paths(&serde_json::to_value(small_view()).unwrap(), "", &mut real);
    let section = section("json.md", "`/api/snapshot`");
    assert_eq!(first_column(&section), real.iter().map(String::as_str).collect());
}
