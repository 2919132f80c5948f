//! What a browser and Prometheus get from a live run: metrics, the HTTP server, the page. Most tests use
//! an artificial snapshot, which needs no rights; [`interface`] watches real traffic.

mod client;
mod documents;
mod fixture;
mod history;
mod interface;
mod metrics;
mod page;
mod refusals;
mod server;
