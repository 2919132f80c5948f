//! `acsm live`: the engine on a source that pauses, the program on real traffic, and what its dashboard,
//! HTTP server and page show.
//!
//! Tests of real traffic send it between two network namespaces joined by a virtual Ethernet pair ([`namespaces`]). It
//! stays in there, and is bounded in number and time. They take root, or at least the right to create network
//! namespaces, and `ip` of iproute2; without, each of them says that it was skipped.
#![cfg(feature = "live")]

mod dashboard;
#[cfg(target_os = "linux")]
mod end_to_end;
mod engine;
#[cfg(target_os = "linux")]
mod monitor;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod web;
