//! What a browser and Prometheus get to see of a live run: metrics, the HTTP server, the page. Most of
//! it on a board that is filled by hand, which takes no rights; [`lab`] is for the rest.
#![cfg(all(feature = "live", target_os = "linux"))]

#[path = "../browser/mod.rs"]
mod browser;
mod client;
mod fixture;
mod page;
