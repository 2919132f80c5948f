//! Pairs of keys and values from text: TSV, CSV and JSON lines.

use std::io::Read;
use std::path::Path;

use clap::{Args, ValueEnum};
use serde::Deserialize;
use serde_json::Value;

use super::csv::read_record;
use super::lines::{LineError, Lines};

/// The format of pairs, as options tell.
#[derive(Debug, Args)]
pub struct FormatArgs {
    /// Format of the pairs [default: by the name of the file, else tsv]
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// The first line has names of columns, in tsv and csv
    #[arg(long)]
    header: bool,
}

/// How pairs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A key, a tab, a value: what follows the first tab
    Tsv,
    /// Two fields with a comma between, in quotation marks where needed (RFC 4180)
    Csv,
    /// An object per line, {"key": …, "value": …}, of strings or integers
    Jsonl,
}

/// A pair, and the line that it ends in.
#[derive(Debug, Default)]
pub struct Pair {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
    pub line: u64,
}

/// Reads pairs one after another.
pub struct PairReader<R> {
    lines: Lines<R>,
    format: Format,
    /// The header is still to be skipped.
    has_header: bool,
    text: Vec<u8>,
}

#[derive(Deserialize)]
struct JsonPair {
    key: Value,
    value: Value,
}

impl FormatArgs {
    /// The format of a file with this name.
    fn format_of(&self, path: &Path) -> Format {
        let by_name = match path.extension().and_then(|extension| extension.to_str()) {
            Some("csv") => Format::Csv,
            Some("jsonl" | "ndjson" | "json") => Format::Jsonl,
            _ => Format::Tsv,
        };
        self.format.unwrap_or(by_name)
    }

    /// A reader of the pairs of an input with this name.
    pub fn reader<R: Read>(&self, path: &Path, input: R) -> PairReader<R> {
        let format = self.format_of(path);
        let has_header = self.header && format != Format::Jsonl;
        PairReader { lines: Lines::new(input), format, has_header, text: vec![] }
    }
}

impl<R: Read> PairReader<R> {
    /// The next pair. Returns whether there was one. Empty lines are skipped.
    pub fn next(&mut self, pair: &mut Pair) -> Result<bool, LineError> {
        loop {
            self.text.clear();
            if !self.lines.append_next(&mut self.text)? {
                return Ok(false);
            }
            if matches!(self.text.as_slice(), b"\n" | b"\r\n") {
                continue;
            }
            pair.key.clear();
            pair.value.clear();
            match self.format {
                Format::Tsv => self.tsv(pair),
                Format::Jsonl => self.json(pair),
                Format::Csv => {
                    let fields = [&mut pair.key, &mut pair.value];
                    read_record(&mut self.lines, &mut self.text, fields)
                }
            }?;
            pair.line = self.lines.number();
            if !std::mem::take(&mut self.has_header) {
                return Ok(true);
            }
        }
    }

    fn tsv(&self, pair: &mut Pair) -> Result<(), LineError> {
        let line = super::lines::without_end(&self.text);
        let Some(tab) = line.iter().position(|byte| *byte == b'\t') else {
            return Err(self.lines.malformed("no tab; a pair is a key, a tab and a value"));
        };
        pair.key.extend_from_slice(&line[..tab]);
        pair.value.extend_from_slice(&line[tab + 1..]);
        Ok(())
    }

    fn json(&self, pair: &mut Pair) -> Result<(), LineError> {
        let parsed: JsonPair = serde_json::from_slice(&self.text).map_err(|error| {
            // The position that it ends with has line 1, always.
            let text = error.to_string();
            let what = text.split(" at line ").next().unwrap_or(&text);
            self.lines.malformed(format!("not a pair, column {}: {what}", error.column()))
        })?;
        self.field("key", parsed.key, &mut pair.key)?;
        self.field("value", parsed.value, &mut pair.value)
    }

    fn field(&self, name: &str, value: Value, out: &mut Vec<u8>) -> Result<(), LineError> {
        match value {
            Value::String(text) => out.extend_from_slice(text.as_bytes()),
            Value::Number(number) if !number.is_f64() => {
                out.extend_from_slice(number.to_string().as_bytes());
            }
            _ => {
                let problem = format!("`{name}` is neither a string nor an integer below 2^64");
                return Err(self.lines.malformed(problem));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(format: Format, header: bool, text: &str) -> Result<Vec<(String, String)>, String> {
        let args = FormatArgs { format: Some(format), header };
        let mut reader = args.reader(Path::new("-"), text.as_bytes());
        let (mut pairs, mut pair) = (vec![], Pair::default());
        while reader.next(&mut pair).map_err(|error| error.to_string())? {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            pairs.push((text(&pair.key), text(&pair.value)));
        }
        Ok(pairs)
    }

    fn pairs(list: &[(&str, &str)]) -> Result<Vec<(String, String)>, String> {
        Ok(list.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect())
    }

    #[test]
    fn tab_separated() {
        let text = "id\tclass\na\tx\r\n\nb\ty\tz\n\tempty key\nc\t";
        let expected = [("a", "x"), ("b", "y\tz"), ("", "empty key"), ("c", "")];
        assert_eq!(read(Format::Tsv, true, text), pairs(&expected));
        let error = "line 2: no tab; a pair is a key, a tab and a value";
        assert_eq!(read(Format::Tsv, false, "a\tx\nb y\n"), Err(error.to_owned()));
    }

    #[test]
    fn comma_separated() {
        let text = "id,class\r\na,x\r\n\r\n\"b,\"\"1\"\"\r\n2\",\"y\nz\"\r\n\"\",\n,\"\"";
        let expected = [("a", "x"), ("b,\"1\"\r\n2", "y\nz"), ("", ""), ("", "")];
        assert_eq!(read(Format::Csv, true, text), pairs(&expected));
        for (text, error) in [
            ("a,b\nc\n", "line 2: one field; a pair has two, a key and a value"),
            ("a,b,c", "line 1: 3 fields; a pair has two, a key and a value"),
            ("a,b\"c\"", "line 1: a quotation mark within a field without them"),
            ("a,b\n\"c\"d,e", "line 2: a quotation mark is not followed by a comma"),
            ("a,b\nc,\"d\n\ne", "line 2: a quotation mark that is not closed"),
        ] {
            assert_eq!(read(Format::Csv, false, text), Err(error.to_owned()), "{text}");
        }
    }

    #[test]
    fn json_lines() {
        let text = "{\"key\":\"a\\tb\",\"value\":7}\n\n{\"answer\":1,\"value\":\"é\",\"key\":-5}";
        let expected = [("a\tb", "7"), ("-5", "é")];
        assert_eq!(read(Format::Jsonl, true, text), pairs(&expected));
        for (text, error) in [
            ("{\"key\":\"a\"}", "line 1: not a pair, column 11: missing field `value`"),
            ("\n{\"key\"", "line 2: not a pair, column 6: EOF while parsing an object"),
            (
                "{\"key\":\"a\",\"value\":1.5}",
                "line 1: `value` is neither a string nor an integer below 2^64",
            ),
            (
                "{\"key\":null,\"value\":1}",
                "line 1: `key` is neither a string nor an integer below 2^64",
            ),
        ] {
            assert_eq!(read(Format::Jsonl, false, text), Err(error.to_owned()), "{text}");
        }
    }
}
