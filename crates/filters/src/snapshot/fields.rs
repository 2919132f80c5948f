//! The content of a section: numbers and bytes one after another, little-endian.

use super::{SectionKind, SnapshotError};

/// Writes the content of a section.
#[derive(Debug, Default)]
pub struct Encoder<'a> {
    copied: Vec<u8>,
    /// Bytes that were not copied, each with its place among the others.
    borrowed: Vec<(usize, &'a [u8])>,
}

/// Reads the content of a section. What is read is named, for errors.
#[derive(Debug)]
pub struct Decoder<'a> {
    rest: &'a [u8],
    kind: SectionKind,
    /// Where in the snapshot the rest begins.
    offset: u64,
}

/// No count of events is as large: at a hundred million per second, that takes 22 years.
pub(crate) const COUNT_LIMIT: u64 = 1 << 56;

macro_rules! numbers {
    ($($number:ident)*) => {
        impl Encoder<'_> {
            $(
                #[doc = concat!("Writes a number of type `", stringify!($number), "`.")]
                pub fn $number(&mut self, value: $number) {
                    self.bytes(&value.to_le_bytes());
                }
            )*
        }

        impl Decoder<'_> {
            $(
                #[doc = concat!("Reads a number of type `", stringify!($number), "`.")]
                pub fn $number(&mut self) -> Result<$number, SnapshotError> {
                    Ok($number::from_le_bytes(self.array()?))
                }
            )*
        }
    };
}

numbers!(u8 u16 u32 u64 f64);

impl<'a> Encoder<'a> {
    /// Writes bytes. Their number must be known to the reader.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.copied.extend_from_slice(bytes);
    }

    /// The same without a copy, for many bytes.
    pub fn borrowed_bytes(&mut self, bytes: &'a [u8]) {
        self.borrowed.push((self.copied.len(), bytes));
    }

    /// What was written, in parts.
    pub fn parts(&self) -> Vec<&[u8]> {
        let (mut parts, mut from) = (vec![], 0);
        for &(place, bytes) in &self.borrowed {
            parts.extend([&self.copied[from..place], bytes]);
            from = place;
        }
        parts.push(&self.copied[from..]);
        parts
    }
}

impl<'a> Decoder<'a> {
    /// Reads content that begins at this byte of a snapshot.
    pub(crate) fn new(content: &'a [u8], kind: SectionKind, offset: u64) -> Decoder<'a> {
        Decoder { rest: content, kind, offset }
    }

    /// Reads this many bytes.
    pub fn bytes(&mut self, len: u64) -> Result<&'a [u8], SnapshotError> {
        let split = usize::try_from(len).ok().and_then(|len| self.rest.split_at_checked(len));
        let (bytes, rest) = split.ok_or(self.wrong_length(true))?;
        (self.rest, self.offset) = (rest, self.offset + len);
        Ok(bytes)
    }

    /// Reads an array of bytes.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], SnapshotError> {
        let (array, rest) = self.rest.split_first_chunk().ok_or(self.wrong_length(true))?;
        (self.rest, self.offset) = (rest, self.offset + N as u64);
        Ok(*array)
    }

    /// Reads a count of events, to which others can be added without overflow.
    pub fn count(&mut self, what: &'static str) -> Result<u64, SnapshotError> {
        self.checked(what, Decoder::u64, |&count| count < COUNT_LIMIT)
    }

    /// Reads a number that is valid if `is_valid` says so.
    pub fn checked<T: Copy + Into<u64>>(
        &mut self,
        what: &'static str,
        read: impl FnOnce(&mut Self) -> Result<T, SnapshotError>,
        is_valid: impl FnOnce(&T) -> bool,
    ) -> Result<T, SnapshotError> {
        let offset = self.offset;
        let value = read(self)?;
        match is_valid(&value) {
            true => Ok(value),
            false => Err(SnapshotError::Invalid { what, offset, value: value.into() }),
        }
    }

    /// How many bytes are left.
    pub fn remaining(&self) -> u64 {
        self.rest.len() as u64
    }

    /// Where in the snapshot the next value is.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Checks that everything was read.
    pub fn finish(self) -> Result<(), SnapshotError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.wrong_length(false)) }
    }

    fn wrong_length(&self, too_short: bool) -> SnapshotError {
        let offset = self.offset + self.remaining();
        SnapshotError::WrongLength { kind: self.kind, offset, too_short }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: SectionKind = SectionKind(*b"TEST");

    #[test]
    fn what_was_written_is_read() {
        let mut out = Encoder::default();
        out.u8(7);
        out.u16(0x0102);
        out.u32(u32::MAX);
        out.u64(1 << 40);
        out.f64(-0.5);
        out.borrowed_bytes(b"xy");
        out.bytes(b"z");
        out.borrowed_bytes(b"");
        let bytes = out.parts().concat();
        assert_eq!(bytes[..3], [7, 2, 1]);
        let mut input = Decoder::new(&bytes, KIND, 100);
        assert_eq!((input.u8().unwrap(), input.u16().unwrap()), (7, 0x0102));
        assert_eq!((input.u32().unwrap(), input.u64().unwrap()), (u32::MAX, 1 << 40));
        assert_eq!((input.f64().unwrap(), input.offset()), (-0.5, 123));
        assert_eq!((input.bytes(3).unwrap(), input.remaining()), (&b"xyz"[..], 0));
        input.finish().unwrap();
    }

    #[test]
    fn what_is_not_there_is_an_error_with_its_place() {
        let mut input = Decoder::new(&[1, 2, 3], KIND, 100);
        for len in [4, 1 << 60, u64::MAX] {
            let error = input.bytes(len).unwrap_err();
            assert!(
                matches!(error, SnapshotError::WrongLength { offset: 103, too_short: true, .. }),
                "{error}"
            );
        }
        assert!(input.u32().is_err());
        assert_eq!(input.u16().unwrap(), 0x0201);
        let error = input.finish().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the section TEST ends at byte 103, and its content ended before"
        );
    }

    #[test]
    fn counts_leave_room_for_more() {
        let bytes = [0xff; 8];
        let error = Decoder::new(&bytes, KIND, 9).count("a count").unwrap_err();
        assert_eq!(error.to_string(), "a count at byte 9 cannot be 18446744073709551615");
    }
}
