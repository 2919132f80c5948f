//! The interfaces that one thread reads: waited for together, merged in time order.

use std::os::fd::AsFd as _;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::super::LiveOptions;
use super::interface_handle::{DeliveryDelay, HeldFrame, InterfaceHandle};
use crate::capture::{Frame, LinkType, LiveError};
use crate::time::{NANOS_PER_SEC, Timestamp};

/// A frame and the interface it was captured on.
pub(super) struct CapturedFrame<'a> {
    /// The number of the interface in the options.
    pub interface: usize,
    pub frame: Frame<'a>,
}

/// Several interfaces, as one sequence of frames.
pub(super) struct InterfaceSet {
    options: LiveOptions,
    handles: Vec<InterfaceHandle>,
    /// The frame read last.
    current: HeldFrame,
    /// The interface with the next frame, if that is certain.
    ready: Option<usize>,
    /// All frames captured before this time have been read.
    complete_until: Timestamp,
    /// The longest time that one wait takes.
    tick_nanos: u64,
}

impl InterfaceSet {
    /// The open interfaces of `options`.
    pub fn new(
        options: LiveOptions,
        handles: Vec<InterfaceHandle>,
        tick_nanos: u64,
    ) -> InterfaceSet {
        let (current, complete_until) = (HeldFrame::default(), Timestamp::default());
        InterfaceSet { options, handles, current, ready: None, complete_until, tick_nanos }
    }

    /// Drops so far are not counted.
    pub fn forget_drops(&mut self) {
        self.handles.iter_mut().for_each(InterfaceHandle::forget_drops);
    }

    /// Leaves out frames captured before `start`.
    pub fn begin_at(&mut self, start: Timestamp) {
        self.handles.iter_mut().for_each(|handle| handle.begin_at(start));
    }

    pub fn link_types(&self) -> impl Iterator<Item = LinkType> + '_ {
        self.handles.iter().map(|handle| handle.link_type)
    }

    /// Whether the next frame is known.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.ready.is_some()
    }

    /// The next frame, if it is known.
    #[inline]
    pub fn next(&mut self) -> Option<CapturedFrame<'_>> {
        let interface = self.ready?;
        let handle = self.handles.get_mut(interface)?;
        std::mem::swap(&mut self.current, &mut handle.head);
        handle.head.is_present = false;
        let link_type = handle.link_type;
        handle.read_head(self.options.on_change);
        self.choose_next();
        if self.ready.is_none() && self.handles.len() > 1 {
            self.read_heads();
        }
        let HeldFrame { time, wire_bytes, bytes, .. } = &self.current;
        let frame = Frame { time: *time, link_type, wire_bytes: *wire_bytes, bytes };
        Some(CapturedFrame { interface, frame })
    }

    /// Waits for the next frame, one tick at most. If none came, returns the time up to which there
    /// is none.
    pub fn wait(&mut self) -> Result<Option<Timestamp>, LiveError> {
        self.read_heads();
        if self.ready.is_none() {
            self.poll(self.poll_nanos())?;
            self.read_heads();
        }
        if self.ready.is_some() {
            return Ok(None);
        }
        self.handles.iter_mut().for_each(InterfaceHandle::read_drops);
        let heads = self.handles.iter().filter(|handle| handle.head.is_present);
        Ok(Some(heads.map(|handle| handle.head.time).fold(self.complete_until, Timestamp::min)))
    }

    /// Chooses the earliest frame, unless an earlier one may still come.
    #[inline]
    fn choose_next(&mut self) {
        let heads = self.handles.iter().enumerate().filter(|(_, handle)| handle.head.is_present);
        let earliest = heads.min_by_key(|(_, handle)| handle.head.time);
        self.ready = earliest.and_then(|(interface, handle)| {
            let others_known =
                self.handles.iter().all(|handle| handle.head.is_present || handle.is_away());
            (others_known || handle.head.time <= self.complete_until).then_some(interface)
        });
    }

    /// Reads the next frame of every interface whose next frame is not known.
    fn read_heads(&mut self) {
        // Before reading: frames that come after it do not make earlier times complete.
        let now = (self.options.clock)();
        for handle in &mut self.handles {
            handle.reopen(&self.options, now);
            handle.read_head(self.options.on_change);
        }
        let max_nanos = DeliveryDelay::of(&self.options).max_nanos;
        let complete = Timestamp::from_nanos(now.as_nanos().saturating_sub(max_nanos));
        self.complete_until = self.complete_until.max(complete);
        self.choose_next();
    }

    /// Waits until an interface whose next frame is not known has one, for `nanos` at most.
    fn poll(&self, nanos: u64) -> Result<(), LiveError> {
        let waiting = self
            .handles
            .iter()
            .filter(|handle| !handle.head.is_present)
            .filter_map(InterfaceHandle::handle);
        let mut handles: Vec<PollFd<'_>> =
            waiting.map(|handle| PollFd::from_borrowed_fd(handle.as_fd(), PollFlags::IN)).collect();
        let limit = Timespec {
            tv_sec: (nanos / NANOS_PER_SEC) as i64,
            tv_nsec: (nanos % NANOS_PER_SEC) as i64,
        };
        match poll(&mut handles, Some(&limit)) {
            // A signal: the caller checks what it was.
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(LiveError::Wait(error.to_string())),
        }
    }

    /// How long to wait: a tick, or until the earliest frame held back can be read.
    fn poll_nanos(&self) -> u64 {
        let heads = self.handles.iter().filter(|handle| handle.head.is_present);
        let held_back = heads.map(|handle| handle.head.time).min();
        held_back.map_or(self.tick_nanos, |time| {
            time.since(self.complete_until).clamp(1, self.tick_nanos)
        })
    }
}
