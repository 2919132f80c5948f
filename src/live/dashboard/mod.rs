//! The terminal dashboard of `acsm live`, without the terminal: keys in, screens out.
//!
//! ```text
//! bytes typed → KeyReader → Key → Dashboard::handle → Action
//! View, History, messages → Dashboard::draw → a ratatui frame
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `keys` | keys from the bytes that a terminal sends |
//! | `state` | what the user selected: pause, filter, sort order, focus |
//! | `layout` | the position of each panel at each screen size |
//! | `style` | styles, numbers and addresses that fit a width |
//! | `figures` | panels of figures and plots: traffic, store, flows into states |
//! | `tables` | panels that scroll: alerts, busiest addresses |
//! | `screen` | the whole screen: header, panels, notices, footer; help and messages over it |
//!
//! Nothing here accesses a terminal, a clock or the capture, so tests compare whole screens. Text from
//! outside (names of interfaces and rules, messages) is stripped of control characters.

mod figures;
mod keys;
mod layout;
mod screen;
mod state;
mod style;
mod tables;

pub use keys::{Key, KeyReader};
pub use state::{Action, Dashboard, Shown};
pub use style::Look;
