//! The cap of a shard, straight from its rule: how many flows, or the cells that they occupy, are
//! within the plan.

use acsm_filters::{Backend, Budget, FlowId, StoreSpec};

/// How much of a shard may be in use before it has no more room; `None` if there is no limit.
pub fn limit(spec: &StoreSpec) -> Option<u64> {
    let sizing = spec.sizing().unwrap();
    let shards = FlowId::SHARDS as f64;
    let mean = spec.flows as f64 / shards;
    let flows = (mean + 2.0 * mean.sqrt()).ceil();
    match spec.backend {
        Backend::Exact => match spec.budget {
            Budget::MemoryBytes(_) => Some(sizing.cells / FlowId::SHARDS as u64),
            Budget::FpRate(_) => None,
        },
        Backend::Fcf => Some(flows as u64),
        _ if sizing.recycle_at.is_some() => None,
        _ => {
            let cells = sizing.cells as f64 / shards;
            let empty = (-(sizing.hashes as f64) * flows / cells).exp();
            Some((cells - cells * empty).ceil() as u64)
        }
    }
}
