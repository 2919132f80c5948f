//! The page in a headless Chromium. Screenshots are written to the build folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

use acsm::live::{SharedSnapshot, View};

use super::client::Site;
use super::fixture::{alert, busy_view, small_view};
use acsm_test_support::browser::tab::Tab;
use acsm_test_support::browser::{Browser, Screen};

const ROWS: &str = "document.querySelectorAll('#alert-table tbody tr').length";
const STATUS: &str = "document.getElementById('status').textContent";
const NOTICES: &str = "document.getElementById('notices').innerText";
/// Plots are drawn for the size that they have.
const PLOTS_FIT: &str =
    "[...document.querySelectorAll('.plot')].every(({ viewBox, clientWidth, clientHeight }) =>
    viewBox.baseVal.width === clientWidth && viewBox.baseVal.height === clientHeight)";

/// Where screenshots of this test go.
pub fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("live_web");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Publishes five views per second, each one second of the run later than the one before.
struct Feeder {
    second: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Feeder {
    fn start(shared: &SharedSnapshot, from: u64) -> Feeder {
        let (second, stop) = (Arc::new(AtomicU64::new(from)), Arc::new(AtomicBool::new(false)));
        let (shared, count, ends) = (shared.clone(), second.clone(), stop.clone());
        let thread = spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                shared.publish(busy_view(count.fetch_add(1, Ordering::Relaxed)));
                sleep(Duration::from_millis(200));
            }
        });
        Feeder { second, stop, thread: Some(thread) }
    }
}

impl Drop for Feeder {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

fn opened(browser: &Browser, site: &Site) -> Tab {
    let mut tab = browser.tab();
    tab.open(&site.url("/"));
    tab.wait_until("document.readyState === 'complete'");
    tab
}

/// Ten minutes of a busy run.
fn ten_minutes() -> SharedSnapshot {
    let shared = SharedSnapshot::default();
    (0..=600).for_each(|second| shared.publish(busy_view(second)));
    shared
}

#[test]
fn figures_move_and_alerts_can_be_searched() {
    let Some(browser) = Browser::find() else { return };
    let shared = ten_minutes();
    let site = Site::on(&shared, None);
    let feeder = Feeder::start(&shared, 601);
    let mut tab = opened(&browser, &site);
    tab.wait_until(&format!("{ROWS} > 100 && {STATUS} === 'live'"));

    // Everything changes: tiles, every plot, the table.
    let shown = "JSON.stringify([...document.querySelectorAll('.tiles dd, .plot path.line')]
        .map((part) => part.getAttribute('d') ?? part.textContent))";
    let plots = "document.querySelectorAll('.plot').length";
    assert_eq!(tab.number(plots), 9.0);
    let lines =
        "[...document.querySelectorAll('.plot')].every((plot) => plot.querySelector('path.line'))";
    assert_eq!(tab.value(lines), true, "every plot has a line");
    let newest = "document.querySelector('#alert-table tbody td.time').textContent";
    let (before, newest_before) = (tab.text(shown), tab.text(newest));
    let at = feeder.second.load(Ordering::Relaxed);
    tab.wait_until(&format!("{newest} !== {newest_before:?}"));
    assert_ne!(tab.text(shown), before);
    assert!(feeder.second.load(Ordering::Relaxed) > at);

    // Search, severity and rule filter the table; input and cells are text, never markup.
    tab.press("/");
    tab.type_text("syn_flood 192.0.2.1");
    tab.wait_until(&format!("{ROWS} < 30"));
    let all_match = "[...document.querySelectorAll('#alert-table tbody tr')]
        .every((row) => row.textContent.includes('syn_flood') && row.textContent.includes('192.0.2.1'))";
    assert_eq!(tab.value(all_match), true);
    assert_eq!(tab.number("document.querySelectorAll('#alert-table b').length"), 0.0, "no markup");
    assert_eq!(tab.value("document.body.textContent.includes('<b>is</b>')"), true);
    choose(&mut tab, "search", "no such thing");
    assert!(
        tab.text("document.querySelector('#alert-table tbody').textContent").contains("None of")
    );
    choose(&mut tab, "search", "");
    choose(&mut tab, "severity", "1");
    let kinds = "[...new Set([...document.querySelectorAll('td.severity')].map((cell) => cell.textContent))].join()";
    assert_eq!(tab.text(kinds), "1 high");
    choose(&mut tab, "severity", "4");
    choose(&mut tab, "rule", "port_scan");
    let rules = "[...new Set([...document.querySelectorAll('.rule')].map((cell) => cell.textContent))].join()";
    assert_eq!(tab.text(rules), "port_scan");
    choose(&mut tab, "rule", "");

