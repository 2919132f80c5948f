//! Who may ask.
//!
//! On loopback every program of this machine may, and so may every page that a browser of this machine
//! shows, if it finds a name that leads here (DNS rebinding): so there the name that was asked for must
//! be one of this machine's own. Elsewhere, and wherever there is a token, the token must be told.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use sha2::{Digest as _, Sha256};

use super::request::Request;

/// So long a token is not guessed.
const TOKEN_BYTES_MIN: usize = 16;
const TOKEN_BYTES_MAX: usize = 1024;

/// The secret that readers must tell.
#[derive(Clone)]
pub struct Token([u8; 32]);

/// Why a text is no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It could be guessed.
    #[error("a token has 16 to 1024 characters, this one {0}; `openssl rand -hex 32` makes one")]
    Length(usize),
    /// It could not be written in a header.
    #[error("a token is one line of letters, digits and - . _ ~ + / =")]
    Characters,
}

impl Token {
    /// The token that a file holds: its one line.
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

    /// Takes the same time for all that is told: digests are compared, to their last byte.
    fn is(&self, told: &str) -> bool {
        let told: [u8; 32] = Sha256::digest(told).into();
        let differences =
            self.0.iter().zip(told).fold(0, |sum, (ours, theirs)| sum | (ours ^ theirs));
        std::hint::black_box(differences) == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Token(secret)")
    }
}

/// What is asked of those who ask.
#[derive(Debug)]
pub struct Access {
    /// The address listened on, if that is loopback.
    loopback: Option<IpAddr>,
    token: Option<Token>,
}

/// Why somebody gets nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// The name asked for is not one of this machine's own.
    ForeignName,
    /// The token is missing or wrong.
    NoToken,
}

impl Access {
    /// For a server at `address`.
    pub fn new(address: SocketAddr, token: Option<Token>) -> Access {
        let ip = address.ip().to_canonical();
        Access { loopback: ip.is_loopback().then_some(ip), token }
    }

    /// Whether `request` may be answered.
    pub fn check(&self, request: &Request) -> Result<(), Denial> {
        let host = request.host.as_deref();
        // Without a name no browser asked.
        if host.is_some_and(|host| !self.is_own_name(host)) {
            return Err(Denial::ForeignName);
        }
        let told = request.token.as_deref().unwrap_or_default();
        match &self.token {
            Some(token) if !token.is(told) => Err(Denial::NoToken),
            _ => Ok(()),
        }
    }

    /// With any port: it may have been forwarded from another.
    fn is_own_name(&self, host: &str) -> bool {
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
            // The last part of a bare IPv6 address is no port.
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
            assert_eq!(answer, Err(Denial::ForeignName), "{foreign}");
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
