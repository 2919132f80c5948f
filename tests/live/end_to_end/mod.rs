//! `acsm live` on real traffic: attacks, permissions, signals, losses, interfaces that come and go.

mod arrivals;
mod attacks;
mod interfaces;
mod lines;
mod losses;
mod permission;
mod signals;
mod silence;
mod threads;
