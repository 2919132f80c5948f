//! Every number of the page is one of `report.json`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{page, parsed, reports};

fn number(json: &Value, pointer: &str) -> f64 {
    let value = json.pointer(pointer).unwrap_or_else(|| panic!("{pointer} is not in the report"));
    value.as_f64().unwrap_or_else(|| panic!("{pointer} is {value}"))
}

#[test]
fn numbers_are_those_of_the_report() {
    for (name, report) in reports() {
        let json = serde_json::to_value(&report).unwrap();
        let page = page(&report);
        let document = parsed(&page);
        let (mut checked, mut computed) = (BTreeSet::new(), 0);
        for data in document.descendants().filter(|node| node.tag_name().name() == "data") {
            let value = data.attribute("value").unwrap();
            if let Some(text) = data.attribute("data-at").and_then(|at| json.pointer(at)?.as_str())
            {
                assert_eq!(value, text, "{name}: the seed of an input");
                continue;
            }
            let value: f64 = value.parse().unwrap();
            if let Some(at) = data.attribute("data-at") {
                assert_eq!(value, number(&json, at), "{name}: {at}");
                checked.insert(at);
            } else if let Some(parts) = data.attribute("data-parts") {
                let sum: f64 = parts.split(' ').map(|at| number(&json, at)).sum();
                let expected = sum / number(&json, data.attribute("data-over").unwrap());
                assert_eq!(value, expected, "{name}: {parts}");
                computed += 1;
            } else {
                assert_eq!(value, report.runs.len() as f64, "{name}");
            }
        }
        for index in 0..report.runs.len() {
            for field in ["bits_per_flow", "bits", "errors/total_rate", "errors/false_return_rate"]
            {
                assert!(
                    checked.contains(format!("/runs/{index}/{field}").as_str()),
                    "{name}: {field}"
                );
            }
        }
        assert_eq!(computed > 0, name != "empty", "{name}");
    }
}

#[test]
fn moments_are_those_of_the_report() {
    for (name, report) in reports() {
        let page = page(&report);
        let document = parsed(&page);
        let mut moments = 0;
        for row in document.descendants().filter(|node| node.tag_name().name() == "tr") {
            let Some(at) = row.attribute("data-at") else { continue };
            let parts: Vec<&str> = at.split('/').collect();
            let (run, step): (usize, usize) =
                (parts[2].parse().unwrap(), parts[4].parse().unwrap());
            let moment = report.runs[run].timeline[step];
            let cells: Vec<f64> =
                row.children().skip(1).map(|cell| cell.text().unwrap().parse().unwrap()).collect();
            let expected =
                [moment.at_seconds, moment.lookups as f64, moment.errors as f64, moment.fill_ratio];
            assert_eq!(cells, expected, "{name}: {at}");
            moments += 1;
        }
        assert_eq!(moments == 0, name == "empty", "{name}");
    }
}

/// What is drawn is what was measured: the markers of the first panel, by their labels.
#[test]
fn markers_are_where_the_runs_are() {
    for (name, report) in reports() {
        let page = page(&report);
        let document = parsed(&page);
        let svg = document
            .descendants()
            .find(|node| node.attribute("aria-labelledby") == Some("by-memory-0-total-rate-title"));
        let marks =
            svg.unwrap().descendants().filter(|node| node.attribute("class") == Some("mark"));
        let drawn: BTreeSet<(String, String, bool)> = marks
            .map(|mark| {
                let [x, y] =
                    ["data-x", "data-y"].map(|axis| mark.attribute(axis).unwrap().to_owned());
                (x, y, mark.attribute("data-bound").is_some())
            })
            .collect();
        let (equal, feedback) = (&report.runs[0].equal, &report.runs[0].feedback);
        let runs =
            report.runs.iter().filter(|run| run.equal == *equal && run.feedback == *feedback);
        let asked = runs.filter(|run| run.errors.lookups_extant + run.errors.lookups_absent > 0);
        let expected: BTreeSet<(String, String, bool)> = asked
            .map(|run| {
                let none = run.errors.total_rate == 0.0;
                // The bound of one seed by the effective number of lookups, or a better one of all seeds.
                let one_seed = (3.0 / report.load.effective_lookups.all).min(1.0);
                let y = if none {
                    run.interval.total_rate[1].min(one_seed)
                } else {
                    run.errors.total_rate
                };
                (run.bits_per_flow.to_string(), y.to_string(), none)
            })
            .collect();
        assert_eq!(drawn, expected, "{name}");
    }
}
