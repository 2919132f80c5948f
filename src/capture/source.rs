//! Where packets come from: the trait that files and interfaces implement.

use super::error::CaptureError;
use super::frame::Frame;
use super::parse::PacketSlots;
use crate::time::Timestamp;

/// A source of captured frames, in the order in which they were captured.
///
/// [`next_frame`](Self::next_frame) is all that a source must implement.
/// [`fill`](Self::fill) reads and parses many frames in one call: it is the only call per batch of
/// packets, so a source can be used as `&mut dyn PacketSource`.
pub trait PacketSource {
    /// The next frame, or `None` at the end. An error ends the source. Damage inside a file is not
    /// an error: the source remembers it and continues with the next input.
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError>;

    /// Reads frames and parses them into `slots`: at most as many frames as there are free slots,
    /// and no more than can be read without waiting, except for the first. Returns whether more
    /// frames may follow. What was parsed before an error is in `slots`.
    #[inline]
    fn fill(&mut self, slots: &mut PacketSlots<'_>) -> Result<bool, CaptureError> {
        for n in 0..slots.free() {
            if n > 0 && self.may_wait() {
                break;
            }
            let Some(frame) = self.next_frame()? else { return Ok(false) };
            slots.parse(&frame);
        }
        Ok(true)
    }

    /// Whether reading the next frame may block: the caller first finishes the work it has.
    #[inline]
    fn may_wait(&self) -> bool {
        false
    }

    /// Waits for the next frame, for a fraction of a second at most. If none came, returns the time
    /// up to which it is certain that there is none, so that flows age on an idle link.
    fn wait(&mut self) -> Result<Option<Timestamp>, CaptureError> {
        Ok(None)
    }

    /// Frames dropped so far by the kernel or the interface.
    #[inline]
    fn lost_frames(&self) -> u64 {
        0
    }
}
