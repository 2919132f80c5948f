//! All inputs of a run as one [`Source`].

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::inputs::Inputs;
use super::open::{CaptureReader, Place, Purpose};
use super::progress::ReadProgress;
use super::record::Record;
use super::time_window::TimeWindow;
use crate::capture::{CaptureError, Damage, Filter, Frame, LinkType, Source, TakeFrame};

/// Frames of captures on disk and standard input, one input after the other.
///
/// Where an input is damaged, its frames before the damage are handed out, the damage is kept in
/// [`damages`](Self::damages) and the next input follows. A disk that fails half-way is damage
/// too: what was read before it counts.
///
/// ```no_run
/// use acsm::capture::{FileSource, Source, TimeWindow};
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
    /// Neither the window nor a filter keeps a frame out.
    takes_all: bool,
    /// What `current` reads, then what is still to come.
    places: std::vec::IntoIter<Place>,
    current_place: Place,
    current_is_paced: bool,
    link_types: BTreeSet<LinkType>,
    damages: Vec<Damage>,
    progress: Arc<ReadProgress>,
}

impl FileSource {
    /// Opens `paths` in the order given: files, `-` for standard input (once), and directories,
    /// which stand for the captures in them (not below them) in the order of their first packets.
    /// Only frames inside `window` are handed out.
    ///
    /// A file that is missing or no capture is an error here, before any frame is read; what is
    /// no capture inside a directory is passed over.
    pub fn open(paths: &[PathBuf], window: TimeWindow) -> Result<FileSource, CaptureError> {
        let inputs = Inputs::list(paths)?;
        let mut source = FileSource {
            current: None,
            window,
            filter: None,
            takes_all: window == TimeWindow::default(),
            places: inputs.places.into_iter(),
            current_place: Place::StandardInput,
            current_is_paced: false,
            link_types: BTreeSet::new(),
            damages: inputs.damages,
            progress: Arc::new(ReadProgress::new(inputs.total_bytes)),
        };
        source.next_input()?;
        Ok(source)
    }

    /// The same, but only frames that `filter` keeps.
    pub fn filtered(mut self, filter: Option<Filter>) -> FileSource {
        self.takes_all &= filter.is_none();
        self.filter = filter;
        self
    }

    /// Where inputs read so far stopped making sense; complete once the source has ended.
    pub fn damages(&self) -> &[Damage] {
        &self.damages
    }

    /// The distinct link types that inputs read so far declare, by number.
    pub fn link_types(&self) -> Vec<LinkType> {
        let mut link_types = self.link_types.clone();
        link_types.extend(self.current.iter().flat_map(CaptureReader::link_types));
        link_types.into_iter().collect()
    }

    /// How far reading has come; a progress bar can keep and poll it.
    pub fn progress(&self) -> Arc<ReadProgress> {
        Arc::clone(&self.progress)
    }

    /// Whether the frame of this record is asked for.
    #[inline]
    fn wants(&mut self, record: &Record) -> bool {
        self.window.contains(record.time)
            && match (&mut self.filter, &self.current) {
                (Some(filter), Some(reader)) => {
                    filter.keeps(record.link_type, reader.bytes(record))
                }
                _ => true,
            }
    }

    /// Keeps what is to be known of the current input and opens the next; false after the last.
    #[cold]
    #[inline(never)]
    fn next_input(&mut self) -> Result<bool, CaptureError> {
        if let Some(ended) = self.current.take() {
            self.link_types.extend(ended.link_types());
            if self.progress.is_stopped() {
                return Ok(false); // cut short by its reader: no damage
            }
            self.damages.extend(ended.flaw().map(|flaw| Damage {
                path: self.current_place.name().to_owned(),
                offset: flaw.offset,
                what: flaw.what.clone(),
            }));
        }
        let Some(place) = self.places.next() else { return Ok(false) };
        self.current = Some(CaptureReader::open(&place, Purpose::Read, self.progress())?);
        self.current_is_paced = place.is_paced_by_others();
        self.current_place = place;
        Ok(true)
    }
}

impl Source for FileSource {
    #[inline(always)]
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        let record = loop {
            match self.current.as_mut().and_then(CaptureReader::advance) {
                Some(record) if self.wants(&record) => break record,
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

    #[inline(always)]
    fn next_frames(
        &mut self,
        most: usize,
        taker: &mut impl TakeFrame,
    ) -> Result<bool, CaptureError> {
        let mut left = most;
        while left > 0 {
            left -= match &mut self.current {
                Some(reader) if self.takes_all => reader.give_buffered(left, taker),
                _ => 0,
            };
            if left == 0 || left < most && self.may_wait() {
                break;
            }
            // One that is not here in whole, or that this way does not give; or the end.
            let Some(frame) = self.next_frame()? else { return Ok(false) };
            taker.take(&frame);
            left -= 1;
        }
        Ok(true)
    }

    #[inline]
    fn may_wait(&self) -> bool {
        self.current_is_paced && self.current.as_ref().is_some_and(CaptureReader::may_wait)
    }
}
