//! The HTTP server: answers, refusals and slow clients.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;

use acsm::live::http::{Listening, Token};
use acsm::live::{SharedSnapshot, View, metrics};
use serde_json::{Value, json};

use super::client::{Site, ask, read_one};
use super::fixture::{busy_view, small_view};

const TOKEN: &str = "0123456789abcdef";

/// A shared snapshot with one view.
fn one_view() -> SharedSnapshot {
    let shared = SharedSnapshot::default();
    shared.publish(small_view());
    shared
}

/// A request with the right name and these further lines.
fn request(site: &Site, line: &str, more: &str) -> String {
    format!("{line} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{more}\r\n", site.address)
}

#[test]
fn every_path_gives_what_it_should() {
    let shared = one_view();
    let site = Site::on(&shared, None);
    for (path, content, says) in [
        ("/", "text/html; charset=utf-8", "<!DOCTYPE html>"),
        ("/?x=y", "text/html; charset=utf-8", "<!DOCTYPE html>"),
        ("/metrics", "text/plain; version=0.0.4; charset=utf-8", "\nacsm_packets_total 100\n"),
        ("/healthz", "text/plain; charset=utf-8", "ok\n"),
        ("/api/snapshot", "application/json", "\"packets\":100,"),
        ("/api/history", "application/json", "{\"states\":[\"syn_sent\",\"established\"],"),
        ("/api/recent", "application/json", "{\"view\":{"),
    ] {
        let answer = site.get(path);
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.header("content-type"), Some(content), "{path}");
        assert!(answer.body.contains(says), "{path}: {}", answer.body);
        let length = answer.header("content-length").unwrap().to_owned();
        assert_eq!(length, answer.body.len().to_string());
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
        for (header, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(answer.header(header), Some(value), "{path}");
        }
        let head = ask(site.address, &request(&site, &format!("HEAD {path}"), ""));
        assert_eq!((head.status, head.header("content-length")), (200, Some(length.as_str())));
        assert_eq!(head.body, "");
    }
    assert_eq!(site.get("/metrics").body, metrics(&small_view()));
    assert_eq!(site.get("/nothing").status, 404);
    assert_eq!(site.get("/metrics/").status, 404);
}

#[test]
fn json_is_the_view_and_its_past() {
    let shared = SharedSnapshot::default();
    (0..=700).for_each(|second| shared.publish(busy_view(second)));
    let site = Site::on(&shared, None);
    let json = |path: &str| -> Value { serde_json::from_str(&site.get(path).body).unwrap() };
    let view = serde_json::to_value(busy_view(700)).unwrap();
    assert_eq!(json("/api/snapshot"), view);
    let history = json("/api/history");
    let samples = history["samples"].as_array().unwrap();
    assert_eq!(samples.len(), 600);
    assert_eq!(samples[599]["uptime_seconds"], 700.0);
    assert_eq!(history["states"].as_array().unwrap().len(), 11);
    let recent = json("/api/recent");
    assert_eq!(recent["samples"].as_array().unwrap()[..], samples[590..]);
    let alerts = recent["view"]["latest_alerts"].as_array().unwrap();
    assert_eq!(alerts[..], view["latest_alerts"].as_array().unwrap()[233 - 16..]);
    assert_eq!(recent["view"]["packets"], view["packets"]);
}

#[test]
fn health_is_that_of_the_capture() {
    let shared = SharedSnapshot::default();
    let site = Site::on(&shared, None);
    for path in ["/healthz", "/metrics", "/api/snapshot", "/api/history", "/api/recent"] {
        let answer = site.get(path);
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")), "{path}");
        assert!(answer.body.starts_with("no figures yet"));
    }
    assert_eq!(site.get("/").status, 200, "the page says so itself");
    shared.publish(small_view());
    assert_eq!(site.get("/healthz").body, "ok\n");
    let mut down = small_view();
    down.interfaces[0].is_open = false;
    shared.publish(down);
    let answer = site.get("/healthz");
    assert_eq!((answer.status, answer.body.as_str()), (503, "gone, and waited for: eth0\n"));
    shared.publish(small_view());
    assert_eq!(site.get("/healthz").status, 200);
    // No more views: after five seconds it says so.
    let stalled = loop {
        let answer = site.get("/healthz");
        if answer.status != 200 {
            break answer;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    };
    assert_eq!(stalled.status, 503);
    assert!(stalled.body.contains("the capture stands still"), "{}", stalled.body);
    assert_eq!(site.get("/metrics").status, 200, "the last figures are still there");
}

#[test]
fn nothing_but_looking_is_possible() {
    let shared = one_view();
    let site = Site::on(&shared, None);
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE", "get"] {
        let answer = ask(site.address, &request(&site, &format!("{method} /"), ""));
        assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, HEAD")), "{method}");
    }
    let body = request(&site, "GET /", "Content-Length: 5\r\n") + "hello";
    assert_eq!(ask(site.address, &body).status, 413);
    let chunked = request(&site, "GET /", "Transfer-Encoding: chunked\r\n");
    assert_eq!(ask(site.address, &chunked).status, 413);
}

