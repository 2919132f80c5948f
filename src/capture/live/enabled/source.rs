//! All interfaces of a run as one [`PacketSource`], read by one thread or by several.

use std::sync::Arc;
use std::time::Duration;

use super::super::{LiveCounts, LiveOptions};
use super::interface_handle::{HandleConfig, InterfaceHandle};
use super::interface_set::InterfaceSet;
use super::interfaces::known_interfaces;
use super::linux_sockets::FanoutGroup;
use super::threads::CaptureThreads;
use crate::capture::{CaptureError, Frame, LinkType, LiveError, PacketSource};
use crate::time::{NANOS_PER_SEC, Timestamp};

/// The longest time that one wait takes.
const TICK_NANOS: u64 = NANOS_PER_SEC / 4;
/// The same for capture threads: shorter, because frames of the others are held back for them.
const THREAD_TICK_NANOS: u64 = NANOS_PER_SEC / 20;

/// Frames from interfaces, in time order.
pub struct LiveSource {
    reading: Reading,
    link_types: Vec<LinkType>,
    counts: Arc<LiveCounts>,
}

/// Which thread captures.
enum Reading {
    /// The one that asks for frames.
    ThisThread(InterfaceSet),
    /// Several others, which share every interface.
    CaptureThreads(CaptureThreads),
}

impl LiveSource {
    /// Opens all interfaces, or none.
    pub fn open(options: LiveOptions) -> Result<LiveSource, LiveError> {
        check_names(&options.interfaces)?;
        let threads = options.capture_threads.max(1);
        let counts = Arc::new(LiveCounts::new(&options.interfaces, threads));
        let groups: Vec<Option<Arc<FanoutGroup>>> =
            options.interfaces.iter().map(|_| (threads > 1).then(Arc::default)).collect();
        let tick_nanos = if threads > 1 { THREAD_TICK_NANOS } else { TICK_NANOS };
        let open_all = |_| {
            let open = |(interface, group): (usize, &Option<Arc<FanoutGroup>>)| {
                let (counts, group) = (Arc::clone(&counts), group.clone());
                InterfaceHandle::open(&options, HandleConfig { interface, counts, group })
            };
            let handles = groups.iter().enumerate().map(open).collect::<Result<_, _>>()?;
            Ok(InterfaceSet::new(options.clone(), handles, tick_nanos))
        };
        let mut sets =
            (0..threads).map(open_all).collect::<Result<Vec<InterfaceSet>, LiveError>>()?;
        let mut link_types: Vec<_> = sets.iter().flat_map(InterfaceSet::link_types).collect();
        link_types.sort_unstable();
        link_types.dedup();
        let reading = match sets.pop() {
            Some(only) if sets.is_empty() => Reading::ThisThread(only),
            last => {
                sets.extend(last);
                // Each handle got all frames until it joined its group: all begin now.
                sets.iter_mut().for_each(InterfaceSet::forget_drops);
                let start = (options.clock)();
                sets.iter_mut().for_each(|set| set.begin_at(start));
                Reading::CaptureThreads(CaptureThreads::new(sets))
            }
        };
        Ok(LiveSource { reading, link_types, counts })
    }

    /// The counters, for other threads to read.
    pub fn counts(&self) -> Arc<LiveCounts> {
        Arc::clone(&self.counts)
    }

    /// The distinct link types of the interfaces, by number.
    pub fn link_types(&self) -> Vec<LinkType> {
        self.link_types.clone()
    }
}

/// There must be at least one interface, and each only once.
fn check_names(interfaces: &[String]) -> Result<(), LiveError> {
    if interfaces.is_empty() {
        return Err(LiveError::NoInterface { known: known_interfaces() });
    }
    let mut names = interfaces.iter().enumerate();
    match names.find(|(at, name)| interfaces.iter().take(*at).any(|other| other == *name)) {
        Some((_, twice)) => Err(LiveError::Twice { interface: twice.clone() }),
        None => Ok(()),
    }
}

impl PacketSource for LiveSource {
    #[inline]
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        while self.may_wait() {
            self.wait()?;
        }
        let captured = match &mut self.reading {
            Reading::ThisThread(set) => set.next(),
            Reading::CaptureThreads(threads) => threads.next(),
        };
        let Some(captured) = captured else { return Ok(None) };
        if let Some(counters) = self.counts.interface(captured.interface) {
            counters.count(captured.frame.wire_bytes);
        }
        Ok(Some(captured.frame))
    }

    #[inline]
    fn may_wait(&self) -> bool {
        match &self.reading {
            Reading::ThisThread(set) => !set.is_ready(),
            Reading::CaptureThreads(threads) => !threads.is_ready(),
        }
    }

    fn wait(&mut self) -> Result<Option<Timestamp>, CaptureError> {
        Ok(match &mut self.reading {
            Reading::ThisThread(set) => set.wait()?,
            Reading::CaptureThreads(threads) => threads.wait(Duration::from_nanos(TICK_NANOS))?,
        })
    }

    #[inline]
    fn lost_frames(&self) -> u64 {
        self.counts.dropped()
    }
}
