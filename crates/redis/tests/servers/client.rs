//! A client of the protocol: what a test sends and gets, byte by byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A reply of RESP2 or RESP3.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Simple(String),
    Error(String),
    Integer(i64),
    Double(String),
    Bulk(Vec<u8>),
    Null,
    Array(Vec<Reply>),
    Map(Vec<(Reply, Reply)>),
}

impl Reply {
    pub fn integer(self) -> i64 {
        let Reply::Integer(number) = self else { panic!("not an integer: {self:?}") };
        number
    }

    pub fn bulk(self) -> Vec<u8> {
        let Reply::Bulk(bytes) = self else { panic!("not a string: {self:?}") };
        bytes
    }

    /// A string that is text.
    pub fn text(self) -> String {
        String::from_utf8(self.bulk()).unwrap()
    }

    pub fn array(self) -> Vec<Reply> {
        let Reply::Array(elements) = self else { panic!("not an array: {self:?}") };
        elements
    }

    pub fn error(self) -> String {
        let Reply::Error(error) = self else { panic!("not an error: {self:?}") };
        error
    }
}

/// A connection.
pub struct Client {
    input: BufReader<TcpStream>,
    output: TcpStream,
}

impl Client {
    /// Connects, if there is a server.
    pub fn connect(port: u16) -> Option<Client> {
        let output = TcpStream::connect(("127.0.0.1", port)).ok()?;
        output.set_nodelay(true).unwrap();
        output.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Some(Client { input: BufReader::new(output.try_clone().unwrap()), output })
    }

    /// The reply to a command.
    pub fn call(&mut self, command: &[impl AsRef<[u8]>]) -> Reply {
        self.output.write_all(&encoded(command)).unwrap();
        self.reply()
    }

    /// The reply to a command that is text, split at spaces.
    pub fn say(&mut self, command: &str) -> Reply {
        self.call(&command.split(' ').collect::<Vec<_>>())
    }

    /// The replies to encoded commands.
    pub fn pipeline(&mut self, commands: &[u8], count: usize) -> Vec<Reply> {
        self.output.write_all(commands).unwrap(); // the server reads on while its replies wait
        (0..count).map(|_| self.reply()).collect()
    }

    fn reply(&mut self) -> Reply {
        read(&mut self.input)
    }
}

/// A command as an array of strings.
pub fn encoded(command: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", command.len()).into_bytes();
    for word in command {
        let word = word.as_ref();
        bytes.extend(format!("${}\r\n", word.len()).bytes());
        bytes.extend(word);
        bytes.extend(b"\r\n");
    }
    bytes
}

fn read(input: &mut BufReader<TcpStream>) -> Reply {
    let mut line = vec![];
    input.read_until(b'\n', &mut line).unwrap();
    assert!(line.ends_with(b"\r\n"), "the connection ended: {:?}", line.escape_ascii());
    let text = String::from_utf8_lossy(&line[1..line.len() - 2]).into_owned();
    let count = || text.parse::<i64>().unwrap();
    match line[0] {
        b'+' => Reply::Simple(text),
        b'-' => Reply::Error(text),
        b':' => Reply::Integer(count()),
        b',' => Reply::Double(text),
        b'_' => Reply::Null,
        b'$' | b'*' if count() < 0 => Reply::Null,
        b'$' => {
            let mut bytes = vec![0; count() as usize + 2];
            input.read_exact(&mut bytes).unwrap();
            bytes.truncate(bytes.len() - 2);
            Reply::Bulk(bytes)
        }
        b'*' => Reply::Array((0..count()).map(|_| read(input)).collect()),
        b'%' => Reply::Map((0..count()).map(|_| (read(input), read(input))).collect()),
        other => panic!("a reply of type {:?}", other as char),
    }
}
