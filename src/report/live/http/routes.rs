//! Which request gets what.

use super::access::{Access, Denial};
use super::answer::{Answer, Content, Status};
use super::request::{Refusal, Request};
use super::site::{Site, Thing};

/// The answer to a request.
pub fn answer(request: &Request, access: &Access, site: &mut Site) -> Answer {
    if let Err(denial) = access.check(request) {
        return deny(denial);
    }
    match request.path.as_str() {
        "/" => Answer { status: Status::Ok, content: Content::Html, body: site.page.html.clone() },
        "/metrics" => thing(site, Thing::Metrics, Content::Metrics),
        "/api/snapshot" => thing(site, Thing::Snapshot, Content::Json),
        "/api/history" => thing(site, Thing::History, Content::Json),
        "/api/recent" => thing(site, Thing::Recent, Content::Json),
        "/healthz" => match site.trouble() {
            None => Answer::text(Status::Ok, "ok"),
            Some(trouble) => Answer::text(Status::Unavailable, trouble),
        },
        _ => Answer::text(
            Status::NotFound,
            "nothing here; there are /, /metrics, /healthz, /api/snapshot, /api/history, /api/recent",
        ),
    }
}

/// The answer to what is no request.
pub fn refuse(refusal: Refusal) -> Answer {
    let (status, line) = match refusal {
        Refusal::Malformed => (Status::BadRequest, "this is no HTTP request that acsm understands"),
        Refusal::TooLong => (Status::HeadTooLong, "the head of a request has at most 8 KiB"),
        Refusal::Body => (Status::BodyRefused, "requests have no body here"),
        Refusal::Method => (Status::MethodNotAllowed, "one can only look: GET and HEAD"),
    };
    Answer::text(status, line)
}

fn deny(denial: Denial) -> Answer {
    match denial {
        Denial::ForeignName => Answer::text(
            Status::Misdirected,
            "on loopback acsm answers to localhost and to the address it listens on, to no other name",
        ),
        Denial::NoToken => Answer::text(
            Status::Unauthorized,
            "a token is needed, that of --token-file: send `Authorization: Bearer TOKEN`, \
             or in a browser open this address with ?token=TOKEN",
        ),
    }
}

fn thing(site: &mut Site, thing: Thing, content: Content) -> Answer {
    match site.get(thing) {
        Some(body) => Answer { status: Status::Ok, content, body },
        None => Answer::text(Status::Unavailable, "no figures yet: they come once a second"),
    }
}
