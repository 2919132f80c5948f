//! What a comparison takes, and whether the machine has it: said before anything is read twice.

use std::fs;

use anyhow::bail;

use super::runs::Runs;
use crate::report::text::bytes;
use acsm_filters::History;

/// What a flow that a run was wrong about takes in that run.
const ERRING_FLOW_BYTES: u64 = 64;
/// Buffers, cool-downs and the like of one run.
const RUN_BYTES: u64 = 1 << 20;

/// Memory that a comparison needs.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    /// All stores with their tables.
    pub stores_bytes: u64,
    /// The exact table, and what is noted of erring flows: an estimate.
    pub truth_bytes: u64,
}

impl Need {
    /// For `runs`, in a trace of about so many flows in all.
    pub fn new(runs: &Runs, flows_total: u64) -> Need {
        let (mut stores_bytes, mut truth_bytes) = (0_u64, flows_total * History::FLOW_BYTES);
        for (n, _) in runs.plans.iter().enumerate() {
            let Some(label) = runs.labels.iter().find(|label| label.run == n) else { continue };
            let store_bytes = (label.sizing.bits + label.sizing.table_bits) / 8;
            stores_bytes = stores_bytes.saturating_add(store_bytes);
            // A flow meets a few chances to be wrong.
            let erring = flows_total as f64 * (3.0 * label.fp_rate).min(1.0);
            truth_bytes += RUN_BYTES + erring as u64 * ERRING_FLOW_BYTES;
        }
        Need { stores_bytes, truth_bytes }
    }

    fn total(self) -> u64 {
        self.stores_bytes.saturating_add(self.truth_bytes)
    }

    /// Says what it is, for people.
    pub fn describe(self, runs: usize) -> String {
        let (stores, truth) = (bytes(self.stores_bytes), bytes(self.truth_bytes));
        let plural = if runs == 1 { "run" } else { "runs" };
        format!("{runs} {plural}: {stores} for stores, about {truth} for the exact truth")
    }

    /// Refuses what does not fit.
    pub fn check(self, limit: Option<u64>) -> anyhow::Result<()> {
        let (limit, what) = match limit {
            Some(limit) => (limit, "--memory-limit is"),
            None => (available_bytes().unwrap_or(u64::MAX), "there are"),
        };
        if self.total() > limit {
            bail!(
                "the comparison would take about {}, {what} {}: ask for fewer --backends, \
                 --fp-rates or seeds at a time, or lower --flows",
                bytes(self.total()),
                bytes(limit)
            );
        }
        Ok(())
    }
}

/// What the system says can be taken without swapping, and this process may take.
fn available_bytes() -> Option<u64> {
    let system = mem_available(&fs::read_to_string("/proc/meminfo").ok()?)?;
    let group = |name: &str| {
        let text = fs::read_to_string(format!("/sys/fs/cgroup/memory.{name}")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    let left = group("max").zip(group("current")).map(|(max, now)| max.saturating_sub(now));
    Some(left.map_or(system, |left| left.min(system)))
}

fn mem_available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_kernel_writes() {
        let text = "MemTotal:       24640000 kB\nMemFree: 1 kB\nMemAvailable:   23100000 kB\n";
        assert_eq!(mem_available(text), Some(23_100_000 * 1024));
        assert_eq!(mem_available("MemTotal: 5 kB"), None);
    }

    #[test]
    fn refuses_what_does_not_fit() {
        let need = Need { stores_bytes: 3 << 30, truth_bytes: 1 << 30 };
        need.check(Some(4 << 30)).unwrap();
        let refusal = need.check(Some((4 << 30) - 1)).unwrap_err().to_string();
        assert!(refusal.contains("4.0 GiB") && refusal.contains("--fp-rates"), "{refusal}");
    }
}
