//! All interfaces of a run as one [`Source`], read by one thread or by several.

use std::sync::Arc;
use std::time::Duration;

use super::super::{LiveCounts, LiveError, LiveOptions};
use super::fanout::Group;
use super::interfaces::known_interfaces;
use super::tap::{Tap, TapPlan};
use super::taps::Taps;
use super::threads::Threads;
use crate::capture::{CaptureError, Frame, LinkType, Source};
use crate::time::{NANOS_PER_SEC, Timestamp};

/// Silence is told at least this often.
const TICK_NANOS: u64 = NANOS_PER_SEC / 4;
/// Capture threads tell each other's reader more often: it holds back what they might overtake.
const THREAD_TICK_NANOS: u64 = NANOS_PER_SEC / 20;

/// Frames from interfaces, in time order.
pub struct LiveSource {
    reading: Reading,
    link_types: Vec<LinkType>,
    counts: Arc<LiveCounts>,
}

/// Who reads.
enum Reading {
    /// The thread that asks for frames.
    Here(Taps),
    /// Others, who share every interface.
    Threads(Threads),
}

impl LiveSource {
    /// Opens all interfaces, or none.
    pub fn open(options: LiveOptions) -> Result<LiveSource, LiveError> {
        check(&options.interfaces)?;
        let threads = options.capture_threads.max(1);
        let counts = Arc::new(LiveCounts::new(&options.interfaces, threads));
        let shared: Vec<Option<Arc<Group>>> =
            options.interfaces.iter().map(|_| (threads > 1).then(Arc::default)).collect();
        let tick_nanos = if threads > 1 { THREAD_TICK_NANOS } else { TICK_NANOS };
        let open_all = |_| {
            let tap = |(at, group): (usize, &Option<Arc<Group>>)| {
                let (counts, group) = (Arc::clone(&counts), group.clone());
                Tap::open(&options, TapPlan { at, counts, group })
            };
            let taps = shared.iter().enumerate().map(tap).collect::<Result<_, _>>()?;
            Ok(Taps::new(options.clone(), taps, tick_nanos))
        };
        let mut all = (0..threads).map(open_all).collect::<Result<Vec<Taps>, LiveError>>()?;
        let mut link_types: Vec<_> = all.iter().flat_map(Taps::link_types).collect();
        link_types.sort_unstable();
        link_types.dedup();
        let reading = match all.pop() {
            Some(taps) if all.is_empty() => Reading::Here(taps),
            last => {
                all.extend(last);
                // Handles saw everything until they joined the others: all begin now.
                all.iter_mut().for_each(Taps::forget_drops);
                let start = (options.clock)();
                all.iter_mut().for_each(|taps| taps.begin_at(start));
                Reading::Threads(Threads::new(all))
            }
        };
        Ok(LiveSource { reading, link_types, counts })
    }

    /// What was seen and lost; others can keep and read it.
    pub fn counts(&self) -> Arc<LiveCounts> {
        Arc::clone(&self.counts)
    }

    /// The distinct link types of the interfaces, by number.
    pub fn link_types(&self) -> Vec<LinkType> {
        self.link_types.clone()
    }
}

/// There must be some, each once.
fn check(interfaces: &[String]) -> Result<(), LiveError> {
    if interfaces.is_empty() {
        return Err(LiveError::NoInterface { known: known_interfaces() });
    }
    let mut names = interfaces.iter().enumerate();
    match names.find(|(at, name)| interfaces.iter().take(*at).any(|other| other == *name)) {
        Some((_, twice)) => Err(LiveError::Twice { interface: twice.clone() }),
        None => Ok(()),
    }
}

impl Source for LiveSource {
    #[inline]
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        while self.may_wait() {
            self.wait()?;
        }
        let captured = match &mut self.reading {
            Reading::Here(taps) => taps.next(),
            Reading::Threads(threads) => threads.next(),
        };
        let Some(captured) = captured else { return Ok(None) };
        if let Some(counts) = self.counts.tap(captured.interface) {
            counts.count(captured.frame.wire_bytes);
        }
        Ok(Some(captured.frame))
    }

    #[inline]
    fn may_wait(&self) -> bool {
        match &self.reading {
            Reading::Here(taps) => !taps.is_ready(),
            Reading::Threads(threads) => !threads.is_ready(),
        }
    }

    fn wait(&mut self) -> Result<Option<Timestamp>, CaptureError> {
        Ok(match &mut self.reading {
            Reading::Here(taps) => taps.wait()?,
            Reading::Threads(threads) => threads.wait(Duration::from_nanos(TICK_NANOS))?,
        })
    }

    #[inline]
    fn lost_frames(&self) -> u64 {
        self.counts.dropped()
    }
}
