//! Live capture proper.

mod blind_spots;
mod interfaces;
mod source;
mod tap;

pub use blind_spots::blind_spots;
pub use interfaces::interfaces;
pub use source::LiveSource;
