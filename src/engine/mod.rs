//! The pipeline: packets in, alerts and figures out.
//!
//! ```text
//! run: source → parse → dispatch → batch ─┬→ shard: lookup → step → write → sweep ─┬→ merge → sink
//!                                         └→ shard …, thresholds                  ─┘
//! ```
//!
//! | file | what |
//! |---|---|
//! | [`run`](mod@run), `run_plan` | one run: reads, sends batches through its stages, takes results |
//! | `stages` | the stages: thresholds, and the shards with what is checked beside them |
//! | `dispatch`, `clock`, `warm_up` | what must see all packets in order; packets become events |
//! | `batch` | packets and events on their way to the shards |
//! | `pool`, `stage_owners` | the threads, and which of them owns which stage |
//! | [`shard`], `shard_loop`, `shard_sweep`, `shard_direct` | the interface of a shard; the loop that drives flows, for every store; how it lets time pass; questions about single flows |
//! | `lookup_cache` | answers for the flows seen last |
//! | `admission`, `pending_step`, `shard_pending`, `unbounded_pending` | flows that are pending until both of their ends have spoken |
//! | `digest_hasher` | the hash of tables by digest: the digest itself |
//! | `build` | from the specification of a store to its shards |
//! | `shadow`, [`errors`] | the exact table beside a store, and the errors it finds |
//! | [`sample`], `seconds` | an exact table of some flows, always on: the measured error; what is decided once per second |
//! | [`overload`] | when new flows are too many for pending table or store |
//! | `alert` | an alert |
//! | [`alerts`] | alerts merged in packet order, limited, to the [`Sink`] |
//! | [`incidents`] | alerts that belong together as one thing, with its size, sources and victims |
//! | [`thresholds`] | floods, scans and storms, in sketches of their own |
//! | [`observer`], `active_rules` | what a run shows of itself meanwhile; other rules on the way |
//! | `stats`, [`top_talkers`] | what shards count; the busiest addresses |
//! | [`compare`](mod@compare) | many stores over one pass, each compared with the exact truth |
//! | [`plan`] | which store to take for given flows, memory and error |
//!
//! What comes out does not depend on the number of workers: flows live in 16 shards by their
//! digest, one thread at a time works on a shard, and whatever must see all packets sees them in
//! order.

mod active_rules;
mod admission;
mod alert;
pub mod alerts;
mod base_rates;
mod batch;
mod build;
mod clock;
pub mod compare;
mod digest_hasher;
mod dispatch;
pub mod errors;
pub mod incidents;
mod lookup_cache;
pub mod observer;
pub mod overload;
mod pending_step;
pub mod plan;
mod pool;
pub mod run;
mod run_plan;
pub mod sample;
mod seconds;
mod shadow;
pub mod shard;
mod shard_direct;
mod shard_loop;
mod shard_pending;
mod shard_sweep;
mod stage_owners;
mod stages;
mod stats;
#[cfg(test)]
mod tests;
pub mod thresholds;
pub mod top_talkers;
mod unbounded_pending;
mod warm_up;

pub use active_rules::ActiveRules;
pub use alerts::{Alert, AlertCounts, AlertDifference, Sink, Subject, Suppressed, WatchStep};
pub use build::lookup_cache_bits;
pub use clock::Phase;
pub use dispatch::Watch;
pub use errors::{ErrorKind, Errors};
pub use incidents::{
    Incident, IncidentEvent, IncidentId, IncidentStatus, IncidentTracker, Incidents,
};
pub use observer::{Observer, Request, Snapshot};
pub use overload::{OverloadEvent, OverloadStatus, OverloadTotals};
pub use run::run;
pub use run_plan::{RunError, RunPlan, RunResult};
pub use sample::{MeasuredError, Measurement};
pub use stats::{Durations, Lookups, ShardStats};
