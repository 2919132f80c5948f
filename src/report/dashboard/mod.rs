//! The terminal dashboard of `acsm live`, apart from the terminal: keys in, screens out.
//!
//! ```text
//! bytes typed → KeyReader → Key → Dashboard::handle → Action
//! View, History, what was said → Dashboard::draw → a ratatui frame
//! ```
//!
//! | file | what |
//! |---|---|
//! | `keys` | bytes of a terminal as keys |
//! | `state` | what the reader chose: pause, filter, order, focus |
//! | `screen`, `layout` | the whole screen, and what goes where at which size |
//! | `traffic`, `store`, `states` | rates, the store, flows into states |
//! | `alerts`, `talkers` | tables that scroll |
//! | `notices`, `overlay` | what is out of the ordinary; help and messages |
//! | `look`, `fit` | styles; text that fits |
//!
//! Nothing here touches a terminal, a clock or the capture, so tests compare whole screens. Text from
//! outside (names of interfaces and rules, messages) loses its control characters on the way in.

mod alerts;
mod fit;
mod keys;
mod layout;
mod look;
mod notices;
mod overlay;
mod screen;
mod state;
mod states;
mod store;
mod talkers;
mod traffic;

pub use keys::{Key, KeyReader};
pub use look::Look;
pub use screen::Shown;
pub use state::{Action, Dashboard};
