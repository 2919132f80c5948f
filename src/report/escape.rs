//! Escaping of untrusted text for HTML and SVG.

use std::fmt::{self, Write as _};

/// Displays text escaped for element content and quoted attributes. Control characters, which XML
/// cannot contain, and characters that change the writing direction, which could make one text look
/// like another, become U+FFFD.
///
/// ```
/// use acsm::report::escape::Escaped;
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
            c if is_forbidden(c) => f.write_char(char::REPLACEMENT_CHARACTER),
            c => f.write_char(c),
        })
    }
}

fn is_forbidden(c: char) -> bool {
    let changes_direction = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_noncharacter = matches!(c, '\u{fffe}' | '\u{ffff}');
    (c.is_control() && c != '\t' && c != '\n') || changes_direction || is_noncharacter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_control_characters_are_escaped() {
        let shown = Escaped("a\0\u{1b}[1m\u{202e}<script>'").to_string();
        assert_eq!(shown, "a\u{fffd}\u{fffd}[1m\u{fffd}&lt;script&gt;&#39;");
        assert_eq!(Escaped("é\t漢\n").to_string(), "é\t漢\n");
    }
}
