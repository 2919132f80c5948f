//! The words of a command, after its name and key.

use acsm_filters::kv::slab::Batch;

use crate::error::CommandError;

/// The most items of one call.
pub const ITEMS_MAX: usize = 65_536;

/// Reads arguments one after another. Words are taken in either case.
#[derive(Debug, Clone)]
pub struct Arguments<'a> {
    rest: &'a [&'a [u8]],
}

/// The items that a command is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Items<'a> {
    /// `ITEMS`: one argument for each item, and for each value.
    Listed(&'a [&'a [u8]]),
    /// `PACKED`: records one after another.
    Packed(&'a [u8]),
}

/// What precedes the items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// `CLIENT` and `SEQ`.
    pub batch: Option<Batch>,
    /// `BELOW`.
    pub below: Option<u32>,
}

/// Which options a command takes.
#[derive(Debug, Clone, Copy)]
pub struct Allowed {
    pub batch: bool,
    pub below: bool,
}

impl<'a> Arguments<'a> {
    pub fn new(rest: &'a [&'a [u8]]) -> Arguments<'a> {
        Arguments { rest }
    }

    /// The next argument, if there is one.
    pub fn next(&mut self) -> Option<&'a [u8]> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// The next argument, which `word` needs.
    pub fn value_of(&mut self, word: &str) -> Result<&'a [u8], CommandError> {
        self.next().ok_or_else(|| syntax(format!("nothing follows {word}")))
    }

    /// The next argument as a number from `least` on, which `word` needs.
    pub fn number_of(&mut self, word: &str, least: u64) -> Result<u64, CommandError> {
        let given = self.value_of(word)?;
        let number = number(given).filter(|number| (least..=i64::MAX as u64).contains(number));
        number.ok_or_else(|| {
            syntax(format!("{word} {} is not a number from {least} on", shown(given)))
        })
    }

    /// That nothing is left.
    pub fn finish(mut self) -> Result<(), CommandError> {
        match self.next() {
            None => Ok(()),
            Some(word) => Err(unexpected(word)),
        }
    }

    /// Options up to the word that ends them, if it is among `ends`, in capital letters.
    fn options(
        &mut self,
        allowed: Allowed,
        ends: &[&str],
    ) -> Result<(Options, Option<String>), CommandError> {
        let (mut client, mut sequence, mut below) = (None, None, None);
        let end = loop {
            let Some(word) = self.next() else { break None };
            let (name, place, least) = match upper(word).as_str() {
                "CLIENT" if allowed.batch => ("CLIENT", &mut client, 1),
                "SEQ" if allowed.batch => ("SEQ", &mut sequence, 1),
                "BELOW" if allowed.below => ("BELOW", &mut below, 0),
                end if ends.contains(&end) => break Some(end.to_owned()),
                _ => return Err(unexpected(word)),
            };
            if place.is_some() {
                return Err(syntax(format!("{name} comes twice")));
            }
            *place = Some(self.number_of(name, least)?);
        };
        let batch = match (client, sequence) {
            (None, None) => None,
            (Some(client), Some(sequence)) => Some(Batch { client, sequence }),
            _ => return Err(syntax("CLIENT and SEQ belong together".to_owned())),
        };
        let below = below.map(|below| u32::try_from(below).unwrap_or(u32::MAX));
        Ok((Options { batch, below }, end))
    }

    /// Options and items, up to the end.
    pub fn options_and_items(
        mut self,
        allowed: Allowed,
    ) -> Result<(Options, Items<'a>), CommandError> {
        let (options, end) = self.options(allowed, &["ITEMS", "PACKED"])?;
        let items = match end.as_deref() {
            Some("ITEMS") if !self.rest.is_empty() => Items::Listed(self.rest),
            Some("ITEMS") => return Err(syntax("nothing follows ITEMS".to_owned())),
            Some(_) => {
                let records = self.value_of("PACKED")?;
                self.finish()?;
                Items::Packed(records)
            }
            None => return Err(syntax("ITEMS or PACKED is missing".to_owned())),
        };
        Ok((options, items))
    }

    /// A batch, and what follows `word`.
    pub fn batch_and(mut self, word: &str) -> Result<(Option<Batch>, &'a [u8]), CommandError> {
        let (options, end) = self.options(Allowed { batch: true, below: false }, &[word])?;
        if end.is_none() {
            return Err(syntax(format!("{word} is missing")));
        }
        let value = self.value_of(word)?;
        self.finish()?;
        Ok((options.batch, value))
    }

    /// A batch alone.
    pub fn batch(mut self) -> Result<Option<Batch>, CommandError> {
        let (options, _) = self.options(Allowed { batch: true, below: false }, &[])?;
        Ok(options.batch)
    }
}

