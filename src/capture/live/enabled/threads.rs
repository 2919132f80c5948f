//! Capture threads: each reads its own handles on all interfaces, and fills batches.

use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::super::LiveError;
use super::batch::Batch;
use super::lanes::{LaneEnd, Lanes, lanes};
use super::taps::{Captured, Taps};
use crate::time::Timestamp;

/// Several capture threads. They begin when they are first waited for: until then whoever opened the
/// handles may still give up rights, and they will have no more.
pub(super) struct Threads {
    /// `None` once dropping it has begun.
    lanes: Option<Lanes>,
    not_begun: Vec<(Taps, LaneEnd)>,
    running: Vec<JoinHandle<Result<(), LiveError>>>,
}

impl Threads {
    /// A thread for each of `taps`.
    pub fn new(taps: Vec<Taps>) -> Threads {
        let (lanes, ends) = lanes(taps.len());
        let not_begun = taps.into_iter().zip(ends).collect();
        Threads { lanes: Some(lanes), not_begun, running: Vec::new() }
    }

    /// Whether the next frame is here.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.lanes.as_ref().is_some_and(Lanes::is_ready)
    }

    /// The next frame, if it is here.
    #[inline]
    pub fn next(&mut self) -> Option<Captured<'_>> {
        self.lanes.as_mut()?.next()
    }

    /// Waits for the next frame, but not for long. If none came, says up to which time there is
    /// none.
    pub fn wait(&mut self, tick: Duration) -> Result<Option<Timestamp>, LiveError> {
        for (taps, end) in self.not_begun.drain(..) {
            let named = thread::Builder::new().name("capture".to_owned());
            let begun = named.spawn(move || capture(taps, &end));
            self.running.push(begun.map_err(|error| LiveError::Thread(error.to_string()))?);
        }
        let silence = self.lanes.as_mut().and_then(|lanes| lanes.wait(tick));
        if silence.is_some() {
            self.check()?;
        }
        Ok(silence)
    }

    /// A thread that has ended while we want its frames has failed.
    fn check(&mut self) -> Result<(), LiveError> {
        let Some(at) = self.running.iter().position(JoinHandle::is_finished) else { return Ok(()) };
        let panicked = |_| Err(LiveError::Thread("it panicked".to_owned()));
        self.running.swap_remove(at).join().unwrap_or_else(panicked)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // Whoever has nobody to hand over to ends.
        self.lanes = None;
        for thread in self.running.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Hands over what `taps` see until nobody takes it.
fn capture(mut taps: Taps, end: &LaneEnd) -> Result<(), LiveError> {
    while let Some(mut batch) = end.empty_batch() {
        fill(&mut batch, &mut taps)?;
        if !end.hand_over(batch) {
            break;
        }
    }
    Ok(())
}

/// Takes what is there; if that is nothing, waits for more, and at last tells of silence.
fn fill(batch: &mut Batch, taps: &mut Taps) -> Result<(), LiveError> {
    loop {
        while !batch.is_full()
            && let Some(captured) = taps.next()
        {
            batch.push(&captured);
        }
        if !batch.is_empty() {
            return Ok(());
        }
        if let Some(silence) = taps.wait()? {
            batch.up_to = batch.up_to.max(silence);
            return Ok(());
        }
    }
}
