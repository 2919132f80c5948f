//! All input files of a run as one [`PacketSource`], limited to a time window.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::buffer::Record;
use super::inputs::Inputs;
use super::open::{CaptureReader, Input, Purpose};
use super::read_ahead::ReadProgress;
use crate::capture::{CaptureError, Damage, Filter, Frame, LinkType, PacketSlots, PacketSource};
use crate::time::Timestamp;

/// How long the first bytes of a pipe are waited for after those before them.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The frames with `from <= time < to`; a bound that is `None` does not limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeWindow {
    /// The earliest time inside.
    pub from: Option<Timestamp>,
    /// The earliest time after it.
    pub to: Option<Timestamp>,
}

impl TimeWindow {
    /// Whether `time` lies inside.
    #[inline]
    pub fn contains(&self, time: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= time) && self.to.is_none_or(|to| time < to)
    }
}

/// Frames of captures on disk and standard input, one input after the other.
///
/// Where an input is damaged, the frames before the damage are read, the damage is added to
/// [`damages`](Self::damages), and reading continues with the next input. A read error in the middle
/// of a file is damage, too.
///
/// ```no_run
/// use acsm::capture::{FileSource, PacketSource, TimeWindow};
///
/// let mut source = FileSource::open(&["trace.pcap.gz".into()], TimeWindow::default())?;
/// let mut bytes = 0;
/// while let Some(frame) = source.next_frame()? {
///     bytes += u64::from(frame.wire_bytes);
/// }
/// println!("{bytes} bytes on the wire");
/// # Ok::<(), acsm::capture::CaptureError>(())
/// ```
pub struct FileSource {
    current: Option<CaptureReader>,
    window: TimeWindow,
    filter: Option<Filter>,
    /// Whether there is neither a time window nor a filter.
    reads_all: bool,
    /// What `current` reads.
    current_input: Input,
    current_may_block: bool,
    /// The inputs after it.
    inputs: std::vec::IntoIter<Input>,
    link_types: BTreeSet<LinkType>,
    damages: Vec<Damage>,
    progress: Arc<ReadProgress>,
}

impl FileSource {
    /// Opens `paths` in the order given: files, `-` for standard input (once), and directories,
    /// which stand for the captures in them (not below them) in the order of their first packets.
    /// Frames outside of `window` are left out.
    ///
    /// A file that is missing or not a capture is an error here, before any frame is read; files
    /// in a directory that are not captures are skipped.
    pub fn open(paths: &[PathBuf], window: TimeWindow) -> Result<FileSource, CaptureError> {
        let inputs = Inputs::list(paths)?;
        let mut source = FileSource {
            current: None,
            window,
            filter: None,
            reads_all: window == TimeWindow::default(),
            current_input: Input::StandardInput,
            current_may_block: false,
            inputs: inputs.list.into_iter(),
            link_types: BTreeSet::new(),
            damages: inputs.damages,
            progress: Arc::new(ReadProgress::new(inputs.total_bytes)),
        };
        source.next_input()?;
        Ok(source)
    }

    /// The same source, limited to frames that match `filter`.
    pub fn filtered(mut self, filter: Option<Filter>) -> FileSource {
        self.reads_all &= filter.is_none();
        self.filter = filter;
        self
    }

    /// The first `most` decoded bytes of the inputs, one input after the other, or fewer if there are
    /// no more; the frames in them are read later all the same. To be called before the first frame
    /// is read.
    ///
    /// The bytes also end where a pipe that is the first input pauses for two seconds, and before
    /// a pipe that is a later one: packets that have arrived do not wait for others.
    pub fn first_bytes(&mut self, most: usize) -> Vec<u8> {
        let pause = self.current_may_block.then_some(LONGEST_PAUSE);
        let current = self.current.as_mut();
        let mut first = current.map_or(vec![], |reader| reader.first_bytes(most, pause).to_vec());
        for input in self.inputs.as_slice() {
            if first.len() >= most || input.may_block() {
                break;
            }
            // If it has become unreadable, that is reported when its frames are read.
            let Ok(mut reader) = CaptureReader::first_look(input) else { break };
            first.extend_from_slice(reader.first_bytes(most - first.len(), None));
        }
        first
    }

