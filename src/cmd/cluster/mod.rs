//! `acsm cluster`: key-value filters in a Redis or Valkey Cluster, with the feature `cluster`.

#[cfg(not(feature = "cluster"))]
mod disabled;
#[cfg(feature = "cluster")]
mod enabled;

#[cfg(not(feature = "cluster"))]
pub use disabled::{ClusterArgs, run};
#[cfg(feature = "cluster")]
pub use enabled::{ClusterArgs, run};
