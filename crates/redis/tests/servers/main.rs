//! The module in real servers: Redis and Valkey, whichever are installed.
//!
//! Without a server, the tests say so and pass. `scripts/test` installs both.

mod aggregate;
mod client;
mod documentation;
mod fuzz;
mod hostile;
mod persistence;
mod replication;
mod server;
mod slabs;
mod speed;
