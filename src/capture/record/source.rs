//! A source whose frames are recorded as they pass.

use std::cell::RefCell;

use super::Recorder;
use crate::capture::{CaptureError, Frame, Source};
use crate::time::Timestamp;

/// Hands out the frames of another source, and shows them to a recorder. The recorder is shared
/// with whoever tells it of alerts; both run in the thread that reads.
pub struct Recorded<'r, S> {
    source: S,
    recorder: Option<&'r RefCell<Recorder>>,
}

impl<'r, S> Recorded<'r, S> {
    /// Frames of `source`, shown to `recorder` if there is one.
    pub fn new(source: S, recorder: Option<&'r RefCell<Recorder>>) -> Self {
        Recorded { source, recorder }
    }
}

impl<S: Source> Source for Recorded<'_, S> {
    #[inline]
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        let frame = self.source.next_frame()?;
        if let (Some(recorder), Some(frame)) = (self.recorder, &frame) {
            recorder.borrow_mut().frame(frame);
        }
        Ok(frame)
    }

    #[inline]
    fn may_wait(&self) -> bool {
        self.source.may_wait()
    }

    fn wait(&mut self) -> Result<Option<Timestamp>, CaptureError> {
        let silence = self.source.wait()?;
        if let (Some(recorder), Some(now)) = (self.recorder, silence) {
            recorder.borrow_mut().idle(now);
        }
        Ok(silence)
    }

    #[inline]
    fn lost_frames(&self) -> u64 {
        self.source.lost_frames()
    }
}
