//! How servers are reached: addresses, user and password, TLS.

use std::time::Duration;

use redis::{
    Client, Connection, ConnectionAddr, ErrorKind, IntoConnectionInfo as _, RedisConnectionInfo,
    RedisError, TlsCertificates,
};
use thiserror::Error;

use super::topology::Address;

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// What a client needs to reach the servers of a cluster.
#[derive(Clone, Default)]
pub struct Access {
    /// Some of the servers; the others are found by asking one of them.
    pub seeds: Vec<Address>,
    /// The name of an ACL user; the default user if there is none.
    pub user: Option<String>,
    /// The password of that user.
    pub password: Option<String>,
    /// Whether connections are encrypted.
    pub has_tls: bool,
    /// A certificate in PEM format that servers' certificates are checked with, in place of the system's.
    pub root_certificate: Option<Vec<u8>>,
}

/// Text that is not the URL of a cluster.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum UrlError {
    /// Not of this form.
    #[error("`{0}` is not a cluster; write redis://HOST:PORT, or several as HOST:PORT,HOST:PORT")]
    Malformed(String),
    /// A password on the command line can be read by everybody on the machine.
    #[error("a URL with a password")]
    Password,
}

impl Access {
    /// The servers of `[redis[s]|valkey[s]://][user@]host[:port][,host[:port]…]`.
    pub fn from_url(url: &str) -> Result<Access, UrlError> {
        // Whatever else is wrong: no message shows what may be a password.
        let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
        if authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':')) {
            return Err(UrlError::Password);
        }
        let shown = url.rsplit_once('@').map_or(url, |(_, rest)| rest);
        let malformed = || UrlError::Malformed(shown.to_owned());
        let (has_tls, rest) = match url.split_once("://") {
            Some(("redis" | "valkey", rest)) => (false, rest),
            Some(("rediss" | "valkeys", rest)) => (true, rest),
            Some(_) => return Err(malformed()),
            None => (false, url),
        };
        let (user, hosts) = match rest.rsplit_once('@') {
            Some((user, hosts)) => (Some(user.to_owned()), hosts),
            None => (None, rest),
        };
        let hosts = hosts.trim_end_matches('/');
        let seeds: Option<Vec<Address>> = hosts.split(',').map(Address::parse).collect();
        match seeds {
            Some(seeds) => Ok(Access { seeds, user, has_tls, ..Access::default() }),
            None => Err(malformed()),
        }
    }

    /// A new connection, whose replies take no longer than `reply_timeout`.
    pub(super) fn open(
        &self,
        address: &Address,
        reply_timeout: Duration,
    ) -> Result<Connection, RedisError> {
        let Address { host, port } = address.clone();
        let place = match self.has_tls {
            true => ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None },
            false => ConnectionAddr::Tcp(host, port),
        };
        let mut settings = RedisConnectionInfo::default().set_skip_set_lib_name();
        if let Some(user) = &self.user {
            settings = settings.set_username(user);
        }
        if let Some(password) = &self.password {
            settings = settings.set_password(password);
        }
        let info = place.into_connection_info()?.set_redis_settings(settings);
        let root_cert = self.root_certificate.clone();
        let client = match root_cert.is_some() {
            true => Client::build_with_tls(info, TlsCertificates { client_tls: None, root_cert })?,
            false => Client::open(info)?,
        };
        let connection = client.get_connection_with_timeout(CONNECT_TIMEOUT)?;
        connection.set_read_timeout(Some(reply_timeout))?;
        connection.set_write_timeout(Some(reply_timeout))?;
        Ok(connection)
    }
}

/// Whether a connection failed since the client is not accepted, so that trying again is of no use.
pub(super) fn is_refusal(error: &RedisError) -> bool {
    error.kind() == ErrorKind::AuthenticationFailed
        || matches!(error.code(), Some("NOAUTH" | "WRONGPASS" | "NOPERM"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_clusters() {
        let access = Access::from_url("rediss://reader@[::1]:7001,10.0.0.2,h:7003/").unwrap();
        let seeds: Vec<String> = access.seeds.iter().map(Address::to_string).collect();
        assert_eq!(seeds, ["[::1]:7001", "10.0.0.2:6379", "h:7003"]);
        assert!(access.has_tls && access.user.as_deref() == Some("reader"));
        assert!(!Access::from_url("127.0.0.1:7001").unwrap().has_tls);
        for url in [
            "redis://a:b@h:1",
            "http://a:b@h",
            "a:b@h",
            "redis://a:b@c@h",
            "redis://a@b:c@h",
            "x://:b@h",
        ] {
            assert_eq!(Access::from_url(url).err(), Some(UrlError::Password), "{url}");
        }
        for url in ["", "http://h", "redis://", "h:1,,h:2", "h:99999"] {
            let error = Access::from_url(url).err();
            assert_eq!(error, Some(UrlError::Malformed(url.to_owned())), "{url}");
        }
        for url in ["redis://secret@h:x", "http://secret@h:x", "a@secret@h:x"] {
            let error = Access::from_url(url).err();
            assert_eq!(error, Some(UrlError::Malformed("h:x".to_owned())), "{url}");
        }
    }
}
