//! All interfaces of a run as one [`Source`]: waited for together, merged in time order.

use std::os::fd::AsFd as _;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::super::{LiveCounts, LiveError, LiveOptions};
use super::tap::{Held, Tap};
use crate::capture::{CaptureError, Frame, LinkType, Source};
use crate::time::{NANOS_PER_SEC, Timestamp};

/// Silence is told at least this often.
const TICK_NANOS: u64 = NANOS_PER_SEC / 4;
/// A frame is with us at the latest so long after it was captured: the kernel's block time, and
/// some for being late. What is older cannot be overtaken any more.
const LATEST_NANOS: u64 = NANOS_PER_SEC / 4;

/// Frames from interfaces, in time order.
pub struct LiveSource {
    options: LiveOptions,
    taps: Vec<Tap>,
    /// The frame handed out last.
    current: Held,
    /// Which interface has the next frame, if that is certain.
    ready: Option<usize>,
    counts: Arc<LiveCounts>,
}

impl LiveSource {
    /// Opens all interfaces, or none.
    pub fn open(options: LiveOptions) -> Result<LiveSource, LiveError> {
        let counts = Arc::new(LiveCounts::new(&options.interfaces));
        let tap = |at| Tap::open(&options, at, Arc::clone(&counts));
        let taps = (0..options.interfaces.len()).map(tap).collect::<Result<Vec<Tap>, _>>()?;
        Ok(LiveSource { options, taps, current: Held::default(), ready: None, counts })
    }

    /// What was seen and lost; others can keep and read it.
    pub fn counts(&self) -> Arc<LiveCounts> {
        Arc::clone(&self.counts)
    }

    /// The distinct link types of the interfaces, by number.
    pub fn link_types(&self) -> Vec<LinkType> {
        let mut link_types: Vec<_> = self.taps.iter().map(|tap| tap.link_type).collect();
        link_types.sort_unstable();
        link_types.dedup();
        link_types
    }

    /// Decides who comes next: the earliest frame, unless one not here yet may be earlier.
    #[inline]
    fn choose(&mut self) {
        let heads = self.taps.iter().enumerate().filter(|(_, tap)| tap.head.is_there);
        let earliest = heads.min_by_key(|(_, tap)| tap.head.time);
        self.ready = earliest.and_then(|(at, tap)| {
            let others_known = self.taps.iter().all(|tap| tap.head.is_there || tap.is_away());
            (others_known || self.taps.len() == 1 || self.is_settled(tap.head.time)).then_some(at)
        });
    }

    /// Whether everything captured before `time` must be here by now.
    fn is_settled(&self, time: Timestamp) -> bool {
        (self.options.clock)().since(time) >= LATEST_NANOS
    }

    fn fill_and_choose(&mut self) {
        for tap in &mut self.taps {
            tap.fill(self.options.on_change);
        }
        self.choose();
    }

    /// Waits until an interface without a frame has one, or something else is due.
    fn poll(&self, nanos: u64) -> Result<(), LiveError> {
        let waiting = self.taps.iter().filter(|tap| !tap.head.is_there).filter_map(Tap::handle);
        let mut handles: Vec<PollFd<'_>> =
            waiting.map(|handle| PollFd::from_borrowed_fd(handle.as_fd(), PollFlags::IN)).collect();
        let limit = Timespec {
            tv_sec: (nanos / NANOS_PER_SEC) as i64,
            tv_nsec: (nanos % NANOS_PER_SEC) as i64,
        };
        match poll(&mut handles, Some(&limit)) {
            // A signal: whoever asked for it wants us to look around.
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(LiveError::Wait(error.to_string())),
        }
    }

    /// How long to wait: a tick, or until the earliest frame held back is settled.
    fn patience_nanos(&self) -> u64 {
        let heads = self.taps.iter().filter(|tap| tap.head.is_there);
        let held_back = heads.map(|tap| tap.head.time).min();
        held_back.map_or(TICK_NANOS, |time| {
            let age_nanos = (self.options.clock)().since(time);
            LATEST_NANOS.saturating_sub(age_nanos).clamp(1, TICK_NANOS)
        })
    }
}

impl Source for LiveSource {
    #[inline]
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        while self.ready.is_none() {
            self.wait()?;
        }
        let Some(tap) = self.ready.and_then(|at| self.taps.get_mut(at)) else { return Ok(None) };
        std::mem::swap(&mut self.current, &mut tap.head);
        tap.head.is_there = false;
        tap.count(self.current.wire_bytes);
        let link_type = tap.link_type;
        tap.fill(self.options.on_change);
        self.choose();
        let Held { time, wire_bytes, bytes, .. } = &self.current;
        Ok(Some(Frame { time: *time, link_type, wire_bytes: *wire_bytes, bytes }))
    }

    #[inline]
    fn may_wait(&self) -> bool {
        self.ready.is_none()
    }

    fn wait(&mut self) -> Result<Option<Timestamp>, CaptureError> {
        self.fill_and_choose();
        if self.ready.is_none() {
            self.poll(self.patience_nanos())?;
            self.fill_and_choose();
        }
        if self.ready.is_some() {
            return Ok(None);
        }
        let now = (self.options.clock)();
        for tap in &mut self.taps {
            tap.ask_kernel();
            tap.try_again(&self.options, now);
        }
        let heads = self.taps.iter().filter(|tap| tap.head.is_there);
        let settled = Timestamp::from_nanos(now.as_nanos().saturating_sub(LATEST_NANOS));
        Ok(Some(heads.map(|tap| tap.head.time).fold(settled, Timestamp::min)))
    }

    #[inline]
    fn lost_frames(&self) -> u64 {
        self.counts.dropped()
    }
}
