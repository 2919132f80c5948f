//! The dashboard's terminal: taken, read from, drawn on and given back, in a thread of its own.
//!
//! The capture knows nothing of it: it puts views on the [`Board`](crate::report::live::Board), and the
//! thread looks there. However slow a terminal is, nobody waits for it but this thread.
//!
//! | file | what |
//! |---|---|
//! | `enabled` | the thread |
//! | `takeover` | taking the terminal and giving it back, whatever happens |
//! | `keyboard` | keys |
//! | `disabled` | builds without the feature `live` never have a dashboard |

#[cfg(not(all(feature = "live", unix)))]
mod disabled;
#[cfg(all(feature = "live", unix))]
mod enabled;
#[cfg(all(feature = "live", unix))]
mod keyboard;
#[cfg(all(feature = "live", unix))]
mod takeover;

#[cfg(not(all(feature = "live", unix)))]
pub use disabled::{Screen, can_show_dashboard};
#[cfg(all(feature = "live", unix))]
pub use enabled::{Screen, can_show_dashboard};
