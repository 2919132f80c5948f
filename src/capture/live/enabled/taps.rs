//! Interfaces read by one thread: waited for together, merged in time order.

use std::os::fd::AsFd as _;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::super::{LiveError, LiveOptions};
use super::tap::{Held, Pace, Tap};
use crate::capture::{Frame, LinkType};
use crate::time::{NANOS_PER_SEC, Timestamp};

/// A frame, and which interface it is from.
pub(super) struct Captured<'a> {
    /// The number of the interface in the options.
    pub interface: usize,
    pub frame: Frame<'a>,
}

/// Several interfaces, as one.
pub(super) struct Taps {
    options: LiveOptions,
    taps: Vec<Tap>,
    /// The frame handed out last.
    current: Held,
    /// Which interface has the next frame, if that is certain.
    ready: Option<usize>,
    /// Whatever was captured before is here.
    settled: Timestamp,
    /// Silence is told at least this often.
    tick_nanos: u64,
}

impl Taps {
    /// All of `taps`, the interfaces of `options`.
    pub fn new(options: LiveOptions, taps: Vec<Tap>, tick_nanos: u64) -> Taps {
        let (current, settled) = (Held::default(), Timestamp::default());
        Taps { options, taps, current, ready: None, settled, tick_nanos }
    }

    /// What was dropped so far does not count.
    pub fn forget_drops(&mut self) {
        self.taps.iter_mut().for_each(Tap::forget_drops);
    }

    /// Leaves out what was captured before `start`.
    pub fn begin_at(&mut self, start: Timestamp) {
        self.taps.iter_mut().for_each(|tap| tap.begin_at(start));
    }

    pub fn link_types(&self) -> impl Iterator<Item = LinkType> + '_ {
        self.taps.iter().map(|tap| tap.link_type)
    }

    /// Whether the next frame is here.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.ready.is_some()
    }

    /// The next frame, if it is here.
    #[inline]
    pub fn next(&mut self) -> Option<Captured<'_>> {
        let interface = self.ready?;
        let tap = self.taps.get_mut(interface)?;
        std::mem::swap(&mut self.current, &mut tap.head);
        tap.head.is_there = false;
        let link_type = tap.link_type;
        tap.fill(self.options.on_change);
        self.choose();
        if self.ready.is_none() && self.taps.len() > 1 {
            self.look_again();
        }
        let Held { time, wire_bytes, bytes, .. } = &self.current;
        let frame = Frame { time: *time, link_type, wire_bytes: *wire_bytes, bytes };
        Some(Captured { interface, frame })
    }

    /// Waits for the next frame, but not for long. If none came, says up to which time there is
    /// none.
    pub fn wait(&mut self) -> Result<Option<Timestamp>, LiveError> {
        self.look_again();
        if self.ready.is_none() {
            self.poll(self.patience_nanos())?;
            self.look_again();
        }
        if self.ready.is_some() {
            return Ok(None);
        }
        self.taps.iter_mut().for_each(Tap::ask_kernel);
        let heads = self.taps.iter().filter(|tap| tap.head.is_there);
        Ok(Some(heads.map(|tap| tap.head.time).fold(self.settled, Timestamp::min)))
    }

    /// Decides who comes next: the earliest frame, unless one not here yet may be earlier.
    #[inline]
    fn choose(&mut self) {
        let heads = self.taps.iter().enumerate().filter(|(_, tap)| tap.head.is_there);
        let earliest = heads.min_by_key(|(_, tap)| tap.head.time);
        self.ready = earliest.and_then(|(at, tap)| {
            let others_known = self.taps.iter().all(|tap| tap.head.is_there || tap.is_away());
            (others_known || tap.head.time <= self.settled).then_some(at)
        });
    }

    /// Looks for frames of every interface that has none here.
    fn look_again(&mut self) {
        // Before looking: what comes after the look is not settled by it.
        let now = (self.options.clock)();
        for tap in &mut self.taps {
            tap.try_again(&self.options, now);
            tap.fill(self.options.on_change);
        }
        let latest_nanos = Pace::of(&self.options).latest_nanos;
        let settled = Timestamp::from_nanos(now.as_nanos().saturating_sub(latest_nanos));
        self.settled = self.settled.max(settled);
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
        held_back.map_or(self.tick_nanos, |time| time.since(self.settled).clamp(1, self.tick_nanos))
    }
}
