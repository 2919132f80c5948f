//! `--listen`: page, metrics and JSON of a live run over HTTP.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;

const LISTEN: &str = "Page and metrics";
const PORT: u16 = 9477;

/// Where to serve, and to whom.
#[derive(Debug, Args)]
pub struct ListenArgs {
    /// Serve a page (/), Prometheus metrics (/metrics), /healthz and /api/snapshot over HTTP at this
    /// address [without ADDR: 127.0.0.1:9477]
    #[arg(long, help_heading = LISTEN, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1:9477", value_parser = parse_address)]
    pub listen: Option<SocketAddr>,

    /// Serve only clients that send the token in this file; required beyond loopback
    #[arg(long, help_heading = LISTEN, value_name = "FILE", requires = "listen")]
    pub token_file: Option<PathBuf>,
}

/// An address with or without a port. `localhost` is the only name allowed: it needs no resolver.
fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let of_ip = |ip: &str| ip.parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, PORT));
    let of_localhost = |text: &str| {
        let port = match text.strip_prefix("localhost")? {
            "" => PORT,
            port => port.strip_prefix(':')?.parse().ok()?,
        };
        Some(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port))
    };
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let address = text.parse().ok().or_else(|| of_ip(bare)).or_else(|| of_localhost(text));
    address.ok_or_else(|| {
        format!("`{text}` is no address; write 127.0.0.1:{PORT}, [::1]:{PORT} or localhost:{PORT}")
    })
}

#[cfg(all(feature = "live", unix))]
pub use enabled::WebServer;

#[cfg(all(feature = "live", unix))]
mod enabled {
    use std::io::{ErrorKind, Read as _};
    use std::net::SocketAddr;
    use std::path::Path;

    use anyhow::{Context as _, anyhow};

    use super::ListenArgs;
    use crate::cmd::{Usage, stderr};
    use crate::live::SharedSnapshot;
    use crate::live::http::{Listening, Server, Token};

    /// Longer than any token: the rest of a file is not read.
    const TOKEN_FILE_BYTES_MAX: u64 = 4096;

    /// The requested server, bound and not yet started; or none.
    #[derive(Debug)]
    pub struct WebServer(Option<Listening>);

    impl WebServer {
        /// Binds the address.
        pub fn bind(args: &ListenArgs, quiet: bool) -> anyhow::Result<WebServer> {
            let Some(address) = args.listen else { return Ok(WebServer(None)) };
            let token =
                args.token_file.as_deref().map(|file| read_token(file, quiet)).transpose()?;
            if token.is_none() && !address.ip().to_canonical().is_loopback() {
                return Err(Usage::new(needs_token(address)).into());
            }
            let bound = Listening::bind(address, token).map_err(|error| {
                let advice = match error.kind() {
                    ErrorKind::AddrInUse => {
                        "; is another acsm running? --listen takes another port"
                    }
                    ErrorKind::AddrNotAvailable => "; it is not an address of this machine",
                    ErrorKind::PermissionDenied => "; a port from 1024 on needs no permission",
                    _ => "",
                };
                anyhow!(error).context(format!("cannot listen on {address}{advice}"))
            })?;
            if !quiet {
                stderr::message(format_args!("acsm: listening on http://{}/", bound.address()));
            }
            Ok(WebServer(Some(bound)))
        }

        /// Serves the views published in `shared`, in its own thread, until the server is dropped.
        pub fn serve(self, shared: &SharedSnapshot) -> anyhow::Result<Option<Server>> {
            let server = self.0.map(|bound| bound.serve(shared.clone())).transpose();
            server.context("cannot start the thread for --listen")
        }
    }

    fn needs_token(address: SocketAddr) -> anyhow::Error {
        anyhow!(
            "--listen {address}: others can reach this address, so it takes a token. Make one with \
             `(umask 077; openssl rand -hex 32 > FILE)` and say --token-file FILE; \
             or listen on 127.0.0.1"
        )
    }

    fn read_token(file: &Path, quiet: bool) -> anyhow::Result<Token> {
        let name = format!("--token-file {}", file.display());
        let mut text = String::new();
        std::fs::File::open(file)
            .and_then(|file| file.take(TOKEN_FILE_BYTES_MAX).read_to_string(&mut text))
            .with_context(|| name.clone())?;
        if !quiet && others_can_read(file) {
            stderr::message(format_args!("acsm: warning: {name}: others can read it; chmod 600"));
        }
        Token::new(&text).with_context(|| name).map_err(|error| Usage::new(error).into())
    }

    fn others_can_read(file: &Path) -> bool {
        use std::os::unix::fs::PermissionsExt as _;

        file.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o007 != 0)
    }
}

/// Without live capture there is nothing to serve: opening an interface reports what is missing.
#[cfg(not(all(feature = "live", unix)))]
#[derive(Debug)]
pub struct WebServer;

#[cfg(not(all(feature = "live", unix)))]
impl WebServer {
    /// Binds nothing.
    pub fn bind(_: &ListenArgs, _: bool) -> anyhow::Result<WebServer> {
        Ok(WebServer)
    }

    /// Serves nothing.
    pub fn serve(self, _: &crate::live::SharedSnapshot) -> anyhow::Result<WebServer> {
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_in_the_usual_ways() {
        for (text, address) in [
            ("127.0.0.1:9477", "127.0.0.1:9477"),
            ("127.0.0.1", "127.0.0.1:9477"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("[::1]:80", "[::1]:80"),
            ("::1", "[::1]:9477"),
            ("[::]", "[::]:9477"),
            ("localhost", "127.0.0.1:9477"),
            ("localhost:1", "127.0.0.1:1"),
        ] {
            assert_eq!(parse_address(text), Ok(address.parse().unwrap()), "{text}");
        }
        for wrong in
            ["", "9477", ":9477", "example.com:80", "localhost:", "localhost:x", "1.2.3.4:"]
        {
            assert!(parse_address(wrong).is_err(), "{wrong}");
        }
    }
}
