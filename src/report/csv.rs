//! Lines of CSV, in the format of RFC 4180.

use std::io::{self, Write};

/// Writes a record, in quotes where that is necessary.
pub fn write_record<'a>(
    out: &mut dyn Write,
    fields: impl Iterator<Item = &'a str>,
) -> io::Result<()> {
    let quoted: Vec<String> = fields.map(quoted).collect();
    write!(out, "{}\r\n", quoted.join(","))
}

/// The field, in quotes if it needs them.
fn quoted(field: &str) -> String {
    match field.contains(['"', ',', '\r', '\n']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

/// The fields of a record without line ends in its fields.
///
/// ```
/// use acsm::report::csv::fields;
///
/// assert_eq!(fields("a,\"b, \"\"c\"\"\",\r\n"), ["a", "b, \"c\"", ""]);
/// ```
pub fn fields(record: &str) -> Vec<String> {
    let (mut fields, mut in_quotes) = (vec![String::new()], false);
    let mut letters = record.trim_end_matches(['\r', '\n']).chars().peekable();
    while let Some(letter) = letters.next() {
        let Some(field) = fields.last_mut() else { break };
        match letter {
            '"' if in_quotes && letters.peek() == Some(&'"') => field.extend(letters.next()),
            '"' => in_quotes = !in_quotes,
            ',' if !in_quotes => fields.push(String::new()),
            other => field.push(other),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_only_if_necessary() {
        assert_eq!(quoted("paper-kbf"), "paper-kbf");
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"so\"\r\n"), "\"say \"\"so\"\"\r\n\"");
    }

    #[test]
    fn what_is_written_is_read_again() {
        let record = ["", "a,b", "say \"so\"", "p = 0.1", ""];
        let mut text = vec![];
        write_record(&mut text, record.into_iter()).unwrap();
        assert_eq!(fields(str::from_utf8(&text).unwrap()), record);
    }
}
