//! Records of two fields in CSV, as RFC 4180 has it.

use std::io::Read;

use super::lines::{LineError, Lines, without_end};

/// Where in a record a byte is.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// At the beginning of a field.
    Begin,
    /// In a field without quotation marks.
    Plain,
    /// In one with quotation marks.
    Quoted,
    /// After a quotation mark in such a field: it ends there, unless another follows.
    Quote,
}

/// The fields of a record.
struct Fields<'a> {
    two: [&'a mut Vec<u8>; 2],
    /// The number of the field that is being read.
    at: usize,
}

impl Fields<'_> {
    fn push(&mut self, byte: u8) {
        if let Some(field) = self.two.get_mut(self.at) {
            field.push(byte);
        }
    }
}

/// Reads the next record, which begins with the line in `text` and may go on in further lines. The two
/// fields are empty.
pub fn read_record<R: Read>(
    lines: &mut Lines<R>,
    text: &mut Vec<u8>,
    fields: [&mut Vec<u8>; 2],
) -> Result<(), LineError> {
    let first_line = lines.number();
    let mut fields = Fields { two: fields, at: 0 };
    let (mut place, mut done) = (Place::Begin, 0);
    loop {
        // What ends a line is part of a field in quotation marks, and of no other.
        let end = without_end(text).len().max(done);
        place = read_bytes(&text[done..end], place, &mut fields)
            .map_err(|problem| lines.malformed(problem))?;
        if place != Place::Quoted {
            break;
        }
        text[end..].iter().for_each(|byte| fields.push(*byte));
        done = text.len();
        if !lines.append_next(text)? {
            let problem = "a quotation mark that is not closed".to_owned();
            return Err(LineError::Malformed { line: first_line, problem });
        }
    }
    match fields.at + 1 {
        2 => Ok(()),
        1 => Err(lines.malformed("one field; a pair has two, a key and a value")),
        many => Err(lines.malformed(format!("{many} fields; a pair has two, a key and a value"))),
    }
}

/// Reads the bytes of a line, from this place on; returns the place after them.
fn read_bytes(
    bytes: &[u8],
    mut place: Place,
    fields: &mut Fields<'_>,
) -> Result<Place, &'static str> {
    for &byte in bytes {
        place = match (place, byte) {
            (Place::Begin | Place::Plain | Place::Quote, b',') => {
                fields.at += 1;
                Place::Begin
            }
            (Place::Begin, b'"') => Place::Quoted,
            (Place::Plain, b'"') => return Err("a quotation mark within a field without them"),
            (Place::Quoted, b'"') => Place::Quote,
            (Place::Quote, b'"') => {
                fields.push(b'"');
                Place::Quoted
            }
            (Place::Quote, _) => return Err("a quotation mark is not followed by a comma"),
            (Place::Begin | Place::Plain, _) => {
                fields.push(byte);
                Place::Plain
            }
            (Place::Quoted, _) => {
                fields.push(byte);
                Place::Quoted
            }
        };
    }
    Ok(place)
}
