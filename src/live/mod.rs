//! A live run while it is running: the monitor, and everything that displays what it sees.
//!
//! ```text
//! engine::Snapshot ─ Monitor ─→ View → SharedSnapshot ─┬→ HTTP server: page, JSON, metrics
//!      alerts ─ AlertFanout ─┘    └→ EVE stats event    └→ terminal: dashboard
//! ```
//!
//! Once per second the monitor builds a [`View`], with names instead of numbers, and publishes it in the
//! [`SharedSnapshot`]. The two threads that display it, HTTP server and terminal, take the latest one
//! whenever they like and compute in their own time what costs time; the capture never waits for them.
//! Counts are totals since the start; rates come from two views ([`Sample`]).
//!
//! | file | subject |
//! |---|---|
//! | `monitor` | the engine's observer: views, `stats` events, what signals request |
//! | `view` | the run at one moment, with names; the JSON contract |
//! | `shared` | the latest view and ten minutes of history, shared between threads |
//! | `theory` | the predicted error of the store, computed where it is displayed; overload |
//! | `alerts` | the path of alerts: output, recorder, list of the latest |
//! | `metrics`, `stats`, `summary` | Prometheus text; EVE `stats` events; the summary at the end |
//! | `http` | the HTTP server and the web page; needs the feature `live` |
//! | `dashboard` | the dashboard's screens and keys; needs the feature `live` |
//! | `terminal` | the terminal of the dashboard |

pub mod alerts;
#[cfg(feature = "live")]
pub mod dashboard;
#[cfg(all(feature = "live", unix))]
pub mod http;
mod metrics;
pub mod monitor;
mod shared;
mod stats;
mod summary;
pub mod terminal;
mod theory;
mod view;

pub use alerts::SeenAlert;
pub use metrics::metrics;
pub use shared::{History, Sample, SharedSnapshot, SnapshotReader};
pub use stats::StatsEvents;
pub use summary::{LiveSummary, capture_page};
pub use theory::{PredictedError, StoreModel, StoreTheory};
pub use view::{
    Counts, DropCounts, IncidentView, IncidentsView, LookupCounts, OverloadView, RuleView,
    StoreView, TalkerView, View, ViewContext,
};
