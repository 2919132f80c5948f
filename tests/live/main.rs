//! `acsm live` end to end: real traffic between two network namespaces joined by a virtual cable.
//! All of it stays in there, and is bounded in number and time. Takes root, or at least the right to make
//! network namespaces and `ip` of iproute2; without, each test says that it was skipped.
#![cfg(all(feature = "live", target_os = "linux"))]

mod arrivals;
mod attacks;
mod interfaces;
mod lab;
mod lines;
mod losses;
mod monitor;
mod permission;
#[path = "../replay/schema.rs"]
mod schema;
mod signals;
mod silence;
mod threads;
