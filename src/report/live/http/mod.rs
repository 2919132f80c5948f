//! What a browser and Prometheus get to see of a live run: a small HTTP server.
//!
//! ```text
//! Board → Site (answers, made once a view) ← routes ← access ← request ← connection ← Server (one thread)
//! ```
//!
//! # Properties
//!
//! - One thread, which waits for nobody: sockets do not block, and on Linux it is nice to the
//!   threads that capture. Answers are made once a view, whoever and however many ask.
//! - Limits on all that a peer can ask for: bytes of a request, time for it and for its answer,
//!   connections at once. At the limit a new connection takes the place of the one that is closest
//!   to its own end, so those who send a request at once are answered however many others wait.
//! - No request can change anything: `GET` and `HEAD` is all there is, and bodies are refused.
//! - A page of another site cannot read it, not even by DNS rebinding; beyond loopback there is
//!   always a token.
//!
//! # Implementation
//!
//! | file | what |
//! |---|---|
//! | `server` | listening, the loop, its end |
//! | `connection` | one peer: reading a request, writing its answer, in time |
//! | `request` | the head of a request |
//! | `access` | who may ask: names of this host, [`Token`] |
//! | `routes` | which path gives what |
//! | `site` | what there is to give: the page, metrics, JSON |
//! | `answer` | an answer and its head |
//! | `page/` | the page: HTML, style and scripts, put together by `page` |
//!
//! # Deliberately absent
//!
//! TLS (a reverse proxy has it), compression, pipelining, anything that writes.

mod access;
mod answer;
mod connection;
mod page;
mod request;
mod routes;
mod server;
mod site;

pub use access::{Token, TokenError};
pub use server::{Listening, Server};
