//! What decides on alerts: rules files, the state machines they describe, and thresholds.

mod admission;
mod machine_properties;
mod overload;
mod rules_files;
mod sample;
mod tcp_connection;
mod tcp_flags;
mod thresholds;
mod workers;