pub fn syntax(what: String) -> CommandError {
    CommandError::Syntax(what)
}

pub fn unexpected(word: &[u8]) -> CommandError {
    syntax(format!("{} is not expected here", shown(word)))
}

/// A decimal number without a sign.
pub fn number(bytes: &[u8]) -> Option<u64> {
    let is_decimal = bytes.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(bytes).ok().filter(|_| is_decimal)?.parse().ok()
}

/// In capital letters; bytes that are no text are replaced, so that no word is matched.
pub fn upper(word: &[u8]) -> String {
    String::from_utf8_lossy(&word[..word.len().min(SHOWN_MAX)]).to_ascii_uppercase()
}

/// An argument as errors quote it.
pub fn shown(argument: &[u8]) -> String {
    let more = if argument.len() > SHOWN_MAX { "..." } else { "" };
    format!("'{}{more}'", argument[..argument.len().min(SHOWN_MAX)].escape_ascii())
}

/// How much of an argument an error quotes. No word is longer.
const SHOWN_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Allowed = Allowed { batch: true, below: true };

    fn parse(text: &str) -> Result<(Options, usize), String> {
        let words: Vec<&[u8]> = text.split_whitespace().map(str::as_bytes).collect();
        let parsed = Arguments::new(&words).options_and_items(ALL);
        let (options, items) = parsed.map_err(|error| error.to_string())?;
        let count = match items {
            Items::Listed(items) => items.len(),
            Items::Packed(records) => 1000 + records.len(),
        };
        Ok((options, count))
    }

    #[test]
    fn options_come_in_any_order_and_case() {
        let batch = Some(Batch { client: 7, sequence: 9 });
        let all = Options { batch, below: Some(3) };
        assert_eq!(parse("CLIENT 7 SEQ 9 BELOW 3 ITEMS a b"), Ok((all, 2)));
        assert_eq!(parse("below 3 seq 9 client 7 packed abc"), Ok((all, 1003)));
        assert_eq!(parse("ITEMS client"), Ok((Options::default(), 1)));
        let most = Options { below: Some(u32::MAX), ..Options::default() };
        assert_eq!(parse("BELOW 9223372036854775807 ITEMS x"), Ok((most, 1)));
    }

    #[test]
    fn errors_name_the_word() {
        let error = |text| parse(text).unwrap_err();
        for (text, what) in [
            ("", "ITEMS or PACKED is missing"),
            ("CLIENT 1 SEQ 1", "ITEMS or PACKED is missing"),
            ("ITEMS", "nothing follows ITEMS"),
            ("PACKED", "nothing follows PACKED"),
            ("PACKED abc def", "'def' is not expected here"),
            ("CLIENT 1 ITEMS a", "CLIENT and SEQ belong together"),
            ("SEQ 1 ITEMS a", "CLIENT and SEQ belong together"),
            ("CLIENT 1 CLIENT 1 SEQ 1 ITEMS a", "CLIENT comes twice"),
            ("CLIENT 0 SEQ 1 ITEMS a", "CLIENT '0' is not a number from 1 on"),
            ("CLIENT 1 SEQ +1 ITEMS a", "SEQ '+1' is not a number from 1 on"),
            ("CLIENT 1 SEQ", "nothing follows SEQ"),
            ("SEQ 9223372036854775808", "SEQ '9223372036854775808' is not a number from 1 on"),
            ("BELOW -1 ITEMS a", "BELOW '-1' is not a number from 0 on"),
            ("apple", "'apple' is not expected here"),
        ] {
            assert_eq!(error(text), format!("ERR syntax error: {what}"), "{text}");
        }
        let long = "x".repeat(100_000);
        assert!(error(&long).len() < 100);
        let words: [&[u8]; 1] = [b"\xff\r\n\0"];
        let parsed = Arguments::new(&words).options_and_items(ALL).unwrap_err();
        assert_eq!(parsed.to_string(), r"ERR syntax error: '\xff\r\n\x00' is not expected here");
    }

    #[test]
    fn options_of_other_commands_are_refused() {
        let words: [&[u8]; 4] = [b"BELOW", b"3", b"ITEMS", b"a"];
        let allowed = Allowed { batch: true, below: false };
        assert!(Arguments::new(&words).options_and_items(allowed).is_err());
        assert!(Arguments::new(&words).batch().is_err());
        let words: [&[u8]; 4] = [b"CLIENT", b"3", b"SEQ", b"4"];
        assert_eq!(Arguments::new(&words).batch().unwrap(), Some(Batch { client: 3, sequence: 4 }));
        assert!(Arguments::new(&words).batch_and("VALUE").is_err());
    }
}
