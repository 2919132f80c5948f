//! Large blocks read from a stream, handed out as windows of contiguous bytes.

use std::io::{self, BufRead, Read};
use std::ops::Range;

use super::read_ahead::{Block, HEADROOM_BYTES, ReadAhead};

/// Where the bytes come from.
enum Input {
    /// Read here, when they are needed.
    Direct(Box<dyn Read + Send>),
    /// Read on a thread of their own.
    Ahead(ReadAhead),
}

/// Unread bytes of a stream. A refill keeps the unread tail before what is new.
///
/// It grows only as far as a caller asks with [`has`](Self::has): the caller bounds what a file
/// may claim. Nothing is sought, so pipes serve as well as files.
pub(super) struct BlockBuffer {
    input: Input,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// The offset in the stream of the first byte of `bytes`; wraps, where that is room only.
    base_offset: u64,
    input_ended: bool,
    failure: Option<io::Error>,
}

impl BlockBuffer {
    /// Reads `input` here, in blocks of this size.
    pub fn direct(input: Box<dyn Read + Send>, block_bytes: usize) -> Self {
        BlockBuffer::new(Input::Direct(input), vec![0; block_bytes])
    }

    /// Takes the blocks of `input`.
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

    /// Whether `bytes` unread bytes are there, after reading on if need be.
    #[inline]
    pub fn has(&mut self, bytes: usize) -> bool {
        self.end - self.start >= bytes || self.fill(bytes)
    }

    /// Whether fewer than `bytes` are here and more are yet to come.
    #[inline]
    pub fn may_wait_for(&self, bytes: usize) -> bool {
        self.end - self.start < bytes
            && !self.input_ended
            && matches!(&self.input, Input::Ahead(ahead) if ahead.is_dry())
    }

    /// What is unread and already here; at least what [`has`](Self::has) last affirmed.
    #[inline]
    pub fn unread(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// Moves past `record_bytes` unread bytes and says where all but the first `header_bytes` and
    /// whatever follows `body_bytes` lie, until the next call that reads.
    #[inline]
    pub fn hand_out(
        &mut self,
        header_bytes: usize,
        body_bytes: usize,
        record_bytes: usize,
    ) -> Range<usize> {
        let body_start = self.start + header_bytes;
        self.start = (self.start + record_bytes).min(self.end);
        body_start..body_start + body_bytes
    }

    /// The bytes that [`hand_out`](Self::hand_out) told of.
    #[inline]
    pub fn window(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }

    /// Moves past `bytes` bytes without keeping them; false if the stream is shorter.
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

    /// The offset in the stream up to which bytes could be read.
    pub fn end_offset(&self) -> u64 {
        self.base_offset.wrapping_add(self.end as u64)
    }

    /// Why the stream ended, if not because it was over.
    pub fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }

    /// Hands over the failure, if there was one.
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
                    Ok(Some(block)) => self.take(block),
                    Ok(None) => Ok(false),
                    Err(error) => Err(error),
                },
            };
            self.input_ended = !matches!(more, Ok(true));
            self.failure = more.err();
        }
        self.end - self.start >= needed
    }

    /// Moves the unread tail to the front and reads behind it; false at the end.
    fn read_more(&mut self, needed: usize) -> io::Result<bool> {
        self.move_to_front();
        if self.bytes.len() < needed {
            self.bytes.resize(needed, 0);
        }
        let Input::Direct(input) = &mut self.input else { return Ok(false) };
        let room = self.bytes.get_mut(self.end..).unwrap_or_default();
        match input.read(room) {
            Ok(read) => {
                self.end = (self.end + read).min(self.bytes.len());
                Ok(read > 0)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Goes on in `block`, whose room takes the unread tail. A tail that does not fit is part of a
    /// record as large: then the block's bytes move here instead.
    fn take(&mut self, mut block: Block) -> io::Result<bool> {
        let Input::Ahead(ahead) = &self.input else { return Ok(false) };
        let unread = self.bytes.get(self.start..self.end).unwrap_or_default();
        let start = HEADROOM_BYTES.checked_sub(unread.len());
        let room = start.and_then(|start| block.bytes.get_mut(start..HEADROOM_BYTES));
        if let (Some(start), Some(room)) = (start, room) {
            room.copy_from_slice(unread);
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

/// So that decoders can read from it.
impl Read for BlockBuffer {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(room)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte a call and fails after the last.
    struct Dripping(u8);

    impl Read for Dripping {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            match self.0 {
                10 => Err(io::Error::other("pulled out")),
                byte => {
                    room[0] = byte;
                    self.0 += 1;
                    Ok(1)
                }
            }
        }
    }

    #[test]
    fn windows_are_whole_across_refills_and_growth() {
        let mut buffer = BlockBuffer::direct(Box::new(Dripping(0)), 3);
        assert!(buffer.has(2));
        let window = buffer.hand_out(0, 2, 2);
        assert_eq!(buffer.window(window), [0, 1]);
        assert!(buffer.has(5), "grows to what is asked for");
        let window = buffer.hand_out(1, 3, 5);
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
