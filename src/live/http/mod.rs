//! A small HTTP server: the web page, JSON and Prometheus metrics of a live run.
//!
//! ```text
//! Server (one thread) → Connection → request → access → resources (from the SharedSnapshot) → response
//! ```
//!
//! # Properties
//!
//! - One thread with non-blocking sockets, on Linux at a lower priority than the capture. Each response
//!   body is built once per view, however many clients request it.
//! - Limits on everything a client can use: bytes of a request, time for a request and its response,
//!   number of connections. At the limit a new connection replaces the one closest to its deadline, so
//!   clients that send their request at once are served however many others are idle.
//! - No request changes anything: only `GET` and `HEAD` are allowed, and bodies are refused.
//! - Pages of other sites cannot read it, not even by DNS rebinding; beyond loopback a token is always
//!   required.
//!
//! # Implementation
//!
//! | file | subject |
//! |---|---|
//! | `server` | the listening socket, the event loop, shutdown |
//! | `connection` | one client: reading a request, writing its response, deadlines |
//! | `request` | parsing the head of a request |
//! | `access` | access control: the `Host` header, [`Token`] |
//! | `resources` | paths, and the bodies they serve |
//! | `response` | status, headers, body |
//! | `page/` | HTML, style sheet and scripts of the page |
//!
//! # Deliberately absent
//!
//! TLS (use a reverse proxy), compression, pipelining, anything that writes.

mod access;
mod connection;
mod request;
mod resources;
mod response;
mod server;

pub use access::{Token, TokenError};
pub use server::{Listening, Server};
