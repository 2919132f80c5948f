//! The page's words: question and answer, contents, parameters, definitions.

use std::fmt::Write as _;

use super::number::{count, value};
use super::section::Section;
use super::view::View;
use crate::report::markup::Escaped;
use crate::report::text::duration;
use crate::time::NANOS_PER_SEC;

/// The question, the answer, and what it was asked of.
pub fn opening(view: &View<'_>) -> String {
    let (trace, load) = (&view.report.trace, &view.report.load);
    let mut html = String::from(
        "<header><p class=\"eyebrow\">acsm compare</p><h1>What does the approximation cost?</h1>\
         <p class=\"question\">Which structure, how much memory, how wrong: on this trace, against an \
         exact table on the same packets.</p></header>",
    );
    html.push_str("<section class=\"answer\" id=\"answer\"><h2>The answer</h2>");
    for sentence in &view.report.answer {
        let _ = write!(html, "<p>{}</p>", Escaped(sentence));
    }
    html.push_str("</section><dl class=\"facts\">");
    let seconds = duration_of(load.seconds);
    for (name, figure) in [
        ("TCP packets", count("/trace/tcp_packets", trace.tcp_packets)),
        ("length", value("/load/seconds", load.seconds, &seconds)),
        ("flows", count("/load/flows_total", load.flows_total)),
        ("most at once", count("/load/flows_peak", load.flows_peak)),
        ("alerts of an exact table", count("/load/alerts", load.alerts)),
        ("runs", format!("<data value=\"{0}\">{0}</data>", view.report.runs.len())),
    ] {
        let _ = write!(html, "<div><dt>{name}</dt><dd>{figure}</dd></div>");
    }
    html.push_str("</dl>");
    html
}

fn duration_of(seconds: f64) -> String {
    duration((seconds * NANOS_PER_SEC as f64) as u64) // saturates
}

/// Links within the page.
pub fn contents(sections: &[Section]) -> String {
    let mut html = String::from("<nav aria-label=\"Contents\"><ol>");
    for section in sections {
        let _ = write!(html, "<li><a href=\"#{}\">{}</a></li>", section.id, section.heading);
    }
    html.push_str("</ol><ul>");
    for (id, heading) in
        [("runs", "All runs"), ("parameters", "Parameters"), ("definitions", "Definitions")]
    {
        let _ = write!(html, "<li><a href=\"#{id}\">{heading}</a></li>");
    }
    html.push_str("</ul></nav>");
    html
}

/// How to get this report again, and what its words mean.
pub fn closing(view: &View<'_>) -> String {
    format!("{}{}", parameters(view), definitions(view))
}

fn parameters(view: &View<'_>) -> String {
    let (asked, trace, load) = (&view.report.parameters, &view.report.trace, &view.report.load);
    let mut html = format!(
        "<section id=\"parameters\"><h2>Parameters</h2><p>This report again:</p>\
         <pre class=\"command\"><code><bdi>{}</bdi></code></pre><dl class=\"pairs\">",
        Escaped(&asked.command)
    );
    let mut pair = |name: &str, html_value: &str| {
        let _ = write!(html, "<div><dt>{name}</dt><dd>{html_value}</dd></div>");
    };
    let text = |words: &str| Escaped(words).to_string();
    pair("acsm", &text(&asked.version));
    pair("preset", &text(&asked.preset));
    pair("rules", &text(&asked.rules));
    pair("flow key", &text(&asked.flow_key));
    pair("sized for", &format!("{} flows", count("/parameters/flows", asked.flows)));
    pair("layout", &text(&asked.layout));
    pair("expire", &text(&asked.expire));
    if let Some(seconds) = asked.idle_timeout_seconds {
        let shown = duration_of(seconds);
        pair("idle timeout", &value("/parameters/idle_timeout_seconds", seconds, &shown));
    }
    let seeds: Vec<String> = asked.seeds.iter().map(u64::to_string).collect();
    pair("seeds", &seeds.join(", "));
    pair("states", &states(view));
    let entropy = load.state_entropy_bits;
    let shown = format!("{entropy:.3} bits a flow");
    pair("entropy of states", &value("/load/state_entropy_bits", entropy, &shown));
    pair("packets", &count("/trace/packets", trace.packets));
    if !trace.skipped.is_empty() {
        let skipped: Vec<String> =
            trace.skipped.iter().map(|(why, n)| format!("{} {}", Escaped(why), n)).collect();
        pair("skipped", &skipped.join(", "));
    }
    pair("link types", &text(&trace.link_types.join(", ")));
    for (name, time) in [("first packet", &trace.first_time), ("last packet", &trace.last_time)] {
        if let Some(time) = time {
            pair(name, &text(time));
        }
    }
    if let Some(damage) = &trace.damaged {
        pair("damaged", &text(damage));
    }
    html.push_str("</dl></section>");
    html
}

/// Each state with its part of the lookups.
fn states(view: &View<'_>) -> String {
    let shares = &view.report.load.state_shares;
    let state = |(at, name): (usize, &String)| match shares.get(at) {
        Some(share) => {
            let shown = format!("{:.1} %", share * 100.0);
            format!(
                "{} {}",
                Escaped(name),
                value(&format!("/load/state_shares/{at}"), share, &shown)
            )
        }
        None => Escaped(name).to_string(),
    };
    let states: Vec<String> = view.report.parameters.states.iter().enumerate().map(state).collect();
    states.join(", ")
}

const DEFINITIONS: [(&str, &str); 12] = [
    (
        "false positive",
        "The flow is absent, the store names a state. Per lookup of an absent flow.",
    ),
    (
        "don’t know, absent",
        "The flow is absent, the store cannot tell. Per lookup of an absent flow.",
    ),
    ("false negative", "The flow is there, the store says absent. Per lookup of an extant flow."),
    (
        "don’t know",
        "The flow is there, the store cannot tell its state. Per lookup of an extant flow.",
    ),
    (
        "false return",
        "The flow is there, the store names another state. Per lookup of an extant flow.",
    ),
    ("all errors", "Any of these, per lookup: a mix that depends on the traffic."),
    (
        "closed loop",
        "Store and exact table each go on from their own answer, so errors feed on: what a user gets.",
    ),
    ("open loop", "The store is fed the exact table’s states: what theory predicts."),
    (
        "equal cells, equal memory",
        "What the stores of one p have in common: the papers’ way, and the user’s question.",
    ),
    (
        "interval",
        "95&#160;%, by resampling flows. None seen in n lookups is stated as at most 3/n.",
    ),
    ("bits per flow", "All that is allocated for the store, divided by the flows it is sized for."),
    (
        "the papers’ words",
        "The kBF papers’ false negative is our false negative and don’t know together; their incorrect output is our false return.",
    ),
];

fn definitions(view: &View<'_>) -> String {
    let mut html = String::from(
        "<section id=\"definitions\"><h2>Definitions</h2><p>Each answer is held against that of an \
         exact table on the same packets, before the packet changes either; aging is the same in \
         both, and never an error.</p><dl class=\"pairs\">",
    );
    for (name, meaning) in DEFINITIONS {
        let _ = write!(html, "<div><dt>{name}</dt><dd>{meaning}</dd></div>");
    }
    let _ = write!(
        html,
        "</dl><p class=\"more\">More: <i>docs/compare.md</i> and <i>docs/json.md</i> of acsm {}.</p></section>",
        Escaped(&view.report.parameters.version)
    );
    html
}
