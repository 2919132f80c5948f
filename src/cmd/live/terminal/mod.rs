//! The dashboard's terminal: taken, read from, drawn on and given back, in a thread of its own.
//!
//! The capture knows nothing of it: it puts views on the [`Board`], and the
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

use anyhow::Context as _;

use super::watcher::Asked;
use crate::report::live::Board;

/// Shows what comes to `board`, if that is wanted. A key or a terminal that goes away asks to stop.
///
/// To be called when privileges were given up: the thread has those of its maker.
pub fn show(is_wanted: bool, board: &Board, asked: &Asked) -> anyhow::Result<Option<Screen>> {
    is_wanted
        .then(|| Screen::start(board, asked))
        .transpose()
        .context("cannot show a dashboard here; try --plain")
}

/// Gives the terminal back, and says what was held back meanwhile.
pub fn give_back(_screen: Option<Screen>) {}
