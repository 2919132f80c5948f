//! What was seen and what was lost, for those who watch a capture.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

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
    pub losses_of_link: AtomicU64,
    /// Handles on it, one a capture thread, and those of them that are open.
    handles: usize,
    handles_open: AtomicUsize,
    has_merged: AtomicBool,
}

impl LiveCounts {
    #[cfg_attr(not(all(feature = "live", unix)), allow(dead_code))]
    pub(super) fn new(interfaces: &[String], handles: usize) -> LiveCounts {
        let tap = |name: &String| TapCounts { name: name.clone(), handles, ..TapCounts::default() };
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
            is_open: tap.handles_open.load(Ordering::Relaxed) == tap.handles,
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

#[cfg_attr(not(all(feature = "live", unix)), allow(dead_code))]
impl TapCounts {
    /// Counts a frame that is handed out. One thread does that: no need for an atomic addition.
    #[inline]
    pub fn count(&self, wire_bytes: u32) {
        let add = |count: &AtomicU64, n: u64| {
            count.store(count.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
        };
        add(&self.packets, 1);
        add(&self.bytes, wire_bytes.into());
    }

    /// Notes that a handle is open; says whether that was the last one missing.
    pub fn opened(&self) -> bool {
        self.handles_open.fetch_add(1, Ordering::Relaxed) + 1 == self.handles
    }

    /// Notes that a handle was lost; says whether that is news: the others go for the same reason.
    pub fn lost(&self) -> bool {
        let is_first = self.handles_open.fetch_sub(1, Ordering::Relaxed) == self.handles;
        if is_first {
            self.losses_of_link.fetch_add(1, Ordering::Relaxed);
        }
        is_first
    }

    /// Notes that packets are merged before we see them; says whether that is news.
    pub fn merged(&self) -> bool {
        !self.has_merged.swap(true, Ordering::Relaxed)
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
    fn an_interface_is_gone_once_whatever_the_number_of_its_handles() {
        let counts = LiveCounts::new(&["eth0".to_owned()], 3);
        let tap = counts.tap(0).unwrap();
        assert_eq!([tap.opened(), tap.opened(), tap.opened()], [false, false, true]);
        for losses in 1..=2 {
            assert!(counts.interfaces()[0].is_open);
            assert_eq!([tap.lost(), tap.lost()], [true, false]);
            assert!(!counts.interfaces()[0].is_open);
            assert_eq!([tap.opened(), tap.lost(), tap.lost()], [false; 3]);
            assert_eq!([tap.opened(), tap.opened(), tap.opened()], [false, false, true]);
            assert_eq!(counts.interfaces()[0].losses_of_link, losses);
        }
    }

    #[test]
    fn counters_of_32_bits_go_on_beyond_them() {
        let mut counter = Unwrapped::default();
        let readings = [5, u32::MAX - 1, 3, 3, u32::MAX];
        let total: u64 = readings.map(|now| counter.growth(now)).iter().sum();
        assert_eq!(total, (1 << 32) + u64::from(u32::MAX));
    }
}
