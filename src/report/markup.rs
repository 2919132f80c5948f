//! Text that is safe to put into HTML and SVG, whoever wrote it.

use std::fmt::{self, Write as _};

/// Shows `text` so that it is neither markup nor the end of an attribute. What XML cannot hold
/// (control characters), and what turns the reading direction and so could make a text look like
/// another, becomes U+FFFD.
///
/// ```
/// use acsm::report::markup::Escaped;
///
/// assert_eq!(Escaped("<b> & \"c\"").to_string(), "&lt;b&gt; &amp; &quot;c&quot;");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            '\'' => f.write_str("&#39;"),
            c if is_unfit(c) => f.write_char(char::REPLACEMENT_CHARACTER),
            c => f.write_char(c),
        })
    }
}

fn is_unfit(c: char) -> bool {
    let turns_direction = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let no_character = matches!(c, '\u{fffe}' | '\u{ffff}');
    (c.is_control() && c != '\t' && c != '\n') || turns_direction || no_character
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_text() {
        let shown = Escaped("a\0\u{1b}[1m\u{202e}<script>'").to_string();
        assert_eq!(shown, "a\u{fffd}\u{fffd}[1m\u{fffd}&lt;script&gt;&#39;");
        assert_eq!(Escaped("é\t漢\n").to_string(), "é\t漢\n");
    }
}
