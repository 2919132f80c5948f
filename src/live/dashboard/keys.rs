//! Keys from the bytes that a terminal in raw mode sends. An escape sequence may arrive in pieces; a lone
//! ESC is distinguished from the start of one by the pause after it.

/// Longer than the sequence of any real key.
const SEQUENCE_BYTES_MAX: usize = 32;
const ESC: u8 = 0x1b;

/// A key that the dashboard knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // named as on keyboards
pub enum Key {
    Char(char),
    Enter,
    Esc,
    Tab,
    BackTab,
    Backspace,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    CtrlC,
    CtrlL,
}

/// Assembles keys from bytes.
#[derive(Debug, Default)]
pub struct KeyReader {
    pending: Vec<u8>,
}

/// What the first bytes of the input are, and how many.
enum Token {
    Key(Key, usize),
    Unknown(usize),
    Incomplete,
}

impl KeyReader {
    /// The keys that `bytes` complete. An incomplete sequence waits for more bytes.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.pending.extend_from_slice(bytes);
        let (mut keys, mut at) = (vec![], 0);
        while let Some(rest) = self.pending.get(at..).filter(|rest| !rest.is_empty()) {
            match first_token(rest) {
                Token::Key(key, length) => {
                    keys.push(key);
                    at += length;
                }
                Token::Unknown(length) => at += length,
                Token::Incomplete if rest.len() > SEQUENCE_BYTES_MAX => at += rest.len(),
                Token::Incomplete => break,
            }
        }
        self.pending.drain(..at);
        keys
    }

    /// Whether there is an incomplete sequence.
    pub fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    /// To be called when no bytes have arrived within the timeout: the pending bytes are not a sequence.
    /// A lone ESC is the Escape key.
    pub fn time_out(&mut self) -> Option<Key> {
        let lone_escape = self.pending == [ESC];
        self.pending.clear();
        lone_escape.then_some(Key::Esc)
    }
}

fn first_token(bytes: &[u8]) -> Token {
    match bytes {
        [ESC] => Token::Incomplete,
        [ESC, b'[', rest @ ..] => control_sequence(rest),
        [ESC, b'O'] => Token::Incomplete,
        [ESC, b'O', letter, ..] => named(by_letter(*letter), 3),
        [ESC, ..] => Token::Key(Key::Esc, 1),
        [byte, ..] if byte.is_ascii_control() => named(by_control(*byte), 1),
        _ => character(bytes),
    }
}

fn named(key: Option<Key>, length: usize) -> Token {
    key.map_or(Token::Unknown(length), |key| Token::Key(key, length))
}

/// `rest` follows `ESC [`: parameters, ended by a letter or `~`.
fn control_sequence(rest: &[u8]) -> Token {
    let Some(end) = rest.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
        return Token::Incomplete;
    };
    let key = match (rest.get(end), rest.split(|byte| matches!(byte, b';' | b'~')).next()) {
        (Some(b'~'), Some(b"1" | b"7")) => Some(Key::Home),
        (Some(b'~'), Some(b"4" | b"8")) => Some(Key::End),
        (Some(b'~'), Some(b"5")) => Some(Key::PageUp),
        (Some(b'~'), Some(b"6")) => Some(Key::PageDown),
        (Some(letter), _) => by_letter(*letter),
        (None, _) => None,
    };
    named(key, end + 3)
}

fn by_letter(letter: u8) -> Option<Key> {
    Some(match letter {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'H' => Key::Home,
        b'F' => Key::End,
        b'Z' => Key::BackTab,
        _ => return None,
    })
}

fn by_control(byte: u8) -> Option<Key> {
    Some(match byte {
        0x03 => Key::CtrlC,
        0x0c => Key::CtrlL,
        b'\t' => Key::Tab,
        b'\r' | b'\n' => Key::Enter,
        0x08 | 0x7f => Key::Backspace,
        _ => return None,
    })
}

/// One UTF-8 character.
fn character(bytes: &[u8]) -> Token {
    let start = bytes.get(..4).unwrap_or(bytes);
    let (valid, broken) = match std::str::from_utf8(start) {
        Ok(text) => (text, false),
        Err(error) => {
            let valid = start.get(..error.valid_up_to()).unwrap_or_default();
            (std::str::from_utf8(valid).unwrap_or_default(), error.error_len().is_some())
        }
    };
    match valid.chars().next() {
        Some(c) if c.is_control() => Token::Unknown(c.len_utf8()),
        Some(c) => Token::Key(Key::Char(c), c.len_utf8()),
        None if broken => Token::Unknown(1),
        None => Token::Incomplete,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        KeyReader::default().feed(bytes)
    }

    #[test]
    fn letters_and_control_keys_are_known() {
        let expected =
            [Key::Char('q'), Key::Enter, Key::Tab, Key::Backspace, Key::CtrlC, Key::CtrlL];
        assert_eq!(keys(b"q\r\t\x7f\x03\x0c"), expected);
        assert_eq!(keys("é→\u{1f980}".as_bytes()), ['é', '→', '\u{1f980}'].map(Key::Char));
        assert_eq!(
            keys(b"\x00\x1c\xc2\x9bq"),
            [Key::Char('q')],
            "nothing is typed with the others"
        );
    }

    #[test]
    fn sequences_are_known_in_the_ways_terminals_send_them() {
        assert_eq!(keys(b"\x1b[A\x1bOB\x1b[1;5A"), [Key::Up, Key::Down, Key::Up]);
        assert_eq!(keys(b"\x1b[5~\x1b[6;2~"), [Key::PageUp, Key::PageDown]);
        assert_eq!(keys(b"\x1b[H\x1b[4~\x1b[Z"), [Key::Home, Key::End, Key::BackTab]);
        assert_eq!(keys(b"\x1b[200~\x1b[3~\x1b[Cq"), [Key::Char('q')], "others are skipped");
    }

    #[test]
    fn pieces_are_put_together() {
        let whole = "\x1b[5~é\x1bOA".as_bytes();
        let mut reader = KeyReader::default();
        let one_by_one: Vec<Key> = whole.iter().flat_map(|byte| reader.feed(&[*byte])).collect();
        assert_eq!(one_by_one, [Key::PageUp, Key::Char('é'), Key::Up]);
        assert_eq!(one_by_one, keys(whole));
    }

    #[test]
    fn a_lone_escape_is_a_key_once_nothing_follows() {
        let mut reader = KeyReader::default();
        assert_eq!(reader.feed(&[ESC]), []);
        assert_eq!(reader.time_out(), Some(Key::Esc));
        assert_eq!(reader.time_out(), None);
        assert_eq!(reader.feed(b"\x1b[1;"), []);
        assert_eq!(reader.time_out(), None, "a sequence that broke off is nothing");
        assert_eq!(reader.feed(b"q"), [Key::Char('q')]);
        assert_eq!(keys(b"\x1bq"), [Key::Esc, Key::Char('q')]);
    }

    #[test]
    fn no_bytes_make_it_panic_or_hoard() {
        let mut random = 1_u64;
        let mut reader = KeyReader::default();
        for _ in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Escapes are frequent, so that sequences of all kinds begin.
            let byte = if random >> 61 == 0 { ESC } else { (random >> 33) as u8 };
            reader.feed(&[byte]);
            assert!(reader.pending.len() <= SEQUENCE_BYTES_MAX + 1);
        }
    }
}
