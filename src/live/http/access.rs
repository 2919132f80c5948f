//! Access control.
//!
//! On loopback every program of this machine has access. A web page in a browser of this machine must
//! not, even if its host name resolves to loopback (DNS rebinding): so on loopback the `Host` header must
//! name this machine. On other addresses, and wherever a token is configured, the token is required.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use sha2::{Digest as _, Sha256};

use super::request::Request;

/// A shorter token could be guessed.
const TOKEN_BYTES_MIN: usize = 16;
const TOKEN_BYTES_MAX: usize = 1024;

/// The secret that clients must send; kept as its SHA-256 digest.
#[derive(Clone)]
pub struct Token([u8; 32]);

/// Why a text is not a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Too short to be secure, or too long.
    #[error("a token has 16 to 1024 characters, this one {0}; `openssl rand -hex 32` makes one")]
    Length(usize),
    /// It contains characters that cannot be sent in a header.
    #[error("a token is one line of letters, digits and - . _ ~ + / =")]
    Characters,
}

impl Token {
    /// The token in a file: its only line.
    pub fn new(text: &str) -> Result<Token, TokenError> {
        let line = text.strip_suffix('\n').unwrap_or(text);
        let line = line.strip_suffix('\r').unwrap_or(line);
        if !line.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte)) {
            return Err(TokenError::Characters);
        }
        match line.len() {
            TOKEN_BYTES_MIN..=TOKEN_BYTES_MAX => Ok(Token(Sha256::digest(line).into())),
            length => Err(TokenError::Length(length)),
        }
    }

    /// Compares digests in full, so that the time taken says nothing about the token.
    fn matches(&self, sent: &str) -> bool {
        let sent: [u8; 32] = Sha256::digest(sent).into();
        let differences =
            self.0.iter().zip(sent).fold(0, |sum, (ours, theirs)| sum | (ours ^ theirs));
        std::hint::black_box(differences) == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Token(secret)")
    }
}

/// What a request must satisfy.
#[derive(Debug)]
pub struct Access {
    /// The address of the server, if that is loopback.
    loopback: Option<IpAddr>,
    token: Option<Token>,
}

/// Why a request is denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// The `Host` header does not name this machine.
    ForeignHost,
    /// The token is missing or wrong.
    NoToken,
}

impl Access {
    /// For a server at `address`.
    pub fn new(address: SocketAddr, token: Option<Token>) -> Access {
        let ip = address.ip().to_canonical();
        Access { loopback: ip.is_loopback().then_some(ip), token }
    }

    /// Whether `request` is allowed.
    pub fn check(&self, request: &Request) -> Result<(), Denial> {
        let host = request.host.as_deref();
        // Every browser sends the header.
        if host.is_some_and(|host| !self.is_own_host(host)) {
            return Err(Denial::ForeignHost);
        }
        let sent = request.token.as_deref().unwrap_or_default();
        match &self.token {
            Some(token) if !token.matches(sent) => Err(Denial::NoToken),
            _ => Ok(()),
        }
    }

    /// Whether `host` names this machine, with any port: it may be a forwarded one.
    fn is_own_host(&self, host: &str) -> bool {
        let Some(address) = self.loopback else { return true };
        let name = without_port(host);
        if name.eq_ignore_ascii_case("localhost") {
            return true;
        }
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        let Ok(ip) = bare.parse::<IpAddr>() else { return false };
        let own = ["127.0.0.1", "::1"].map(|own| own.parse::<IpAddr>());
        ip == address || own.contains(&Ok(ip))
    }
}

/// `[::1]:80` → `[::1]`, `localhost:80` → `localhost`.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            // The last part of an IPv6 address without brackets is not a port.
            if name.contains(':') && !name.ends_with(']') { host } else { name }
        }
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef";

    fn asks(host: Option<&str>, token: Option<&str>) -> Request {
        Request {
            path: "/".to_owned(),
            host: host.map(str::to_owned),
            token: token.map(str::to_owned),
            is_head: false,
            keep_alive: true,
        }
    }

    #[test]
    fn on_loopback_only_own_names_are_answered() {
        let access = Access::new("127.0.0.1:9477".parse().unwrap(), None);
        for own in [
            "localhost",
            "LOCALHOST:9477",
            "127.0.0.1",
            "127.0.0.1:80",
            "[::1]",
            "[::1]:9477",
            "::1",
        ] {
            assert_eq!(access.check(&asks(Some(own), None)), Ok(()), "{own}");
        }
        for foreign in ["evil.example", "localhost.evil.example:9477", "127.0.0.2", "", "[::2]:1"] {
            let answer = access.check(&asks(Some(foreign), None));
            assert_eq!(answer, Err(Denial::ForeignHost), "{foreign}");
        }
        assert_eq!(access.check(&asks(None, None)), Ok(()), "an old client");
        let other = Access::new("127.0.0.2:9477".parse().unwrap(), None);
        assert_eq!(other.check(&asks(Some("127.0.0.2:9477"), None)), Ok(()));
    }

    #[test]
    fn the_token_is_asked_for_wherever_there_is_one() {
        for address in ["127.0.0.1:1", "192.0.2.1:1", "[2001:db8::1]:1"] {
            let access = Access::new(address.parse().unwrap(), Token::new(SECRET).ok());
            let check = |token| access.check(&asks(Some("127.0.0.1"), token));
            assert_eq!(check(Some(SECRET)), Ok(()));
            for wrong in [None, Some(""), Some("0123456789abcdeF"), Some("0123456789abcdef0")] {
                assert_eq!(check(wrong), Err(Denial::NoToken), "{address} {wrong:?}");
            }
        }
        let public = Access::new("192.0.2.1:1".parse().unwrap(), Token::new(SECRET).ok());
        assert_eq!(public.check(&asks(Some("acsm.example"), Some(SECRET))), Ok(()));
    }

    #[test]
    fn tokens_are_long_and_plain() {
        for good in [SECRET, "0123456789abcdef\n", "0123456789abcdef\r\n", "a-b.c_d~e+f/g=h-i"] {
            assert!(Token::new(good).is_ok(), "{good:?}");
        }
        for (bad, why) in [
            ("short", TokenError::Length(5)),
            ("", TokenError::Length(0)),
            ("0123456789abcdef\n0123456789abcdef\n", TokenError::Characters),
            ("0123456789 abcdef", TokenError::Characters),
        ] {
            assert_eq!(Token::new(bad).err(), Some(why), "{bad:?}");
        }
        assert_eq!(format!("{:?}", Token::new(SECRET)), "Ok(Token(secret))");
    }
}
