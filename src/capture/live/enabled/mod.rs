//! Live capture proper.

mod batch;
mod blind_spots;
mod fanout;
mod interfaces;
mod lanes;
mod offloads;
mod source;
mod tap;
mod taps;
mod threads;

pub use blind_spots::blind_spots;
pub use interfaces::interfaces;
pub use source::LiveSource;
