//! Parsing the head of a request, as far as the server needs it.

/// The longest head that is accepted.
pub const HEAD_BYTES_MAX: usize = 8 << 10;
const HEADERS_MAX: usize = 64;

/// An acceptable request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Without its query.
    pub path: String,
    /// The `Host` header: the name and port that the client used.
    pub host: Option<String>,
    /// The token that was sent, in `Authorization: Bearer …` or as `?token=…`.
    pub token: Option<String>,
    /// Only the head of the response is requested (`HEAD`).
    pub is_head: bool,
    /// More requests may follow on this connection.
    pub keep_alive: bool,
}

/// Why a request is refused, whatever its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It is not valid HTTP.
    Malformed,
    /// Its head is too long.
    TooLong,
    /// It has a body.
    Body,
    /// Its method is neither `GET` nor `HEAD`.
    Method,
}

/// What the bytes received so far are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parsed {
    /// An incomplete head.
    Partial,
    /// A request, and its length in bytes.
    Whole(Request, usize),
    /// Not an acceptable request.
    Refused(Refusal),
}

/// Parses the request at the start of `bytes`.
pub fn parse(bytes: &[u8]) -> Parsed {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut head = httparse::Request::new(&mut headers);
    match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length <= HEAD_BYTES_MAX => {
            from_head(&head).map_or_else(Parsed::Refused, |request| Parsed::Whole(request, length))
        }
        Ok(httparse::Status::Partial) if bytes.len() < HEAD_BYTES_MAX => Parsed::Partial,
        Ok(_) | Err(httparse::Error::TooManyHeaders) => Parsed::Refused(Refusal::TooLong),
        Err(_) => Parsed::Refused(Refusal::Malformed),
    }
}

fn from_head(head: &httparse::Request<'_, '_>) -> Result<Request, Refusal> {
    let is_head = match head.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Err(Refusal::Method),
    };
    if has_body(head)? {
        return Err(Refusal::Body);
    }
    let target = head.path.filter(|path| path.starts_with('/')).ok_or(Refusal::Malformed)?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let is_http_1_1 = head.version == Some(1);
    let host = single_header(head, "host")?;
    if is_http_1_1 && host.is_none() {
        return Err(Refusal::Malformed);
    }
    let bearer = single_header(head, "authorization")?.and_then(bearer_token);
    Ok(Request {
        path: path.to_owned(),
        host: host.map(str::to_owned),
        token: bearer.map(str::to_owned).or_else(|| query_token(query)),
        is_head,
        keep_alive: is_http_1_1 && !asks_to_close(head),
    })
}

/// Whether `Connection`, a list in one or several headers, contains `close`.
fn asks_to_close(head: &httparse::Request<'_, '_>) -> bool {
    let connection =
        head.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("connection"));
    let mut options = connection.flat_map(|header| header.value.split(|byte| *byte == b','));
    options.any(|option| option.trim_ascii().eq_ignore_ascii_case(b"close"))
}

fn has_body(head: &httparse::Request<'_, '_>) -> Result<bool, Refusal> {
    let length = single_header(head, "content-length")?;
    Ok(length.is_some_and(|length| length != "0")
        || single_header(head, "transfer-encoding")?.is_some())
}

/// The value of a header that may occur once.
fn single_header<'h>(
    head: &httparse::Request<'_, 'h>,
    name: &str,
) -> Result<Option<&'h str>, Refusal> {
    let mut values = head.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
    let Some(header) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Refusal::Malformed);
    }
    let value = std::str::from_utf8(header.value).map_err(|_| Refusal::Malformed)?;
    Ok(Some(value.trim()))
}

