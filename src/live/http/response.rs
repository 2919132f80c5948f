//! A response: status, headers and body.

use std::fmt::Write as _;
use std::sync::Arc;

/// A response. Its body is shared by all requests for the same resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub status: Status,
    pub content: ContentType,
    pub body: Arc<[u8]>,
}

/// The status line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Ok,
    BadRequest,
    Unauthorized,
    NotFound,
    MethodNotAllowed,
    BodyRefused,
    Misdirected,
    HeadTooLong,
    Unavailable,
}

/// The media type of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentType {
    Text,
    Html,
    Json,
    /// The text format of Prometheus.
    Metrics,
}

/// What the headers depend on besides the response.
#[derive(Debug, Clone, Copy)]
pub struct Delivery<'a> {
    /// Whether the connection is closed after this response.
    pub close: bool,
    /// The content security policy.
    pub policy: &'a str,
}

impl Response {
    /// A body with status 200.
    pub fn ok(content: ContentType, body: Arc<[u8]>) -> Response {
        Response { status: Status::Ok, content, body }
    }

    /// A line of text.
    pub fn text(status: Status, line: impl AsRef<str>) -> Response {
        let body = format!("{}\n", line.as_ref()).into_bytes();
        Response { status, content: ContentType::Text, body: body.into() }
    }

    /// Everything before the body. The length is that of the body even if only the head is sent.
    pub fn head(&self, delivery: Delivery<'_>) -> Vec<u8> {
        let mut head = String::with_capacity(640);
        let _ = write!(
            // to a String
            head,
            "HTTP/1.1 {}\r\n\
             Content-Type: {}\r\n\
             Content-Length: {}\r\n\
             Content-Security-Policy: {}\r\n\
             X-Content-Type-Options: nosniff\r\n\
             Referrer-Policy: no-referrer\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\n\
             Cache-Control: no-store\r\n\
             Connection: {}\r\n{}\r\n",
            self.status.line(),
            self.content.media_type(),
            self.body.len(),
            delivery.policy,
            if delivery.close { "close" } else { "keep-alive" },
            self.status.headers(),
        );
        head.into_bytes()
    }
}

impl Status {
    const fn line(self) -> &'static str {
        match self {
            Status::Ok => "200 OK",
            Status::BadRequest => "400 Bad Request",
            Status::Unauthorized => "401 Unauthorized",
            Status::NotFound => "404 Not Found",
            Status::MethodNotAllowed => "405 Method Not Allowed",
            Status::BodyRefused => "413 Content Too Large",
            Status::Misdirected => "421 Misdirected Request",
            Status::HeadTooLong => "431 Request Header Fields Too Large",
            Status::Unavailable => "503 Service Unavailable",
        }
    }

    /// Further headers for this status.
    const fn headers(self) -> &'static str {
        match self {
            Status::Unauthorized => "WWW-Authenticate: Bearer realm=\"acsm\"\r\n",
            Status::MethodNotAllowed => "Allow: GET, HEAD\r\n",
            Status::Unavailable => "Retry-After: 1\r\n",
            _ => "",
        }
    }
}

impl ContentType {
    const fn media_type(self) -> &'static str {
        match self {
            ContentType::Text => "text/plain; charset=utf-8",
            ContentType::Html => "text/html; charset=utf-8",
            ContentType::Json => "application/json",
            ContentType::Metrics => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}
