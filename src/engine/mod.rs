//! What runs over the packets of a capture, in their order.

pub mod thresholds;
