//! The terminal of the dashboard: a thread that takes it over, reads keys, draws, and restores it.
//!
//! The capture knows nothing of it: it publishes views in the [`SharedSnapshot`], and the thread reads
//! them there. Only this thread waits for a slow terminal.
//!
//! | file | subject |
//! |---|---|
//! | `enabled` | the thread, its keyboard, taking over and restoring the terminal |
//! | `disabled` | builds without the feature `live` have no dashboard |

#[cfg(not(all(feature = "live", unix)))]
mod disabled;
#[cfg(all(feature = "live", unix))]
mod enabled;

#[cfg(not(all(feature = "live", unix)))]
pub use disabled::{Screen, can_show_dashboard};
#[cfg(all(feature = "live", unix))]
pub use enabled::{Screen, can_show_dashboard};

use std::fmt::Display;

use super::monitor::SignalFlags;
use super::shared::SharedSnapshot;

/// What a dashboard is connected to.
#[derive(Debug, Clone)]
pub struct ScreenContext {
    /// Where views come from.
    pub shared: SharedSnapshot,
    /// The dashboard ends the run when the user quits or the terminal is closed.
    pub signals: SignalFlags,
    /// The messages of this run.
    pub messages: fn() -> Messages,
    /// Adds a message.
    pub message: fn(&dyn Display),
}

/// Messages to the user.
#[derive(Debug, Default)]
pub struct Messages {
    /// The latest messages, oldest first.
    pub texts: Vec<String>,
    /// The number of messages ever: tells whether there are new ones.
    pub number: u64,
    /// Whether the last one is recent.
    pub is_recent: bool,
}
