//! An answer and its head.

use std::fmt::Write as _;
use std::sync::Arc;

/// What is sent back. The body is shared by all who ask for the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: Status,
    pub content: Content,
    pub body: Arc<[u8]>,
}

/// How it went.
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

/// What the body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    Text,
    Html,
    Json,
    /// Text as Prometheus expects it.
    Metrics,
}

/// What to do with the connection and the body, and what pages may do.
#[derive(Debug, Clone, Copy)]
pub struct Delivery<'a> {
    pub close: bool,
    /// What a browser may load for a page: nothing but what is in it.
    pub policy: &'a str,
}

impl Answer {
    /// A line of text.
    pub fn text(status: Status, line: impl AsRef<str>) -> Answer {
        let body = format!("{}\n", line.as_ref()).into_bytes();
        Answer { status, content: Content::Text, body: body.into() }
    }

    /// All before the body, which is told of also where it is not sent.
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
            self.status.more(),
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

    /// Headers that go with it.
    const fn more(self) -> &'static str {
        match self {
            Status::Unauthorized => "WWW-Authenticate: Bearer realm=\"acsm\"\r\n",
            Status::MethodNotAllowed => "Allow: GET, HEAD\r\n",
            Status::Unavailable => "Retry-After: 1\r\n",
            _ => "",
        }
    }
}

impl Content {
    const fn media_type(self) -> &'static str {
        match self {
            Content::Text => "text/plain; charset=utf-8",
            Content::Html => "text/html; charset=utf-8",
            Content::Json => "application/json",
            Content::Metrics => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}
