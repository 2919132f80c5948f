//! Lines of an input, with their numbers and a limit on their length.

use std::io::{self, BufRead as _, BufReader, Read};

use thiserror::Error;

/// Lines have fewer bytes. A key and a value of a mebibyte each fit, every byte escaped.
const LINE_BYTES_LIMIT: usize = 16 << 20;
/// What is read at once.
const BUFFER_BYTES: usize = 64 << 10;
/// Some programs begin a text with it; it is not part of the text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What is wrong with an input, and in which line.
#[derive(Debug, Error)]
pub enum LineError {
    /// A line that is not what it should be.
    #[error("line {line}: {problem}")]
    Malformed { line: u64, problem: String },
    /// The input cannot be read further.
    #[error("reading failed after line {line}")]
    Read { line: u64, source: io::Error },
}

/// The lines of an input, one after another.
pub struct Lines<R> {
    input: BufReader<R>,
    /// The number of the line read last, from 1 on.
    number: u64,
}

impl<R: Read> Lines<R> {
    pub fn new(input: R) -> Lines<R> {
        Lines { input: BufReader::with_capacity(BUFFER_BYTES, input), number: 0 }
    }

    /// The number of the line read last.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether the next line has to be waited for.
    pub fn is_dry(&self) -> bool {
        self.input.buffer().is_empty()
    }

    /// Appends the next line to `text`, with what ends it. Returns whether there was one.
    pub fn append_next(&mut self, text: &mut Vec<u8>) -> Result<bool, LineError> {
        let begin = text.len();
        let room = LINE_BYTES_LIMIT.saturating_sub(begin);
        let read = self.input.by_ref().take(room as u64).read_until(b'\n', text);
        let bytes = read.map_err(|source| LineError::Read { line: self.number, source })?;
        self.number += u64::from(bytes > 0 || room == 0);
        if text.len() >= LINE_BYTES_LIMIT {
            return Err(self.malformed(format!("it has {LINE_BYTES_LIMIT} bytes or more")));
        }
        if self.number == 1 && text[begin..].starts_with(BYTE_ORDER_MARK) {
            text.drain(begin..begin + BYTE_ORDER_MARK.len());
        }
        Ok(bytes > 0)
    }

    /// The next line without what ends it, a line feed or both characters.
    pub fn next(&mut self, line: &mut Vec<u8>) -> Result<bool, LineError> {
        line.clear();
        let is_one = self.append_next(line)?;
        line.truncate(without_end(line).len());
        Ok(is_one)
    }

    /// An error of the line read last.
    pub fn malformed(&self, problem: impl Into<String>) -> LineError {
        LineError::Malformed { line: self.number, problem: problem.into() }
    }
}

/// A line without what ends it.
pub fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_in_either_way_and_the_last_need_not() {
        let mut lines = Lines::new(&b"\xef\xbb\xbfone\ntwo\r\n\nfour"[..]);
        let mut line = vec![];
        for expected in ["one", "two", "", "four"] {
            assert!(lines.next(&mut line).unwrap());
            assert_eq!(line, expected.as_bytes());
        }
        assert_eq!(lines.number(), 4);
        assert!(!lines.next(&mut line).unwrap() && line.is_empty());
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut lines = Lines::new(io::repeat(b'x'));
        let error = lines.next(&mut vec![]).unwrap_err();
        assert_eq!(error.to_string(), "line 1: it has 16777216 bytes or more");
    }
}
