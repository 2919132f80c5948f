//! From bytes to alerts, by the library.

mod capture;
mod engine;
