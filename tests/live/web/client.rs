//! A server of a shared snapshot that a test fills, and a minimal HTTP client.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use acsm::live::SharedSnapshot;
use acsm::live::http::{Listening, Server, Token};

/// The longest wait for an answer: after that the test fails.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

/// A running server.
pub struct Site {
    pub address: SocketAddr,
    _server: Server,
}

impl Site {
    /// On a free port of loopback.
    pub fn on(shared: &SharedSnapshot, token: Option<&str>) -> Site {
        let token = token.map(|token| Token::new(token).unwrap());
        let listening = Listening::bind("127.0.0.1:0".parse().unwrap(), token).unwrap();
        let address = listening.address();
        Site { address, _server: listening.serve(shared.clone()).unwrap() }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn get(&self, path: &str) -> Answer {
        get(self.address, path)
    }

    pub fn connect(&self) -> TcpStream {
        connect(self.address)
    }
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let is_it = |line: &&str| line.to_ascii_lowercase().starts_with(&format!("{name}: "));
        self.head.lines().find(is_it).and_then(|line| Some(line.split_once(": ")?.1))
    }
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(WAIT_TIMEOUT)).unwrap();
    stream
}

/// Asks for `path` and reads to the end.
pub fn get(address: SocketAddr, path: &str) -> Answer {
    ask(address, &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"))
}

/// Sends `request` and reads to the end.
pub fn ask(address: SocketAddr, request: &str) -> Answer {
    let mut stream = connect(address);
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    parsed(&answer)
}

pub fn parsed(answer: &str) -> Answer {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Answer { status: status.expect("a status"), head: head.to_owned(), body: body.to_owned() }
}

/// Reads one answer of a connection that stays open.
pub fn read_one(stream: &mut TcpStream) -> Answer {
    let mut text = vec![];
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        text.push(byte[0]);
    }
    let mut answer = parsed(std::str::from_utf8(&text).unwrap());
    let length = answer.header("content-length").unwrap().parse().unwrap();
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    answer.body = String::from_utf8(body).unwrap();
    answer
}