#[test]
fn bad_requests_are_answered_and_closed() {
    let shared = one_view();
    let site = Site::on(&shared, None);
    let long = format!("X: {}\r\n", "x".repeat(100_000));
    for (request, status) in [
        ("hello\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), 400),
        ("\u{16}\u{3}\u{1}\0\u{1}".to_owned(), 400),
        (request(&site, "GET /", &long), 431),
        (request(&site, &format!("GET /{}", "a".repeat(9000)), ""), 431),
        (request(&site, "GET /", &"X: y\r\n".repeat(100)), 431),
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned(), 421),
    ] {
        let mut stream = site.connect();
        // The server may answer before all of it is sent.
        let _ = stream.write_all(request.as_bytes());
        let answer = read_one(&mut stream);
        assert_eq!(answer.status, status, "{}", &request[..30.min(request.len())]);
        let foreign = status == 421;
        assert_eq!(answer.header("connection"), Some(if foreign { "keep-alive" } else { "close" }));
    }
}

#[test]
fn a_connection_serves_many_requests() {
    let shared = one_view();
    let site = Site::on(&shared, None);
    let mut stream = site.connect();
    for n in 0..50 {
        let request = format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: {n}\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let answer = read_one(&mut stream);
        assert_eq!((answer.status, answer.header("connection")), (200, Some("keep-alive")));
    }
    // A client that sends a second request before the answer gets one answer and has to reconnect.
    let two = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(2);
    stream.write_all(two.as_bytes()).unwrap();
    assert_eq!(read_one(&mut stream).header("connection"), Some("close"));
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
}

#[test]
fn the_token_opens_every_path_and_nothing_else_does() {
    let shared = one_view();
    let site = Site::on(&shared, Some(TOKEN));
    for path in ["/", "/metrics", "/healthz", "/api/snapshot", "/api/history", "/api/recent", "/x"]
    {
        let line = format!("GET {path}");
        for wrong in
            ["", "Authorization: Bearer 0123456789abcdeg\r\n", "Authorization: Basic YTpi\r\n"]
        {
            let answer = ask(site.address, &request(&site, &line, wrong));
            assert_eq!(answer.status, 401, "{path} {wrong}");
            assert_eq!(answer.header("www-authenticate"), Some("Bearer realm=\"acsm\""));
            assert!(answer.body.contains("--token-file"), "{}", answer.body);
        }
        let right = format!("Authorization: Bearer {TOKEN}\r\n");
        let status = if path == "/x" { 404 } else { 200 };
        assert_eq!(ask(site.address, &request(&site, &line, &right)).status, status);
        assert_eq!(site.get(&format!("{path}?token={TOKEN}")).status, status);
    }
}

#[test]
fn an_address_is_taken_once_and_given_back() {
    let site = Site::on(&SharedSnapshot::default(), None);
    let address = site.address;
    let again = Listening::bind(address, Token::new(TOKEN).ok());
    assert_eq!(again.unwrap_err().kind(), ErrorKind::AddrInUse);
    // With a client that holds on to it.
    let _held = site.connect();
    drop(site);
    Listening::bind(address, None).expect("it is free again");
}

/// A thousand connections need a thousand file descriptors in this process too.
pub fn allow_many_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};

    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
}

#[test]
fn a_thousand_slow_clients_delay_no_other() {
    allow_many_files();
    let shared = one_view();
    let site = Site::on(&shared, None);
    let begin_request = |_| {
        let mut stream = site.connect();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: loc").unwrap();
        stream
    };
    let mut slow_clients: Vec<TcpStream> = (0..1000).map(begin_request).collect();
    for _ in 0..20 {
        assert_eq!(site.get("/metrics").status, 200);
    }
    // The latest connection is still open; the oldest was closed to make room.
    let last = slow_clients.last_mut().unwrap();
    last.write_all(b"alhost\r\n\r\n").unwrap();
    assert_eq!(read_one(last).status, 200);
    let first = slow_clients.first_mut().unwrap();
    assert!(matches!(first.read(&mut [0]), Ok(0) | Err(_)));
}

#[test]
fn a_new_view_is_seen_at_once() {
    let shared = one_view();
    let site = Site::on(&shared, None);
    for packets in 101..120 {
        shared.publish(View { packets, ..small_view() });
        assert!(site.get("/metrics").body.contains(&format!("\nacsm_packets_total {packets}\n")));
        let snapshot: Value = serde_json::from_str(&site.get("/api/snapshot").body).unwrap();
        assert_eq!(snapshot["packets"], json!(packets));
    }
}
