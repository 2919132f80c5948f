//! Without the feature `live` there is nothing to capture, and no dashboard of it.

use std::io;

use crate::cmd::live::watcher::Asked;
use crate::report::live::Board;

/// Never there.
pub struct Screen;

/// It cannot.
pub fn can_show_dashboard() -> bool {
    false
}

impl Screen {
    /// Nobody asks for it where it cannot be.
    pub fn start(_board: &Board, _asked: &Asked) -> io::Result<Screen> {
        Ok(Screen)
    }
}