    // Sorted by source, as its header then says.
    tab.value("document.querySelectorAll('#alert-table th button')[3].click()");
    let sorted = "(() => { const all = [...document.querySelectorAll('td.from')].map((cell) => cell.textContent);
        return all.length > 100 && all.every((text, at) => at === 0 || all[at - 1] <= text)
            && document.querySelectorAll('th')[3].ariaSort === 'ascending'; })()";
    assert_eq!(tab.value(sorted), true);
    assert_eq!(tab.complaints, [""; 0]);
}

/// Sets a control and sends its event, as a user would.
fn choose(tab: &mut Tab, control: &str, value: &str) {
    tab.value(&format!(
        "(() => {{ const control = document.getElementById('{control}'); control.value = '{value}';
            control.dispatchEvent(new Event('input')); }})()"
    ));
}

fn point_at_second_plot(tab: &mut Tab) {
    let place = tab.value(
        "(() => { const box = document.querySelectorAll('.plot')[1].getBoundingClientRect();
            return [box.left + box.width / 2, box.top + box.height / 2]; })()",
    );
    tab.point_at(place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
}

#[test]
fn it_pauses_and_resumes() {
    let Some(browser) = Browser::find() else { return };
    let shared = ten_minutes();
    let site = Site::on(&shared, None);
    let _feeder = Feeder::start(&shared, 601);
    let mut tab = opened(&browser, &site);
    tab.set_screen(Screen { width: 1200, height: 900, dark: false });
    tab.wait_until(&format!("{STATUS} === 'live' && {PLOTS_FIT}"));
    tab.press("p");
    tab.wait_until(&format!("{STATUS}.startsWith('paused')"));
    let shown = "document.querySelector('main').innerText";
    let labels = "[...document.querySelectorAll('.plot')].map((plot) => plot.ariaLabel).join()";
    let before = [tab.text(shown), tab.text(labels)];
    // Several new alerts arrive meanwhile.
    tab.wait_until(&format!("parseInt({STATUS}.replace('paused, ', '')) > 5"));
    // Pointing at a plot and searching redraw from the paused data.
    point_at_second_plot(&mut tab);
    assert!(tab.number("document.querySelectorAll('.plot .cursor').length") > 0.0);
    tab.point_at(1.0, 1.0);
    choose(&mut tab, "search", "no such thing");
    choose(&mut tab, "search", "");
    let after = [tab.text(shown), tab.text(labels)];
    assert!(after[0] == before[0], "the words changed");
    assert!(after[1] == before[1], "the plots moved");
    tab.value("document.getElementById('pause').click()");
    tab.wait_until(&format!("{STATUS} === 'live' && {shown} !== {:?}", before[0]));
}

#[test]
fn plots_show_their_values() {
    let Some(browser) = Browser::find() else { return };
    let shared = ten_minutes();
    let site = Site::on(&shared, None);
    let mut tab = opened(&browser, &site);
    tab.set_screen(Screen { width: 1200, height: 900, dark: false });
    tab.wait_until("document.querySelectorAll('.plot path.line').length > 9");
    let value = "document.querySelectorAll('figcaption output')[1].textContent";
    let now = tab.text(value);
    point_at_second_plot(&mut tab);
    let there = tab.text(value);
    assert!(
        there.contains("bit/s") && there.contains("min") && there != now,
        "{now}, then {there}"
    );
    // All plots point at that moment.
    assert_eq!(tab.number("document.querySelectorAll('.plot .cursor').length"), 9.0);
    tab.point_at(1.0, 1.0);
    assert_eq!(tab.text(value), now);
    // By keys too.
    tab.value("document.querySelectorAll('.plot')[1].focus()");
    (0..3).for_each(|_| tab.press("ArrowLeft"));
    assert!(tab.text(value).starts_with("−3 s"), "{}", tab.text(value));
    let label = tab.text("document.querySelectorAll('.plot')[1].getAttribute('aria-label')");
    assert!(label.starts_with("Traffic: ") && label.contains("at most"), "{label}");
}

