//! All records as one page, without scripts and without network access: a table of contents with the
//! verdicts, then each experiment with its claim, verdict, figures and rows. The page is also well-formed
//! XML.

use std::fmt::Write as _;
use std::io;

use super::figure;
use super::record::{Origin, Record};
use super::text::sentence;
use crate::report::compare::html::elements::{FigureGroup, scrolling, table};
use crate::report::escape::Escaped;
use crate::report::format::{bytes, grouped, scientific};
use crate::report::plot;
use crate::reproduce::{ClaimKind, Panel, Row, Work, find};

/// Tables show this number of rows at most; the CSV has all.
const ROWS_SHOWN_MAX: usize = 120;

/// Papers in the order of the page, with their titles.
const PAPERS: [(&str, &str); 5] = [
    (
        "kbf-j",
        "kBF: Towards Approximate and Bloom Filter based Key-Value Storage for Cloud Computing Systems \
         (journal)",
    ),
    (
        "kbf-i",
        "kBF: a Bloom Filter for Key-Value Storage with an Application on Approximate State Machines \
         (INFOCOM 2014)",
    ),
    ("recycling", "Modeling Average False Positive Rates of Recycling Bloom Filters"),
    ("bloom-g", "Fast Bloom Filters and Their Generalization (2013)"),
    ("acsm", "Beyond Bloom Filters: Approximate Concurrent State Machines (SIGCOMM 2006)"),
];

/// Writes the page.
pub fn write(records: &[Record], out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(out, "{}{}", head(), opening(records))?;
    let mut papers: Vec<&str> = vec![];
    for record in records {
        let (paper, _) = record.paper_and_item();
        if !papers.contains(&paper) {
            papers.push(paper);
        }
    }
    for paper in papers {
        let title = PAPERS.iter().find(|(id, _)| *id == paper).map_or(paper, |(_, title)| title);
        writeln!(out, "<section id=\"{}\"><h2>{}</h2>", anchor(paper), Escaped(title))?;
        for record in records.iter().filter(|record| record.paper_and_item().0 == paper) {
            writeln!(out, "{}", article(record, same_as(record, records)))?;
        }
        writeln!(out, "</section>")?;
    }
    writeln!(out, "{}</main></body></html>", METHOD)
}

/// The experiment that a record is the same as, if that is on the page too.
fn same_as(record: &Record, records: &[Record]) -> Option<&'static str> {
    let experiment = find(&record.id).first().copied()?;
    let Work::SameAs(other) = experiment.work else { return None };
    records.iter().any(|record| record.id == other).then_some(other)
}

/// How to read the page.
const METHOD: &str = "<section id=\"method\"><h2>How verdicts are found</h2>\
<p>A <b>number</b> is reproduced if the paper's value lies in the 99 % interval of ours, for the paper's \
sample size. A <b>shape</b> is reproduced if all statements hold that were fixed before the run: our texts of \
the papers do not contain the values of their figures, so no shape is reproduced to within anything. A \
<b>question of our own</b>, or an item without a claim, has no verdict but what is said beside it.</p>\
<p>A point with fewer than ten expected events is not measured: the closed form is shown, and a note names \
the number of trials that it takes. Bars are 99 % intervals; a hollow marker with an arrow is the upper end \
of the interval where no event was seen; dashed lines are computed.</p></section>";

fn head() -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\
         <meta name=\"color-scheme\" content=\"light dark\"/>\
         <title>The papers' experiments, run again · acsm reproduce</title>\n\
         <style>\n{}{}{}</style></head>\n<body><main>",
        plot::css(),
        include_str!("../compare/html/page.css"),
        include_str!("page.css")
    )
}

/// The question, how many agree, where that was measured, and the table of contents.
fn opening(records: &[Record]) -> String {
    let mut html = String::from(
        "<header><p class=\"eyebrow\">acsm reproduce</p><h1>The papers' experiments, run again</h1>\
         <p class=\"question\">For each figure, table and numbered claim: what the paper says, what we \
         measure, and whether they agree.</p></header>",
    );
    let _ = write!(
        html,
        "<section class=\"answer\" id=\"answer\"><h2>The answer</h2><p>{} of {} experiments.</p></section>",
        sentence(records),
        records.len()
    );
    if let Some(record) = records.first() {
        html += &facts(&record.origin);
    }
    let mut rows = String::new();
    for Record { id, title, verdict, .. } in records {
        let _ = write!(
            rows,
            "<tr><th scope=\"row\"><a href=\"#{}\">{}</a></th><td>{}</td><td>{}</td></tr>",
            anchor(id),
            Escaped(id),
            Escaped(title),
            badge(verdict.answer.name())
        );
    }
    let contents = scrolling("Contents", &table(&["item", "what it shows", "verdict"], &rows));
    let _ = write!(
        html,
        "<section class=\"contents\" id=\"contents\"><h2>Contents</h2>{contents}\
         <p><a href=\"#method\">How verdicts are found</a></p></section>"
    );
    html
}

fn badge(answer: &str) -> String {
    format!("<span class=\"verdict {answer}\">{answer}</span>")
}

