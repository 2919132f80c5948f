//! Counters of a live capture: packets, bytes and drops of each interface.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Counts of one interface since the start.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct InterfaceCounts {
    /// Its name.
    pub interface: String,
    /// Frames read.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Frames that the kernel dropped because its buffer was full.
    pub kernel_drops: u64,
    /// Frames that the interface or its driver dropped, where the system reports them.
    pub interface_drops: u64,
    /// Whether it is open at the moment.
    pub is_open: bool,
    /// How often it went down or was removed.
    pub losses_of_link: u64,
}

/// Counters of all interfaces, updated by the source and read by other threads.
#[derive(Debug, Default)]
pub struct LiveCounts {
    interfaces: Vec<InterfaceCounters>,
}

/// Counters of one interface, as the source updates them.
#[derive(Debug, Default)]
pub(super) struct InterfaceCounters {
    pub name: String,
    pub packets: AtomicU64,
    pub bytes: AtomicU64,
    pub kernel_drops: AtomicU64,
    pub interface_drops: AtomicU64,
    pub losses_of_link: AtomicU64,
    /// Its handles, one per capture thread, and how many of them are open.
    handles: usize,
    handles_open: AtomicUsize,
    merges: AtomicBool,
}

impl LiveCounts {
    #[cfg_attr(not(all(feature = "live", unix)), allow(dead_code))]
    pub(super) fn new(interfaces: &[String], handles: usize) -> LiveCounts {
        let counters = |name: &String| InterfaceCounters {
            name: name.clone(),
            handles,
            ..InterfaceCounters::default()
        };
        LiveCounts { interfaces: interfaces.iter().map(counters).collect() }
    }

    #[cfg_attr(not(all(feature = "live", unix)), allow(dead_code))]
    pub(super) fn interface(&self, number: usize) -> Option<&InterfaceCounters> {
        self.interfaces.get(number)
    }

    /// Counts by interface.
    pub fn interfaces(&self) -> Vec<InterfaceCounts> {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let counts = |of: &InterfaceCounters| InterfaceCounts {
            interface: of.name.clone(),
            packets: read(&of.packets),
            bytes: read(&of.bytes),
            kernel_drops: read(&of.kernel_drops),
            interface_drops: read(&of.interface_drops),
            is_open: of.handles_open.load(Ordering::Relaxed) == of.handles,
            losses_of_link: read(&of.losses_of_link),
        };
        self.interfaces.iter().map(counts).collect()
    }

    /// Frames dropped by kernels and interfaces so far.
    pub fn dropped(&self) -> u64 {
        let drops = |of: &InterfaceCounters| {
            let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
            read(&of.kernel_drops).saturating_add(read(&of.interface_drops))
        };
        self.interfaces.iter().map(drops).sum()
    }
}

#[cfg_attr(not(all(feature = "live", unix)), allow(dead_code))]
impl InterfaceCounters {
    /// Counts a frame. One thread does that, so no atomic addition is needed.
    #[inline]
    pub fn count(&self, wire_bytes: u32) {
        let add = |count: &AtomicU64, n: u64| {
            count.store(count.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
        };
        add(&self.packets, 1);
        add(&self.bytes, wire_bytes.into());
    }

    /// A handle was opened; returns whether all are open now.
    pub fn opened(&self) -> bool {
        self.handles_open.fetch_add(1, Ordering::Relaxed) + 1 == self.handles
    }

    /// A handle was lost; returns whether it is the first one: the others follow for the same reason.
    pub fn lost(&self) -> bool {
        let is_first = self.handles_open.fetch_sub(1, Ordering::Relaxed) == self.handles;
        if is_first {
            self.losses_of_link.fetch_add(1, Ordering::Relaxed);
        }
        is_first
    }

    /// Packets are merged before they are captured; returns whether that was not known before.
    pub fn note_merging(&self) -> bool {
        !self.merges.swap(true, Ordering::Relaxed)
    }
}

/// Extends a 32-bit counter of the kernel to 64 bits.
#[derive(Debug, Clone, Copy, Default)]
#[cfg_attr(not(all(feature = "live", unix)), allow(dead_code))]
pub(super) struct KernelCounter {
    last: u32,
}

impl KernelCounter {
    /// By how much it grew since the last reading. It must be read at least once per 2^32.
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
    fn an_interface_is_lost_once_whatever_the_number_of_its_handles() {
        let counts = LiveCounts::new(&["eth0".to_owned()], 3);
        let eth0 = counts.interface(0).unwrap();
        assert_eq!([eth0.opened(), eth0.opened(), eth0.opened()], [false, false, true]);
        for losses in 1..=2 {
            assert!(counts.interfaces()[0].is_open);
            assert_eq!([eth0.lost(), eth0.lost()], [true, false]);
            assert!(!counts.interfaces()[0].is_open);
            assert_eq!([eth0.opened(), eth0.lost(), eth0.lost()], [false; 3]);
            assert_eq!([eth0.opened(), eth0.opened(), eth0.opened()], [false, false, true]);
            assert_eq!(counts.interfaces()[0].losses_of_link, losses);
        }
    }

    #[test]
    fn counters_of_32_bits_are_extended() {
        let mut counter = KernelCounter::default();
        let readings = [5, u32::MAX - 1, 3, 3, u32::MAX];
        let total: u64 = readings.map(|now| counter.growth(now)).iter().sum();
        assert_eq!(total, (1 << 32) + u64::from(u32::MAX));
    }
}
