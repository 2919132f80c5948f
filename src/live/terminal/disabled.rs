//! Without the feature `live` there is no capture, and no dashboard of it.

use std::io;

use super::ScreenContext;

/// A dashboard that shows nothing.
pub struct Screen;

/// Never.
pub fn can_show_dashboard() -> bool {
    false
}

impl Screen {
    /// Does nothing: it is called only if [`can_show_dashboard`].
    pub fn start(context: ScreenContext) -> io::Result<Screen> {
        drop(context);
        Ok(Screen)
    }
}
