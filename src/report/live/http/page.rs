//! The page: its parts put together, and what a browser may do with it.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

const HTML: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
/// One after the other: a later part may use an earlier one.
const SCRIPTS: [&str; 6] = [
    include_str!("page/format.js"),
    include_str!("page/plot.js"),
    include_str!("page/plots.js"),
    include_str!("page/alerts.js"),
    include_str!("page/tables.js"),
    include_str!("page/main.js"),
];

/// The page as it is sent.
#[derive(Debug)]
pub struct Page {
    pub html: Arc<[u8]>,
    /// The content security policy of all answers: this style, this script, requests to this
    /// server, and nothing else.
    pub policy: String,
}

impl Page {
    /// Puts the parts together.
    pub fn new() -> Page {
        let script = SCRIPTS.concat();
        let html = HTML.replace("PAGE_STYLE", STYLE).replace("PAGE_SCRIPT", &script);
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; \
             connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            base64(&Sha256::digest(STYLE)),
            base64(&Sha256::digest(script)),
        );
        Page { html: html.into_bytes().into(), policy }
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - three.len()));
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= three.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        let encoded = texts.map(|text| base64(text.as_bytes()));
        assert_eq!(encoded, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }

    #[test]
    fn the_page_holds_all_it_needs() {
        let page = Page::new();
        let html = std::str::from_utf8(&page.html).unwrap();
        assert!(!html.contains("PAGE_STYLE") && !html.contains("PAGE_SCRIPT"));
        assert!(html.contains(&format!("<style>{STYLE}</style>")));
        assert!(html.contains(&format!("<script type=\"module\">{}</script>", SCRIPTS.concat())));
        assert_eq!(html.matches("</script").count(), 1, "no script ends early");
        for address in ["http://", "https://", "src=", "@import", "url("] {
            let found = html.replace("http://www.w3.org/2000/svg", "").contains(address);
            assert!(!found, "{address} would be a request to somewhere");
        }
        for unsafe_way in
            ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("]
        {
            assert!(!html.contains(unsafe_way), "{unsafe_way} would take text for markup");
        }
    }
}
