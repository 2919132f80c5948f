//! What a packet means for its flow, and which rules it breaks: pure tables, no memory of flows.

mod threshold;

pub use threshold::{Counted, RuleId, ThresholdKey, ThresholdRule};
