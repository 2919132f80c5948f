//! The bytes of a capture, read in large blocks; what the readers of pcap and pcapng share: numbers
//! in either byte order, the record found in the buffer, and the flaw that ends the records.

use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::time::Duration;

use super::read_ahead::{Block, HEADROOM_BYTES, ReadAhead};
use crate::capture::LinkType;
use crate::time::Timestamp;

/// The largest packet record that is read; a record that claims more is damage.
///
/// libpcap and Wireshark stop at 256 KiB (`MAXIMUM_SNAPLEN`). Linux builds larger frames where
/// "BIG TCP" is on: `GSO_MAX_SIZE` is 8 × 65,535 bytes. This leaves 64 KiB for outer headers.
pub const MAX_CAPTURED_BYTES: u32 = (512 + 64) * 1024;

/// Where the bytes come from.
enum Input {
    /// Read by the caller's thread when needed.
    Direct(Box<dyn Read + Send>),
    /// Read by a separate thread.
    Ahead(ReadAhead),
}

/// The unread bytes of a stream, contiguous. A refill keeps the unread tail in front of the new
/// bytes.
///
/// The buffer grows only as far as a caller asks with [`has`](Self::has), so callers bound the
/// memory that a file can claim. It never seeks: pipes work as well as files.
pub(super) struct BlockBuffer {
    input: Input,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// The offset in the stream of the first byte of `bytes`. Wraps below 0 where `bytes` begin
    /// with headroom.
    base_offset: u64,
    input_ended: bool,
    failure: Option<io::Error>,
}

impl BlockBuffer {
    /// A buffer that reads `input` itself, in blocks of `block_bytes`.
    pub fn direct(input: Box<dyn Read + Send>, block_bytes: usize) -> Self {
        BlockBuffer::new(Input::Direct(input), vec![0; block_bytes])
    }

    /// A buffer that takes the blocks that a thread reads ahead.
    pub fn ahead(input: ReadAhead) -> Self {
        BlockBuffer::new(Input::Ahead(input), Vec::new())
    }

    fn new(input: Input, bytes: Vec<u8>) -> Self {
        BlockBuffer {
            input,
            bytes,
            start: 0,
            end: 0,
            base_offset: 0,
            input_ended: false,
            failure: None,
        }
    }

    /// Whether at least `bytes` unread bytes are in the buffer, after reading more if needed.
    #[inline]
    pub fn has(&mut self, bytes: usize) -> bool {
        self.end - self.start >= bytes || self.fill(bytes)
    }

    /// Whether fewer than `bytes` are in the buffer and reading more would block.
    #[inline]
    pub fn may_wait_for(&self, bytes: usize) -> bool {
        self.end - self.start < bytes
            && !self.input_ended
            && matches!(&self.input, Input::Ahead(ahead) if ahead.would_block())
    }

    /// The unread bytes in the buffer; at least as many as [`has`](Self::has) last confirmed.
    #[inline]
    pub fn unread(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// Consumes a record of `record_bytes` and returns the range of its body: `body_bytes` after
    /// the first `header_bytes`. The range is valid until the next call that reads.
    #[inline]
    pub fn take_record(
        &mut self,
        header_bytes: usize,
        body_bytes: usize,
        record_bytes: usize,
    ) -> Range<usize> {
        let body_start = self.start + header_bytes;
        self.start = (self.start + record_bytes).min(self.end);
        body_start..body_start + body_bytes
    }

    /// The bytes of a range that [`take_record`](Self::take_record) returned.
    #[inline]
    pub fn window(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }

    /// The first `most` bytes of the stream, consumed or not. Fewer if the stream is shorter, or if its
    /// bytes pause for longer than `longest_pause`. To be called before a record is taken: bytes before
    /// it may be dropped when more are read.
    pub fn first_bytes(&mut self, most: usize, longest_pause: Option<Duration>) -> &[u8] {
        let consumed = self.offset() as usize;
        self.start -= consumed;
        while self.unread().len() < most {
            let pauses = match (&self.input, longest_pause) {
                (Input::Ahead(ahead), Some(limit)) => !ahead.is_ready_within(limit),
                _ => false,
            };
            if pauses || !self.has(self.unread().len() + 1) {
                break;
            }
        }
        let first = self.start;
        self.start += consumed;
        self.bytes.get(first..self.end.min(first + most)).unwrap_or_default()
    }

    /// Skips `bytes` bytes without buffering them; false if the stream is shorter.
    pub fn skip(&mut self, bytes: u64) -> bool {
        let mut left = bytes;
        loop {
            let here = left.min(self.unread().len() as u64);
            self.start += here as usize;
            left -= here;
            if left == 0 {
                return true;
            }
            if !self.has(1) {
                return false;
            }
        }
    }

    /// The offset in the stream of the first unread byte.
    pub fn offset(&self) -> u64 {
        self.base_offset.wrapping_add(self.start as u64)
    }

    /// The offset in the stream after the last byte that could be read.
    pub fn end_offset(&self) -> u64 {
        self.base_offset.wrapping_add(self.end as u64)
    }

    /// The error that ended the stream, if one did.
    pub fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }

    /// The error that ended the stream, by value.
    pub fn into_failure(self) -> Option<io::Error> {
        self.failure
    }

    #[cold]
    #[inline(never)]
    fn fill(&mut self, needed: usize) -> bool {
        while self.end - self.start < needed && !self.input_ended {
            let more = match &mut self.input {
                Input::Direct(_) => self.read_more(needed),
                Input::Ahead(ahead) => match ahead.next_block() {
                    Ok(Some(block)) => self.append(block),
                    Ok(None) => Ok(false),
                    Err(error) => Err(error),
                },
            };
            self.input_ended = !matches!(more, Ok(true));
            self.failure = more.err();
        }
        self.end - self.start >= needed
    }