fn facts(origin: &Origin) -> String {
    let mut html = String::from("<dl class=\"facts\">");
    let machine = &origin.machine;
    for (name, value) in [
        ("scale", origin.scale.name().to_owned()),
        ("seed", origin.seed.clone()),
        ("commit", origin.commit.get(..12).unwrap_or(&origin.commit).to_owned()),
        ("date", origin.date.get(..10).unwrap_or(&origin.date).to_owned()),
        ("cores", machine.cores.to_string()),
        ("memory", bytes(machine.memory_bytes)),
    ] {
        let _ = write!(html, "<div><dt>{name}</dt><dd>{}</dd></div>", Escaped(&value));
    }
    html + "</dl>"
}

fn article(record: &Record, same_as: Option<&str>) -> String {
    let Record { id, title, claim, verdict, notes, .. } = record;
    let kind = match record.kind {
        ClaimKind::Number => "number",
        ClaimKind::Shape => "shape",
        ClaimKind::Neither => "neither number nor shape",
    };
    let mut html = format!(
        "<article id=\"{}\"><h3><code>{}</code>{}</h3><blockquote>{}</blockquote>\
         <p>{} <small>{kind}</small></p><dl class=\"pairs\">",
        anchor(id),
        Escaped(id),
        Escaped(title),
        Escaped(claim),
        badge(verdict.answer.name())
    );
    for (name, text) in
        [("paper", &verdict.paper), ("measured", &verdict.measured), ("why", &verdict.why)]
    {
        if !text.is_empty() {
            let _ = write!(html, "<div><dt>{name}</dt><dd>{}</dd></div>", Escaped(text));
        }
    }
    html += "</dl>";
    if let Some(other) = same_as {
        let _ = write!(
            html,
            "<p>One experiment with <a href=\"#{}\">{other}</a>, which has the figures, rows and notes.</p>",
            anchor(other)
        );
        return html + &origin(record) + "</article>";
    }
    for (number, panel) in (1..).zip(&record.panels) {
        html += &panel_html(panel, &format!("{id}-{number}"));
    }
    if !notes.is_empty() {
        html += "<ul class=\"notes\">";
        for note in notes {
            let _ = write!(html, "<li>{}</li>", Escaped(note));
        }
        html += "</ul>";
    }
    html + &origin(record) + "</article>"
}

fn panel_html(panel: &Panel, id: &str) -> String {
    let rows = rows(panel);
    if panel.drawn {
        let figure = figure::of_panel(panel, id);
        let group = FigureGroup { caption: panel.title.clone(), panels: vec![figure], table: rows };
        group.html()
    } else {
        format!("<p><b>{}</b></p>{}", Escaped(&panel.title), scrolling(&panel.title, &rows))
    }
}

/// The table of a panel's rows.
fn rows(panel: &Panel) -> String {
    let mut html = String::new();
    for row in panel.rows.iter().take(ROWS_SHOWN_MAX) {
        let Row { series, x, y, interval, rate, seeds } = row;
        let interval = interval.map_or(String::new(), |[low, high]| {
            format!("{} – {}", scientific(low), scientific(high))
        });
        let rate = rate.map_or(String::new(), |rate| {
            format!("{} of {}", grouped(rate.events), grouped(rate.trials))
        });
        let _ = write!(
            html,
            "<tr><th scope=\"row\">{}</th><td><data value=\"{x}\">{}</data></td>\
             <td><data value=\"{y}\">{}</data></td><td>{interval}</td><td>{rate}</td><td>{}</td></tr>",
            Escaped(series),
            shown(*x),
            shown(*y),
            if *seeds == 0 { "computed".to_owned() } else { seeds.to_string() }
        );
    }
    if let Some(more) = panel.rows.len().checked_sub(ROWS_SHOWN_MAX + 1) {
        let _ = write!(
            html,
            "<tr><th scope=\"row\">… and {} more in the CSV</th><td></td><td></td><td></td><td></td>\
             <td></td></tr>",
            more + 1
        );
    }
    let heads = ["series", &panel.x.label, &panel.y.label, "99 % interval", "events", "seeds"];
    table(&heads, &html)
}

/// Whole numbers as they are, others with three digits.
fn shown(x: f64) -> String {
    let is_whole = x.fract() == 0.0 && x.abs() < 1e7;
    match x.abs() {
        _ if is_whole => x.to_string(),
        0.01..10.0 => format!("{x:.3}"),
        10.0..10_000.0 => format!("{x:.1}"),
        _ => scientific(x),
    }
}

fn origin(record: &Record) -> String {
    let Origin { version, commit, scale, seed, date, machine, .. } = &record.origin;
    let (_, item) = record.paper_and_item();
    format!(
        "<p class=\"origin\">{}.csv · {:.1} s at scale {} · seed {} · acsm {} at {} · {} · {}, {} cores, {}</p>",
        Escaped(item),
        record.seconds,
        scale.name(),
        Escaped(seed),
        Escaped(version),
        Escaped(commit),
        Escaped(date),
        Escaped(&machine.processor),
        machine.cores,
        Escaped(&machine.system)
    )
}

/// The anchor of an experiment or a paper.
fn anchor(id: &str) -> String {
    id.replace('/', "-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::reproduce::record::tests::example;

    #[test]
    fn the_page_is_well_formed_and_escapes_what_it_shows() {
        let mut page = vec![];
        write(&[example()], &mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        let document = roxmltree::Document::parse_with_options(
            &page,
            roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() },
        );
        assert!(document.is_ok(), "{:?}", document.err());
        assert!(page.contains("Of &lt;tests&gt;") && page.contains("A note &amp; more."));
        assert!(page.contains("href=\"#paper-fig1\"") && page.contains("id=\"paper-fig1\""));
    }
}
