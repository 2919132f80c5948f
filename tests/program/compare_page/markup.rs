//! The markup of the page.

use roxmltree::Node;

use super::in_browser::standing_alone;
use super::{fixture, page, parsed, reports};

fn elements<'a>(document: &'a roxmltree::Document<'a>, name: &str) -> Vec<Node<'a, 'a>> {
    document.descendants().filter(|node| node.tag_name().name() == name).collect()
}

#[test]
fn nothing_is_fetched_and_nothing_runs() {
    for (name, report) in reports() {
        let page = page(&report);
        assert!(page.contains("content=\"default-src 'none'; style-src 'unsafe-inline'\""));
        for part in
            ["http:", "https:", "//", "url(", "@import", "<script", "javascript:", "<link", "src="]
        {
            let found = page.matches(part).count();
            let allowed = page.matches("default-src=").count();
            assert_eq!(found, allowed, "{name}: {part}");
        }
        let document = parsed(&page);
        for node in document.descendants() {
            for attribute in node.attributes() {
                assert!(!attribute.name().starts_with("on"), "{name}: {attribute:?}");
                if attribute.name() == "href" {
                    assert!(attribute.value().starts_with('#'), "{name}: {attribute:?}");
                }
            }
        }
    }
}

#[test]
fn hostile_text_is_shown_as_it_is() {
    let page = page(&fixture::hostile_report());
    assert!(page.contains("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;x&quot;"));
    let document = parsed(&page);
    let command = elements(&document, "bdi")[0].text().unwrap();
    assert!(
        command
            .contains("<script>alert('1')</script> & \"x\" ]]> \u{fffd}\u{fffd}\u{fffd}[31m é漢")
    );
    assert!(command.ends_with("\u{fffd}\u{fffd}.pcap"), "{command}");
}

#[test]
fn the_page_is_accessible() {
    for (name, report) in reports() {
        let page = page(&report);
        let document = parsed(&page);
        assert_eq!(document.root_element().attribute("lang"), Some("en"));
        let mut ids: Vec<&str> =
            document.descendants().filter_map(|node| node.attribute("id")).collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all, "{name}: ids are unique");

        for svg in elements(&document, "svg") {
            if svg.attribute("aria-hidden") == Some("true") {
                continue;
            }
            assert_eq!(svg.attribute("role"), Some("img"), "{name}");
            for (attribute, tag) in [("aria-labelledby", "title"), ("aria-describedby", "desc")] {
                let id = svg.attribute(attribute).unwrap();
                let named =
                    svg.descendants().find(|node| node.attribute("id") == Some(id)).unwrap();
                assert_eq!(named.tag_name().name(), tag, "{name}");
                assert!(!named.text().unwrap_or("").is_empty(), "{name}: {id}");
            }
        }
        for link in elements(&document, "a") {
            let target = link.attribute("href").unwrap().trim_start_matches('#');
            assert!(ids.contains(&target), "{name}: {target}");
        }
    }
}

#[test]
fn headings_are_in_order_and_figures_complete() {
    for (name, report) in reports() {
        let page = page(&report);
        let document = parsed(&page);
        let headings: Vec<&str> = document
            .descendants()
            .map(|node| node.tag_name().name())
            .filter(|name| matches!(name.as_bytes(), [b'h', b'1'..=b'6']))
            .collect();
        assert_eq!(headings[0], "h1", "{name}");
        assert!(headings[1..].iter().all(|heading| *heading == "h2"), "{name}: {headings:?}");
        for figure in elements(&document, "figure") {
            let children: Vec<&str> =
                figure.children().map(|child| child.tag_name().name()).collect();
            assert_eq!(children, ["figcaption", "ul", "div", "details"], "{name}");
        }
    }
}

#[test]
fn figures_are_as_many_as_the_runs_call_for() {
    let figures = |report| {
        let page = page(&report);
        parsed(&page).descendants().filter(|node| node.tag_name().name() == "figure").count()
    };
    // Per flow, by rate, by memory, papers and bound a group each; other sizes; over time a rate each.
    assert_eq!(figures(fixture::default_report()), 5 + 1 + 5);
    assert_eq!(figures(fixture::large_report()), 2 * 5 + 1 + 5, "only the closed loop over time");
    assert_eq!(figures(fixture::repeated_report()), 2 * 5 + 1 + 2 * 4, "two ways of being equal");
    assert_eq!(figures(fixture::single_report()), 4 + 1 + 1, "neither kbf nor sbf");
    assert_eq!(figures(fixture::empty_report()), 5, "nothing over time, no other sizes");
}

#[test]
fn a_figure_stands_alone() {
    let mut figure = standing_alone();
    figure.title = "1 < 2 & \"more\"".to_owned();
    figure.series[0].name = "<script>".to_owned();
    let svg = figure.document();
    let document = parsed(&svg);
    let root = document.root_element();
    assert_eq!(root.tag_name().namespace(), Some("http://www.w3.org/2000/svg"));
    assert_eq!(svg.matches("http").count(), 1, "nothing but the name space");
    let texts: Vec<&str> =
        elements(&document, "text").iter().filter_map(|text| text.text()).collect();
    assert_eq!(texts[0], figure.title);
    for series in &figure.series {
        assert!(texts.contains(&series.name.as_str()), "{} is in the legend", series.name);
    }
    let marks = document.descendants().filter(|node| node.attribute("class") == Some("mark"));
    assert_eq!(
        marks.count(),
        figure.series.iter().map(|series| series.points.len()).sum::<usize>()
    );
    assert!(
        figure.inline().starts_with("<svg class=\"plot\" viewBox="),
        "the page has the name space"
    );
}
