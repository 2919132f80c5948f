//! Figure of the errors of stores that are made for half and for twice the right number of flows.

use std::fmt::Write as _;

use super::elements::{FigureGroup, Section, count, described, table, tenths, value};
use super::runs::{GroupedReport, none_seen, rate_label};
use crate::report::compare::Run;
use crate::report::escape::Escaped;
use crate::report::format::{grouped, scientific};
use crate::report::plot::{Axis, Figure, Point, Scale, Series};

/// The section; without figures if there are no such runs.
pub fn section(report: &GroupedReport<'_>) -> Section {
    let lead = "<p>Who sizes a store does not know how many flows will come. The same p, for half and for twice as many flows \
                as for the figures above: how much a wrong guess costs. Each marker is one seed.</p>";
    Section {
        id: "sizes",
        heading: "At half and at twice the size",
        lead: lead.to_owned(),
        figures: figure(report).into_iter().collect(),
    }
}

/// A run with its JSON pointer.
type Pointed<'a> = (String, &'a Run);

fn figure(report: &GroupedReport<'_>) -> Option<FigureGroup> {
    let document = report.document;
    let first = document.other_sizes.first()?;
    let others = document.other_sizes.iter().enumerate();
    let is_same = |run: &Run| {
        run.fp_rate == first.fp_rate && run.equal == first.equal && run.feedback == first.feedback
    };
    let at_size = document.runs.iter().enumerate().filter(|(_, run)| is_same(run));
    let mut runs: Vec<Pointed<'_>> = others
        .map(|(index, run)| (format!("/other_sizes/{index}"), run))
        .chain(at_size.map(|(index, run)| (format!("/runs/{index}"), run)))
        .collect();
    runs.sort_by_key(|(_, run)| run.flows);
    let axis = Axis::new("flows that the store is made for", Scale::Log);
    let of_store = |(style, name): (usize, &String)| {
        let own = runs.iter().filter(|(_, run)| report.name_of(run) == *name);
        let points: Vec<Point> = own.filter_map(|(_, run)| point(name, run)).collect();
        (!points.is_empty()).then(|| Series::new(name.as_str(), style, points))
    };
    let series: Vec<Series> = report.stores.iter().enumerate().filter_map(of_store).collect();
    let panel = Figure {
        id: "sizes".to_owned() + "-flows-wrong",
        title: "Flows ever wrong".to_owned(),
        description: described("Flows ever wrong per flow", &axis, &series),
        x_axis: axis,
        y_axis: Axis::new("per flow", Scale::Log),
        series,
        ..Figure::default()
    };
    let p = rate_label(first.fp_rate);
    let caption = format!("p = {p}, equal {}, {} loop", first.equal, first.feedback);
    Some(FigureGroup { caption, panels: vec![panel], table: numbers(report, &runs) })
}

fn point(name: &str, run: &Run) -> Option<Point> {
    let (x, of) = (run.flows as f64, run.errors.flows_total);
    let note = format!("{name} for {} flows, seed {}", grouped(run.flows), run.seed);
    match run.errors.flows_wrong {
        _ if of == 0 => None,
        0 => {
            let most = none_seen(run.interval.flows_wrong_rate, of as f64);
            let note = format!("{note}: none, at most {}", scientific(most));
            Some(Point::at(x, most).at_most().noted(note))
        }
        wrong => {
            Some(Point::at(x, run.flows_wrong_rate()).noted(format!("{note}: {}", grouped(wrong))))
        }
    }
}

fn numbers(report: &GroupedReport<'_>, runs: &[Pointed<'_>]) -> String {
    let heads = [
        "store",
        "made for",
        "seed",
        "bits per flow",
        "flows ever wrong",
        "held",
        "right at the end",
    ];
    let mut rows = String::new();
    for (at, run) in runs {
        let at = |name: &str| format!("{at}/{name}");
        let _ = write!(
            rows,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            Escaped(&report.name_of(run)),
            count(&at("flows"), run.flows),
            value(&at("seed"), run.seed, &run.seed.to_string()),
            tenths(&at("bits_per_flow"), run.bits_per_flow),
            count(&at("errors/flows_wrong"), run.errors.flows_wrong),
            count(&at("census/held"), run.census.held),
            count(&at("census/held_right"), run.census.held_right),
        );
    }
    table(&heads, &rows)
}
