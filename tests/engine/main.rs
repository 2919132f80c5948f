//! What decides on alerts: rules files, the state machines they describe, and thresholds.

mod admission;
mod admission_keys;
mod blind_resets;
mod machine_properties;
mod rules_files;
mod segments;
mod tcp_connection;
mod tcp_flags;
mod thresholds;
mod workers;