    /// The damage found in the inputs read so far; complete once the source has ended.
    pub fn damages(&self) -> &[Damage] {
        &self.damages
    }

    /// The distinct link types that inputs read so far declare, by number.
    pub fn link_types(&self) -> Vec<LinkType> {
        let mut link_types = self.link_types.clone();
        link_types.extend(self.current.iter().flat_map(CaptureReader::link_types));
        link_types.into_iter().collect()
    }

    /// How far reading has come, for a progress bar to poll.
    pub fn progress(&self) -> Arc<ReadProgress> {
        Arc::clone(&self.progress)
    }

    /// Whether a record is inside the time window and matches the filter.
    #[inline]
    fn selects(&mut self, record: &Record) -> bool {
        self.window.contains(record.time)
            && match (&mut self.filter, &self.current) {
                (Some(filter), Some(reader)) => {
                    filter.matches(record.link_type, reader.bytes(record))
                }
                _ => true,
            }
    }

    /// Collects link types and damage of the current input and opens the next one; false after the
    /// last.
    #[cold]
    #[inline(never)]
    fn next_input(&mut self) -> Result<bool, CaptureError> {
        if let Some(ended) = self.current.take() {
            self.link_types.extend(ended.link_types());
            if self.progress.is_stopped() {
                return Ok(false); // stopped by the user: not damage
            }
            self.damages.extend(ended.flaw().map(|flaw| Damage {
                path: self.current_input.name().to_owned(),
                offset: flaw.offset,
                what: flaw.what.clone(),
            }));
        }
        let Some(input) = self.inputs.next() else { return Ok(false) };
        self.current = Some(CaptureReader::open(&input, Purpose::AllPackets, self.progress())?);
        self.current_may_block = input.may_block();
        self.current_input = input;
        Ok(true)
    }
}

impl PacketSource for FileSource {
    #[inline(always)]
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        let record = loop {
            match self.current.as_mut().and_then(CaptureReader::next_record) {
                Some(record) if self.selects(&record) => break record,
                Some(_) => {}
                None if self.next_input()? => {}
                None => return Ok(None),
            }
        };
        Ok(self.current.as_ref().map(|reader| Frame {
            time: record.time,
            link_type: record.link_type,
            wire_bytes: record.wire_bytes,
            bytes: reader.bytes(&record),
        }))
    }

    fn fill(&mut self, slots: &mut PacketSlots<'_>) -> Result<bool, CaptureError> {
        let most = slots.free();
        let mut left = most;
        while left > 0 {
            left -= match &mut self.current {
                Some(CaptureReader::Pcap(reader)) if self.reads_all => reader.fill(left, slots),
                _ => 0,
            };
            if left == 0 || left < most && self.may_wait() {
                break;
            }
            // A record that is not complete in the buffer, a filtered or pcapng input, or the end.
            let Some(frame) = self.next_frame()? else { return Ok(false) };
            slots.parse(&frame);
            left -= 1;
        }
        Ok(true)
    }

    #[inline]
    fn may_wait(&self) -> bool {
        self.current_may_block && self.current.as_ref().is_some_and(CaptureReader::may_wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_its_start_and_not_its_end() {
        let [five, six, seven] = [5, 6, 7].map(Timestamp::from_nanos);
        let window = TimeWindow { from: Some(five), to: Some(seven) };
        assert_eq!([five, six, seven].map(|time| window.contains(time)), [true, true, false]);
        assert!(!window.contains(Timestamp::from_nanos(4)));
        assert!(TimeWindow::default().contains(Timestamp::MAX));
    }
}