fn bearer_token(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn query_token(query: &str) -> Option<String> {
    query.split('&').find_map(|pair| pair.strip_prefix("token=")).and_then(percent_decoded)
}

/// Percent-decoding: `%41` → `A`; `None` if the result is not UTF-8.
fn percent_decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (vec![], text.bytes());
    while let Some(byte) = rest.next() {
        let mut digit = || char::from(rest.next()?).to_digit(16);
        bytes.push(match byte {
            b'%' => u8::try_from(digit()? * 16 + digit()?).ok()?,
            plain => plain,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> Request {
        match parse(text.as_bytes()) {
            Parsed::Whole(request, length) => {
                assert_eq!(length, text.len());
                request
            }
            other => panic!("{text:?}: {other:?}"),
        }
    }

    #[test]
    fn requests_are_understood() {
        let plain = request("GET /metrics HTTP/1.1\r\nHost: a:1\r\n\r\n");
        let expected = Request {
            path: "/metrics".to_owned(),
            host: Some("a:1".to_owned()),
            token: None,
            is_head: false,
            keep_alive: true,
        };
        assert_eq!(plain, expected);
        assert!(request("HEAD / HTTP/1.1\nhost:a\n\n").is_head);
        assert!(!request("GET / HTTP/1.0\r\n\r\n").keep_alive);
        assert!(!request("GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n").keep_alive);
        assert!(request("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n").keep_alive);
        assert_eq!(request("GET /a?b=c HTTP/1.1\r\nHost: a\r\n\r\n").path, "/a");
    }

    #[test]
    fn tokens_are_found() {
        let told = |text: &str| request(text).token;
        assert_eq!(
            told("GET / HTTP/1.1\r\nHost: a\r\nauthorization: bearer  x+y \r\n\r\n").as_deref(),
            Some("x+y")
        );
        let query = |query: &str| told(&format!("GET /?{query} HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert_eq!(query("token=a%2Fb+%3d").as_deref(), Some("a/b+="));
        assert_eq!(query("x=1&token=abc&y").as_deref(), Some("abc"));
        for none in ["", "tokens=a", "token=%4", "token=%zz", "token=%ff"] {
            assert_eq!(query(none), None, "{none}");
        }
        assert_eq!(told("GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Basic abc\r\n\r\n"), None);
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for (text, why) in [
            ("POST / HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::Method),
            ("DELETE /api/snapshot HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::Method),
            ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n", Refusal::Body),
            ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", Refusal::Body),
            ("GET / HTTP/1.1\r\n\r\n", Refusal::Malformed),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", Refusal::Malformed),
            ("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::Malformed),
            ("GET / HTTP/1.1\r\nHost: \u{ff}\r\nA\0B: c\r\n\r\n", Refusal::Malformed),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Refusal::Malformed),
            ("\u{16}\u{3}\u{1}\u{2}", Refusal::Malformed),
        ] {
            assert_eq!(parse(text.as_bytes()), Parsed::Refused(why), "{text:?}");
        }
    }

    #[test]
    fn long_heads_are_refused_and_short_ones_waited_for() {
        assert_eq!(parse(b""), Parsed::Partial);
        assert_eq!(parse(b"GET / HTTP/1.1\r\nHost: a\r\n"), Parsed::Partial);
        let long = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(HEAD_BYTES_MAX));
        let refused = Parsed::Refused(Refusal::TooLong);
        assert_eq!(parse(long.as_bytes()), refused);
        assert_eq!(parse(&long.as_bytes()[..HEAD_BYTES_MAX]), refused);
        assert_eq!(parse(&long.as_bytes()[..HEAD_BYTES_MAX - 1]), Parsed::Partial);
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADERS_MAX + 1));
        assert_eq!(parse(many.as_bytes()), refused);
    }

    #[test]
    fn no_prefix_and_no_byte_breaks_it() {
        let text = b"GET /?token=%41%4 HTTP/1.1\r\nHost: [::1]:1\r\nAuthorization: Bearer\r\n\r\n";
        for end in 0..text.len() {
            assert!(!matches!(parse(&text[..end]), Parsed::Whole(..)));
            for byte in 0..=u8::MAX {
                let mut broken = text.to_vec();
                broken[end] = byte;
                let _ = parse(&broken);
            }
        }
    }
}
