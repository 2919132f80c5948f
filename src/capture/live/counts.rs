//! What was seen and what was lost, for those who watch a capture.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Counts of one interface since the start.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct InterfaceCounts {
    /// Its name.
    pub interface: String,
    /// Frames handed out.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Frames that the kernel dropped because its buffer was full.
    pub kernel_drops: u64,
    /// Frames that the interface or its driver dropped, where the system tells.
    pub interface_drops: u64,
    /// Whether it is captured from now.
    pub is_open: bool,
    /// How often it went away.
    pub losses_of_link: u64,
}

/// Counts of all interfaces, kept by the source and read by others.
#[derive(Debug, Default)]
pub struct LiveCounts {
    taps: Vec<TapCounts>,
}

/// Counts of one interface, as the source keeps them.
#[derive(Debug, Default)]
pub(super) struct TapCounts {
    pub name: String,
    pub packets: AtomicU64,
    pub bytes: AtomicU64,
    pub kernel_drops: AtomicU64,
    pub interface_drops: AtomicU64,
    pub is_open: AtomicBool,
    pub losses_of_link: AtomicU64,
}

impl LiveCounts {
    #[cfg_attr(not(all(feature = "live", unix)), allow(dead_code))]
    pub(super) fn new(interfaces: &[String]) -> LiveCounts {
        let tap = |name: &String| TapCounts { name: name.clone(), ..TapCounts::default() };
        LiveCounts { taps: interfaces.iter().map(tap).collect() }
    }

    #[cfg_attr(not(all(feature = "live", unix)), allow(dead_code))]
    pub(super) fn tap(&self, at: usize) -> Option<&TapCounts> {
        self.taps.get(at)
    }

    /// Counts by interface.
    pub fn interfaces(&self) -> Vec<InterfaceCounts> {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let counts = |tap: &TapCounts| InterfaceCounts {
            interface: tap.name.clone(),
            packets: read(&tap.packets),
            bytes: read(&tap.bytes),
            kernel_drops: read(&tap.kernel_drops),
            interface_drops: read(&tap.interface_drops),
            is_open: tap.is_open.load(Ordering::Relaxed),
            losses_of_link: read(&tap.losses_of_link),
        };
        self.taps.iter().map(counts).collect()
    }

    /// Frames dropped by kernels and interfaces so far.
    pub fn dropped(&self) -> u64 {
        let drops = |tap: &TapCounts| {
            let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
            read(&tap.kernel_drops).saturating_add(read(&tap.interface_drops))
        };
        self.taps.iter().map(drops).sum()
    }
}

/// A counter of 32 bits, as the kernel keeps them, made one that does not start over.
#[derive(Debug, Clone, Copy, Default)]
#[cfg_attr(not(all(feature = "live", unix)), allow(dead_code))]
pub(super) struct Unwrapped {
    last: u32,
}

impl Unwrapped {
    /// By how much it grew. Read often enough it cannot have gone round more than once.
    #[cfg_attr(not(all(feature = "live", unix)), allow(dead_code))]
    pub fn growth(&mut self, now: u32) -> u64 {
        let growth = now.wrapping_sub(self.last);
        self.last = now;
        growth.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_32_bits_go_on_beyond_them() {
        let mut counter = Unwrapped::default();
        let readings = [5, u32::MAX - 1, 3, 3, u32::MAX];
        let total: u64 = readings.map(|now| counter.growth(now)).iter().sum();
        assert_eq!(total, (1 << 32) + u64::from(u32::MAX));
    }
}