    /// Moves the unread tail to the front and reads after it; false at the end.
    fn read_more(&mut self, needed: usize) -> io::Result<bool> {
        self.move_to_front();
        if self.bytes.len() < needed {
            self.bytes.resize(needed, 0);
        }
        let Input::Direct(input) = &mut self.input else { return Ok(false) };
        let free = self.bytes.get_mut(self.end..).unwrap_or_default();
        match input.read(free) {
            Ok(read) => {
                self.end = (self.end + read).min(self.bytes.len());
                Ok(read > 0)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Continues in `block`: the unread tail is copied into its headroom. A tail longer than the
    /// headroom belongs to a record of that size; then the block's bytes are appended here instead.
    fn append(&mut self, mut block: Block) -> io::Result<bool> {
        let Input::Ahead(ahead) = &self.input else { return Ok(false) };
        let unread = self.bytes.get(self.start..self.end).unwrap_or_default();
        let start = HEADROOM_BYTES.checked_sub(unread.len());
        let headroom = start.and_then(|start| block.bytes.get_mut(start..HEADROOM_BYTES));
        if let (Some(start), Some(headroom)) = (start, headroom) {
            headroom.copy_from_slice(unread);
            let offset = self.base_offset.wrapping_add(self.start as u64);
            self.base_offset = offset.wrapping_sub(start as u64);
            (self.start, self.end) = (start, block.end);
            let used = std::mem::replace(&mut self.bytes, block.bytes);
            if !used.is_empty() {
                ahead.recycle(used);
            }
            return Ok(true);
        }
        self.move_to_front();
        self.bytes.truncate(self.end);
        let new = block.bytes.get(HEADROOM_BYTES..block.end).unwrap_or_default();
        self.bytes.extend_from_slice(new);
        self.end = self.bytes.len();
        if let Input::Ahead(ahead) = &self.input {
            ahead.recycle(block.bytes);
        }
        Ok(true)
    }

    fn move_to_front(&mut self) {
        self.bytes.copy_within(self.start..self.end, 0);
        self.base_offset = self.base_offset.wrapping_add(self.start as u64);
        self.end -= self.start;
        self.start = 0;
    }
}

/// For decoders, which read compressed bytes from it.
impl Read for BlockBuffer {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(out)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for BlockBuffer {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if !self.has(1)
            && let Some(error) = self.failure.take()
        {
            return Err(error);
        }
        Ok(self.unread())
    }

    fn consume(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.end);
    }
}

/// One packet record: the fields of its header, and the range of its bytes in the buffer.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub time: Timestamp,
    pub link_type: LinkType,
    pub wire_bytes: u32,
    /// Valid until the reader reads on.
    pub bytes: Range<usize>,
}

/// Where and why a reader stopped before the end of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flaw {
    pub offset: u64,
    pub what: String,
}

impl Flaw {
    /// The flaw of a stream that has ended: none if it ended between two records, otherwise that it
    /// was cut short `inside` the record whose beginning the buffer holds.
    pub fn of_ended_stream(buffer: &BlockBuffer, inside: &str) -> Option<Flaw> {
        let clean = buffer.unread().is_empty() && buffer.failure().is_none();
        (!clean).then(|| Flaw::cut_short(buffer, buffer.offset(), inside))
    }

    /// The flaw of a stream that ended `inside` what began at `offset`. If reading failed (a disk
    /// error, a corrupt compressed file), the flaw is that error, at the place where it happened.
    pub fn cut_short(buffer: &BlockBuffer, offset: u64, inside: &str) -> Flaw {
        match buffer.failure() {
            Some(failure) => Flaw { offset: buffer.end_offset(), what: failure.to_string() },
            None => Flaw { offset, what: format!("cut short in the middle of {inside}") },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte per call and fails after the last.
    struct Dripping(u8);

    impl Read for Dripping {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            match self.0 {
                10 => Err(io::Error::other("pulled out")),
                byte => {
                    out[0] = byte;
                    self.0 += 1;
                    Ok(1)
                }
            }
        }
    }

    #[test]
    fn first_bytes_are_read_and_stay_unread() {
        for block_bytes in [3, 100] {
            let mut buffer = BlockBuffer::direct(Box::new(Dripping(0)), block_bytes);
            assert!(buffer.has(2) && buffer.skip(2));
            assert_eq!(buffer.first_bytes(5, None), [0, 1, 2, 3, 4]);
            assert_eq!(buffer.first_bytes(1, None), [0]);
            assert_eq!((buffer.offset(), buffer.unread()), (2, &[2, 3, 4][..]));
            assert_eq!(
                buffer.first_bytes(20, None),
                [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
                "all there are"
            );
            assert_eq!(buffer.offset(), 2);
            assert!(buffer.skip(8) && !buffer.has(1));
        }
    }

    #[test]
    fn records_are_contiguous_across_refills_and_growth() {
        let mut buffer = BlockBuffer::direct(Box::new(Dripping(0)), 3);
        assert!(buffer.has(2));
        let window = buffer.take_record(0, 2, 2);
        assert_eq!(buffer.window(window), [0, 1]);
        assert!(buffer.has(5), "grows to what is asked for");
        let window = buffer.take_record(1, 3, 5);
        assert_eq!(buffer.window(window), [3, 4, 5]);
        assert_eq!(buffer.offset(), 7);
        assert!(buffer.skip(2));
        assert!(!buffer.has(2));
        assert_eq!(buffer.unread(), [9]);
        assert_eq!((buffer.offset(), buffer.end_offset()), (9, 10));
        assert_eq!(buffer.failure().unwrap().to_string(), "pulled out");
        assert!(!buffer.skip(2));
    }
}
