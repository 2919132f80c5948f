//! The whole program: `acsm live --listen` on a real interface, with real traffic. Needs the right to
//! make network namespaces, as `tests/live` does.

use std::io::Write as _;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{sleep, spawn};
use std::time::Duration;

use serde_json::Value;

use super::client::{Answer, connect, get};
use super::metrics::{complaints_of_promtool, names_of_dashboard, series_names};
use super::page::folder;
use super::server::allow_many_files;
use crate::monitor::{Monitor, wait_until};
use crate::namespaces::{NamespacePair, SENDER, WATCHER, address};
use acsm_test_support::browser::{Browser, Screen};

const LISTEN: &str = "--listen 127.0.0.1:9477";

fn site() -> SocketAddr {
    address("127.0.0.1", 9477)
}

/// The answer for `path`, once there is one of this status.
fn wait_for(path: &'static str, status: u16) -> Answer {
    wait_until("the server answers with this status", || {
        Some(get(site(), path)).filter(|answer| answer.status == status)
    })
}

/// Runs `work` where acsm runs: what is on loopback there can be reached from there only.
fn beside_acsm(net: &NamespacePair, work: impl FnOnce() + Send + 'static) {
    NamespacePair::inside(&net.watcher, work).join().unwrap();
}

#[test]
fn metrics_and_json_are_those_of_the_run() {
    let Some(net) = NamespacePair::new() else { return };
    let monitor = Monitor::start(&net, LISTEN);
    net.scan(1..41);
    monitor.wait_for(|alert| alert["acsm"]["rule"] == "port_scan");
    beside_acsm(&net, || {
        assert_eq!(wait_for("/healthz", 200).body, "ok\n");
        let scanned = "acsm_alerts_total{rule=\"port_scan\"} 1\n";
        let text = wait_until("the alert is counted", || {
            Some(get(site(), "/metrics").body).filter(|text| text.contains(scanned))
        });
        if let Some(complaints) = complaints_of_promtool(&text) {
            assert_eq!(complaints, "");
        }
        // Rules that have not fired are there with 0.
        assert!(text.contains("acsm_alerts_total{rule=\"syn_flood\"} 0\n"), "{text}");
        assert!(text.contains("acsm_interface_up{interface=\"cable0\"} 1\n"), "{text}");
        assert!(!text.contains(SENDER) && !text.contains(WATCHER), "addresses are no labels");
        let exist = series_names(&text);
        let missing: Vec<String> = names_of_dashboard()
            .into_iter()
            .filter(|name| !exist.contains(name.as_str()))
            .collect();
        assert!(missing.is_empty(), "{missing:?}");

        let view: Value = serde_json::from_str(&get(site(), "/api/snapshot").body).unwrap();
        assert_eq!(view["alerts"]["port_scan"], 1);
        assert_eq!(view["latest_alerts"][0]["src_ip"], SENDER);
        assert!(view["tcp_packets"].as_u64().unwrap() >= 80, "{view}");
        assert!(view["batches"].as_u64().unwrap() > 0);
        assert!(view["batches_total_seconds"].as_f64().unwrap() > 0.0);
    });
    let output = monitor.end();
    assert!(
        output.stderr.contains("acsm: listening on http://127.0.0.1:9477/\n"),
        "{}",
        output.stderr
    );
}

#[test]
fn health_follows_the_interface() {
    let Some(net) = NamespacePair::new() else { return };
    let monitor = Monitor::start(&net, LISTEN);
    beside_acsm(&net, || drop(wait_for("/healthz", 200)));
    net.remove_link();
    beside_acsm(&net, || {
        let answer = wait_for("/healthz", 503);
        assert_eq!(answer.body, "gone, and waited for: cable0\n");
        let text = get(site(), "/metrics").body;
        assert!(text.contains("acsm_interface_up{interface=\"cable0\"} 0\n"), "{text}");
    });
    net.add_link();
    beside_acsm(&net, || drop(wait_for("/healthz", 200)));
    monitor.end();
}