#[test]
fn it_says_what_is_wrong() {
    let Some(browser) = Browser::find() else { return };
    let shared = SharedSnapshot::default();
    let site = Site::on(&shared, None);
    let mut tab = opened(&browser, &site);
    tab.wait_until(&format!("{STATUS} === 'starting' && {NOTICES}.includes('no figures yet')"));

    let quiet = View { alerts: Default::default(), latest_alerts: vec![], ..small_view() };
    shared.publish(quiet.clone());
    tab.wait_until(&format!("{STATUS} === 'live' && {NOTICES}.includes('mute')"));
    let table = "document.querySelector('#alert-table tbody').textContent";
    assert!(tab.text(table).contains("No alerts yet"));

    let mut wrong = View { uptime_seconds: 62.5, latest_alerts: vec![alert(1, "a", 1)], ..quiet };
    wrong.store.live_flows = 5000;
    wrong.interfaces[0].is_open = false;
    wrong.drops.kernel = 103;
    shared.publish(wrong);
    tab.wait_until(&format!("{NOTICES}.includes('eth0 is gone')"));
    let notices = tab.text(NOTICES);
    assert!(
        notices.contains("5,000 flows are alive, and the store was made for 1,000"),
        "{notices}"
    );
    assert!(notices.contains("being lost: 100 per second"), "{notices}");
    assert!(tab.text(table).contains("192.0.2.1:40001"), "the alert is there");
    tab.wait_until(&format!("{STATUS} === 'stands still'"));

    drop(site);
    tab.wait_until(&format!("{STATUS} === 'connection lost'"));
    assert!(tab.text(NOTICES).contains("What is shown is old"));
    assert_eq!(tab.complaints, [""; 0]);
}

#[test]
fn it_adds_its_token_to_links_and_requests_no_other_host() {
    let Some(browser) = Browser::find() else { return };
    let shared = ten_minutes();
    let token = "0123456789+/=abcdef";
    let site = Site::on(&shared, Some(token));
    let mut tab = opened(&browser, &site);
    assert!(tab.text("document.body.textContent").contains("a token is needed"));
    tab.open(&site.url("/?token=0123456789+/%3Dabcdef"));
    tab.wait_until("document.readyState === 'complete' && !!document.getElementById('status')");
    tab.wait_until(&format!("{STATUS} === 'live'"));
    let link = "document.querySelector('footer a').getAttribute('href') && document.querySelector('footer a').href";
    assert_eq!(tab.text(link), site.url("/metrics?token=0123456789+/%3Dabcdef"));
    let polled =
        "performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/api/recent'))";
    tab.wait_until(polled);
    assert!(tab.requests.iter().any(|url| url.ends_with("/api/recent")), "{:?}", tab.requests);
    let foreign: Vec<_> = tab
        .requests
        .iter()
        .filter(|url| !url.starts_with(&site.url("/")) && !url.starts_with("data:"))
        .collect();
    assert!(foreign.is_empty(), "{foreign:?}");
    assert_eq!(tab.complaints, [""; 0]);

    // A request to another host would have been logged, and the policy forbids it.
    tab.value("new Image().src = 'http://127.0.0.2:1/x.png'");
    tab.wait_until("true");
    assert!(!tab.complaints.is_empty(), "the policy was not enforced");
}

#[test]
fn it_fits_every_screen_and_pictures_are_taken() {
    let Some(browser) = Browser::find() else { return };
    let shared = ten_minutes();
    let site = Site::on(&shared, None);
    let _feeder = Feeder::start(&shared, 601);
    let mut tab = opened(&browser, &site);
    tab.wait_until(&format!("{ROWS} > 100"));
    for (name, width, height) in [("narrow", 320, 640), ("phone", 390, 844), ("wide", 1360, 900)] {
        for dark in [false, true] {
            tab.set_screen(Screen { width, height, dark });
            tab.wait_until(&format!("innerWidth === {width}"));
            let back = tab.text("getComputedStyle(document.body).backgroundColor");
            assert_eq!(back, if dark { "rgb(13, 17, 23)" } else { "rgb(245, 246, 248)" });
            let too_wide = tab.number("document.documentElement.scrollWidth - innerWidth");
            assert!(too_wide <= 0.0, "{name}: {too_wide} pixels too wide");
            // Plots follow at the next figure.
            tab.wait_until(PLOTS_FIT);
            let scheme = if dark { "dark" } else { "light" };
            tab.picture(&folder().join(format!("{name}-{scheme}.png")));
        }
    }
}
