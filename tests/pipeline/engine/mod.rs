//! What decides on alerts: rules files, the state machines they describe, and thresholds.

mod admission;
mod admission_keys;
mod blind_resets;
mod generated;
mod machine_properties;
mod overload;
mod rules_files;
mod sample;
mod segments;
mod tcp_connection;
mod tcp_flags;
mod thresholds;
mod workers;
