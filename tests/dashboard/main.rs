//! The terminal dashboard of `acsm live`: whole screens against those in `screens/`, and the real program in
//! a real terminal (tmux) on real traffic. The latter takes root, as `tests/live` does; without, it says
//! that it was skipped.
#![cfg(feature = "live")]

#[cfg(target_os = "linux")]
#[allow(dead_code)] // it serves other tests too
#[path = "../live/lab.rs"]
mod lab;
mod run;
mod screens;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(target_os = "linux")]
mod tmux;
