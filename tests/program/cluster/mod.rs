//! `acsm cluster` against real servers: `scripts/test` runs it with the feature `cluster`.
//!
//! Needs redis-server or valkey-server, and the module: `cargo build --release -p acsm-redis`, or its path
//! in ACSM_REDIS_MODULE. Without them the tests say so and pass; with ACSM_CLUSTER_TESTS=require they fail.
//! ACSM_CLUSTER_SERVER names another server program.

mod balance;
mod commands;
mod eviction;
mod failover;
mod migration;
mod servers;
mod shadow;
mod tls;
