//! The page in a headless Chromium. Screenshots are written to the build folder.

use std::fs;
use std::path::{Path, PathBuf};

use acsm::report::plot::{ALONE, Axis, Figure, Point, Scale, Series};

use super::{fixture, page, reports};
use acsm_test_support::browser::{Browser, Screen, file_url};

/// Where pages and screenshots of this test go.
fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compare_page");
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn written(name: &str, contents: &str) -> PathBuf {
    let path = folder().join(name);
    fs::write(&path, contents).unwrap();
    path
}

#[test]
fn every_figure_has_its_data_and_nothing_is_clipped() {
    let Some(browser) = Browser::find() else { return };
    let mut pages = vec![];
    // The empty one's figures have no data, and say so.
    for (name, report) in reports().into_iter().filter(|(name, _)| *name != "empty") {
        let path = written(&format!("{name}.html"), &page(&report));
        let widths: &[u32] = if name == "large" { &[320, 768, 1280] } else { &[320] };
        pages.extend(widths.iter().map(|width| (path.clone(), *width, report.runs.len() as u64)));
    }
    let windows: Vec<_> = pages.iter().map(|(path, width, _)| (path.clone(), *width)).collect();
    for ((path, width, runs), layout) in pages.iter().zip(browser.layouts(&windows)) {
        let of = format!("{}, {width} wide: {layout:#?}", path.display());
        assert!(layout.complaints.is_empty(), "{of}");
        assert!(layout.figures >= 4 && layout.rows >= layout.figures, "{of}");
        assert!(layout.marks >= 6 * runs, "{of}");
        assert!(layout.smallest_text >= 9.0, "{of}");
    }
}

#[test]
fn no_request_leaves_the_file() {
    let Some(browser) = Browser::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    fs::write(&path, page(&fixture::hostile_report())).unwrap();
    assert_eq!(browser.requests(&file_url(&path), folder.path()), [""; 0]);

    // A request would have been logged.
    let asks = folder.path().join("asks.html");
    fs::write(&asks, "<!DOCTYPE html><img src=\"http://nowhere.invalid/x.png\">").unwrap();
    let requests = browser.requests(&file_url(&asks), folder.path());
    assert_eq!(requests, ["http://nowhere.invalid/x.png"]);
}

#[test]
fn pictures_are_taken() {
    let Some(browser) = Browser::find() else { return };
    let large = written("large-picture.html", &page(&fixture::large_report()));
    for dark in [false, true] {
        let scheme = if dark { "dark" } else { "light" };
        let png = folder().join(format!("large-{scheme}.png"));
        browser.screenshot(&file_url(&large), Screen { width: 1280, height: 4200, dark }, &png);
    }
    let default = written("default-picture.html", &page(&fixture::default_report()));
    let phone = Screen { width: 320, height: 3000, dark: false };
    browser.phone_screenshot(&default, phone, &folder().join("default-phone.png"));

    let alone = written("alone.svg", &standing_alone().document());
    for dark in [false, true] {
        let png = folder().join(format!("alone-{}.png", if dark { "dark" } else { "light" }));
        browser.screenshot(&file_url(&alone), Screen { width: 720, height: 460, dark }, &png);
    }
}

/// A figure as `acsm plan --plot` writes it.
pub fn standing_alone() -> Figure {
    let falls = |rate: f64| {
        let at = |step: u32| {
            Point::at(12.0 + 6.0 * f64::from(step), (-rate * f64::from(step)).exp() / 10.0)
        };
        (0..12).map(at).collect::<Vec<_>>()
    };
    let names = ["kbf", "sbf", "bhbf", "fcf", "dbf", "exact", "kbf literal", "sbf paper-kbf"];
    let series = names
        .iter()
        .enumerate()
        .map(|(at, name)| Series::new(*name, at, falls(0.1 + at as f64 / 8.0)));
    Figure {
        id: "alone".to_owned(),
        title: "Predicted error against memory, for 1,000,000 flows".to_owned(),
        description: "Every line falls.".to_owned(),
        x_axis: Axis::new("bits per flow", Scale::Log),
        y_axis: Axis::new("errors per lookup", Scale::Log),
        series: series.collect(),
        size: ALONE,
        ..Figure::default()
    }
}