#[test]
fn the_page_shows_what_goes_on() {
    let Some(browser) = Browser::find() else { return };
    let Some(net) = NamespacePair::new() else { return };
    let monitor = Monitor::start(&net, LISTEN);
    net.scan(1..41);
    let (sender, stop) = (net.sender.clone(), Arc::new(AtomicBool::new(false)));
    let ends = stop.clone();
    let traffic = NamespacePair::inside(&sender, move || {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        while !ends.load(Ordering::Relaxed) {
            let _ = socket.send_to(&[0; 100], address(WATCHER, 9));
            sleep(Duration::from_millis(5));
        }
    });
    // A program that is started there runs there.
    beside_acsm(&net, move || {
        let mut tab = browser.tab();
        tab.open("http://127.0.0.1:9477/");
        tab.wait_until("document.readyState === 'complete' && !!document.getElementById('status')");
        tab.wait_until("document.getElementById('status').textContent === 'live'");
        let alerts = "document.querySelector('#alert-table tbody').textContent";
        tab.wait_until(&format!("{alerts}.includes('port_scan') && {alerts}.includes('{SENDER}')"));
        let packets = "document.querySelector('#interfaces tbody').textContent";
        let before = tab.text(packets);
        tab.wait_until(&format!("{packets} !== {before:?}"));
        tab.press("/");
        tab.type_text("no such alert");
        tab.wait_until(&format!("{alerts}.startsWith('None of')"));
        tab.wait_until("document.querySelectorAll('.plot path.line').length > 9");
        // Most of the store is empty: the shares on its axis are long.
        let cut =
            "[...document.querySelectorAll('.plot text')].filter((text) => text.getBBox().x < 0)";
        assert_eq!(tab.text(&format!("{cut}.map((text) => text.textContent).join()")), "");
        tab.value("scrollTo(0, 0)");
        for dark in [false, true] {
            tab.set_screen(Screen { width: 1360, height: 900, dark });
            let scheme = if dark { "dark" } else { "light" };
            tab.picture(&folder().join(format!("real-{scheme}.png")));
        }
        let own =
            |url: &&String| url.starts_with("http://127.0.0.1:9477/") || url.starts_with("data:");
        assert!(tab.requests.iter().all(|url| own(&url)), "{:?}", tab.requests);
        assert_eq!(tab.complaints, [""; 0]);
    });
    stop.store(true, Ordering::Relaxed);
    traffic.join().unwrap();
    monitor.end();
}

const SENT: u64 = 20_000;

#[test]
fn a_thousand_connections_cost_no_packet() {
    allow_many_files();
    let Some(net) = NamespacePair::new() else { return };
    let monitor = Monitor::start(&net, &format!("--filter udp[2:2]=9 {LISTEN}"));
    let (asked, stop) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (tells, ends) = (asked.clone(), stop.clone());
    let clients = NamespacePair::inside(&net.watcher, move || {
        wait_for("/healthz", 200);
        let slow_clients: Vec<_> = (0..1000)
            .map(|_| {
                let mut stream = connect(site());
                stream.write_all(b"GET / HTTP/1.1\r\n").unwrap();
                stream
            })
            .collect();
        let pollers: Vec<_> = (0..4)
            .map(|_| {
                let (tells, ends) = (tells.clone(), ends.clone());
                spawn(move || {
                    while !ends.load(Ordering::Relaxed) {
                        for path in
                            ["/", "/metrics", "/api/history", "/api/recent", "/api/snapshot"]
                        {
                            assert_eq!(get(site(), path).status, 200);
                        }
                        tells.store(true, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        pollers.into_iter().for_each(|poller| poller.join().unwrap());
        drop(slow_clients);
    });
    wait_until("the clients are connected", || asked.load(Ordering::Relaxed).then_some(()));
    net.send_datagrams(SENT);
    stop.store(true, Ordering::Relaxed);
    clients.join().unwrap();
    let output = monitor.end();
    let seen = output.count("/interfaces/0/packets");
    let dropped = output.count("/interfaces/0/kernel_drops");
    assert_eq!(seen + dropped, SENT, "every packet is seen or counted");
    assert_eq!(dropped, 0, "the buffer holds them all, however busy the machine is");
}
