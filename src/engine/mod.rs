//! The pipeline: packets in, alerts and figures out.
//!
//! ```text
//! run: source → parse → front ─┬→ worker: lookup → step → write → sweep ─┬→ gather → sink
//!                              └→ worker …                              ─┘
//! ```
//!
//! | file | what |
//! |---|---|
//! | [`run`](mod@run) | the loop of one run |
//! | `front` | what must see all packets before the workers do: clock, learning |
//! | `event` | what a worker gets to know of a packet, and the rounds in which it comes |
//! | `crew`, `worker` | the workers, in threads or inline, and who does what; what one does with a packet |
//! | `counting` | thresholds at work, in one of the workers |
//! | [`verify`] | the exact shadow, and the errors it counts |
//! | `gather`, `hygiene`, `cooldown` | findings back in order, thinned out, to the [`Sink`] |
//! | `demand` | what a trace asks of a store, for plans |
//! | [`compare`](mod@compare) | many runs over one pass, each against the exact truth |
//! | [`Observer`], [`Snapshot`] | what a run shows of itself meanwhile; other rules on the way |
//! | [`top`] | the busiest addresses |
//! | [`thresholds`] | floods, scans and storms, in sketches of their own |
//!
//! What comes out does not depend on the number of workers: flows live in 16 shards by their
//! digest, workers own whole shards, and whatever must see all packets sees them in order.

mod alert;
mod clock;
pub mod compare;
mod cooldown;
mod counting;
mod crew;
mod demand;
mod event;
mod finding;
mod front;
mod gather;
mod hygiene;
mod learning;
mod observer;
pub mod plan;
pub mod run;
mod tally;
pub mod thresholds;
pub mod top;
pub mod verify;
mod worker;

pub use alert::{Alert, Sink, WatchStep};
pub use clock::Phase;
pub use demand::{Demand, demand};
pub use front::Watch;
pub use gather::{AlertCounts, AlertDifference};
pub use hygiene::LeftOut;
pub use observer::{NewRules, Observer, Snapshot, Wish};
pub use run::{Outcome, RunError, RunPlan, run};
pub use tally::{Lookups, Nanos, Tally};
pub use verify::{ErrorKind, Errors};
