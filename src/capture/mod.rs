//! Where packets come from: captures on disk, standard input, network interfaces.
//!
//! ```text
//! file: pcap, pcapng; live → Source → Frame → [filter] → parse → Packet, or the reason why not
//! ```
//!
//! A [`Source`] hands out [`Frame`]s, one at a time, borrowed from its own buffer: nothing is
//! copied and nothing is allocated per packet.
//!
//! | where | what |
//! |---|---|
//! | [`mod@file`] | readers of pcap and pcapng, decompression, directories, time windows |
//! | [`parse`] | from a frame to its TCP header; a link type is one file of `parse/link/`, a tunnel one of `parse/tunnel/` |
//! | [`live`] | network interfaces, through libpcap |
//! | [`record`] | writing frames as they pass: pcap files, as a ring |
//! | [`Filter`] | BPF expressions, through libpcap |
//! | [`LinkType`] | the types that captures declare |

mod error;
pub mod file;
mod filter;
mod intake;
mod link_type;
pub mod live;
pub mod parse;
pub mod record;
mod tally;

pub use error::{CaptureError, Damage};
pub use file::{FileSource, TimeWindow};
pub use filter::{Filter, FilterError};
pub use intake::Intake;
pub use link_type::LinkType;
pub use live::{LiveError, LiveOptions, LiveSource};
pub use tally::FrameTally;

use crate::time::Timestamp;

/// One captured frame, borrowed from its [`Source`] until the next one is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// When it was captured.
    pub time: Timestamp,
    /// How its bytes begin.
    pub link_type: LinkType,
    /// Its length on the wire, at least `bytes.len()`.
    pub wire_bytes: u32,
    /// What was captured of it.
    pub bytes: &'a [u8],
}

/// Has a use for frames. Closures have, too; but a type of its own can insist on being inlined
/// wherever a source finds a frame.
pub trait TakeFrame {
    /// Takes the next frame.
    fn take(&mut self, frame: &Frame<'_>);
}

impl<F: FnMut(&Frame<'_>)> TakeFrame for F {
    #[inline(always)]
    fn take(&mut self, frame: &Frame<'_>) {
        self(frame);
    }
}

/// Hands out frames in the order in which they were captured.
pub trait Source {
    /// The next frame, or `None` at the end. An error ends the source; damage inside a file is
    /// no error: the source remembers it and goes on with what is left.
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError>;

    /// Gives `taker` the next frames, at most `most` of them, and no more than can be had without
    /// waiting, but for the first. Says whether more may follow. For those who take all frames
    /// alike: a source that has many at hand gives them quicker so.
    #[inline(always)]
    fn next_frames(&mut self, most: usize, taker: &mut impl TakeFrame) -> Result<bool, CaptureError>
    where
        Self: Sized,
    {
        for n in 0..most {
            if n > 0 && self.may_wait() {
                break;
            }
            let Some(frame) = self.next_frame()? else { return Ok(false) };
            taker.take(&frame);
        }
        Ok(true)
    }

    /// Parses the next frames into packets, at most `most` of them, as
    /// [`next_frames`](Self::next_frames) gives them.
    fn fill(&mut self, most: usize, intake: &mut Intake<'_>) -> Result<bool, CaptureError>;

    /// Whether the next frame may be long in coming: time to bring what is there to an end.
    #[inline]
    fn may_wait(&self) -> bool {
        false
    }

    /// Waits, where [`may_wait`](Self::may_wait) says so, for the next frame; but not for long. If
    /// none came, says up to which time there is none: the tick that stands in for silence.
    fn wait(&mut self) -> Result<Option<Timestamp>, CaptureError> {
        Ok(None)
    }

    /// Frames that were captured and lost on the way here, so far.
    #[inline]
    fn lost_frames(&self) -> u64 {
        0
    }
}
