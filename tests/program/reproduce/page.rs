//! The page of `acsm reproduce`: well-formed, every link leads somewhere, and right in a browser.
//! Screenshots are written to the build folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use acsm_test_support::browser::{Browser, Screen, file_url};

use super::all_results;

fn page() -> PathBuf {
    all_results().join("index.html")
}

#[test]
fn the_page_is_well_formed_and_its_links_lead_somewhere() {
    let text = fs::read_to_string(page()).unwrap();
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(&text, options).unwrap();
    let ids: Vec<&str> = document.descendants().filter_map(|node| node.attribute("id")).collect();
    let unique: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), unique.len(), "ids are unique");
    let links = document.descendants().filter_map(|node| node.attribute("href"));
    let targets: Vec<&str> = links.map(|link| link.strip_prefix('#').expect(link)).collect();
    assert!(targets.len() > 20 && targets.iter().all(|target| unique.contains(target)));
}

#[test]
fn every_figure_has_its_data_and_nothing_is_clipped() {
    let Some(browser) = Browser::find() else { return };
    let pages = [320, 768, 1280].map(|width| (page(), width));
    for ((_, width), layout) in pages.iter().zip(browser.layouts(&pages)) {
        assert!(layout.complaints.is_empty(), "{width} wide: {layout:#?}");
        assert!(layout.figures >= 30 && layout.rows >= layout.figures, "{layout:#?}");
        assert!(layout.smallest_text >= 9.0, "{layout:#?}");
    }
}

#[test]
fn no_request_leaves_the_file() {
    let Some(browser) = Browser::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(browser.requests(&file_url(&page()), folder.path()), [""; 0]);
}

#[test]
fn pictures_are_taken() {
    let Some(browser) = Browser::find() else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reproduce_page");
    fs::create_dir_all(&folder).unwrap();
    for dark in [false, true] {
        let png = folder.join(if dark { "dark.png" } else { "light.png" });
        browser.screenshot(&file_url(&page()), Screen { width: 1280, height: 5000, dark }, &png);
    }
    let phone = Screen { width: 320, height: 5000, dark: false };
    browser.phone_screenshot(&page(), phone, &folder.join("phone.png"));
}
