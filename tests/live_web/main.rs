//! What a browser and Prometheus get to see of a live run: metrics, the HTTP server, the page. Most of
//! it on a board that is filled by hand, which takes no rights; [`interface`] is the rest.
#![cfg(all(feature = "live", target_os = "linux"))]

#[path = "../browser/mod.rs"]
mod browser;
mod client;
mod documents;
mod fixture;
mod history;
mod interface;
#[allow(dead_code)] // more than is needed here
#[path = "../live/lab.rs"]
mod lab;
mod metrics;
#[allow(dead_code)]
#[path = "../live/monitor.rs"]
mod monitor;
mod page;
mod refusals;
mod server;
