//! The terminal dashboard: whole screens against those in `screens/`, and the program in a terminal
//! (tmux) on real traffic.

mod run;
mod screens;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(target_os = "linux")]
mod tmux;
