//! A live run while it goes on: what dashboards, metrics and `stats` events show.
//!
//! ```text
//! engine::Snapshot + capture counts + latest alerts → View → Board (and its History) → whoever looks
//! ```
//!
//! Once a second the run makes a [`View`], in names instead of numbers, and puts it on the [`Board`].
//! Readers take the latest one whenever they like, from any thread: they hold a lock for as long as it
//! takes to copy a pointer, so however many or slow they are, the capture does not wait for them.
//! Counts are totals since the start; rates come from two views and their `uptime_seconds`.

mod board;
mod history;
#[cfg(all(feature = "live", unix))]
pub mod http;
mod latest;
mod metrics;
mod stats;
mod summary;
mod view;

pub use board::Board;
pub use history::{History, Sample};
pub use latest::{LatestAlerts, SeenAlert};
pub use metrics::metrics;
pub use stats::stats_line;
pub use summary::{LiveSummary, capture_page};
pub use view::{RuleView, StoreView, TalkerView, View, ViewContext, count, total};
