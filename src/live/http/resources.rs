//! What is served under which path. Bodies are built on the first request after a new view and shared
//! by all later ones.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::access::{Access, Denial};
use super::request::{Refusal, Request};
use super::response::{ContentType, Response, Status};
use crate::live::{Sample, SharedSnapshot, SnapshotReader, View, metrics};

/// Views arrive once per second: after this time without one the capture counts as stalled.
const STALLED_AFTER: Duration = Duration::from_secs(5);
/// Samples in `/api/recent`, which the page requests every second: it may miss all but one.
const RECENT_SAMPLES: usize = 10;
/// Alerts in `/api/recent`; if more are new, the page requests the whole snapshot.
const RECENT_ALERTS: usize = 16;

/// A document that changes with every view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resource {
    /// For Prometheus.
    Metrics,
    /// The view.
    Snapshot,
    /// The samples of the last ten minutes.
    History,
    /// The view and the samples of the last seconds, for a page that has the rest.
    Recent,
}

/// Bodies for the latest view, each built when it is first requested.
pub struct ResponseCache {
    page: Page,
    reader: SnapshotReader,
    view: Option<Arc<View>>,
    /// When the view arrived, or the server started.
    since: Instant,
    now: Instant,
    bodies: [Option<Arc<[u8]>>; 4],
}

impl ResponseCache {
    /// Serves the views published in `shared`.
    pub fn new(shared: &SharedSnapshot, now: Instant) -> ResponseCache {
        ResponseCache {
            page: Page::new(),
            reader: shared.reader(),
            view: None,
            since: now,
            now,
            bodies: Default::default(),
        }
    }

    /// Takes the latest view. To be called often: the age of a view is measured by it.
    pub fn refresh(&mut self, now: Instant) {
        self.now = now;
        let latest = self.reader.latest();
        if latest.as_ref().map(Arc::as_ptr) != self.view.as_ref().map(Arc::as_ptr) {
            (self.view, self.since, self.bodies) = (latest, now, Default::default());
        }
    }

    /// The content security policy for all responses.
    pub fn policy(&self) -> &str {
        &self.page.policy
    }

    /// The response to a request.
    pub fn respond(&mut self, request: &Request, access: &Access) -> Response {
        if let Err(denial) = access.check(request) {
            return deny(denial);
        }
        match request.path.as_str() {
            "/" => Response::ok(ContentType::Html, self.page.html.clone()),
            "/metrics" => self.serve(Resource::Metrics, ContentType::Metrics),
            "/api/snapshot" => self.serve(Resource::Snapshot, ContentType::Json),
            "/api/history" => self.serve(Resource::History, ContentType::Json),
            "/api/recent" => self.serve(Resource::Recent, ContentType::Json),
            "/healthz" => match self.problem() {
                None => Response::text(Status::Ok, "ok"),
                Some(problem) => Response::text(Status::Unavailable, problem),
            },
            _ => Response::text(
                Status::NotFound,
                "nothing here; there are /, /metrics, /healthz, /api/snapshot, /api/history, /api/recent",
            ),
        }
    }

    fn serve(&mut self, resource: Resource, content: ContentType) -> Response {
        let Some(view) = &self.view else {
            return Response::text(Status::Unavailable, NO_VIEW_YET);
        };
        let body = match &self.bodies[resource as usize] {
            Some(body) => body.clone(),
            None => build(resource, view, &mut self.reader).into(),
        };
        self.bodies[resource as usize] = Some(body.clone());
        Response::ok(content, body)
    }

    /// What is wrong with the run, if anything.
    fn problem(&self) -> Option<String> {
        let Some(view) = &self.view else { return Some(NO_VIEW_YET.to_owned()) };
        let age = self.now.saturating_duration_since(self.since);
        if age > STALLED_AFTER {
            return Some(format!(
                "no new figures for {} s: the capture stands still",
                age.as_secs()
            ));
        }
        let down: Vec<&str> = view
            .interfaces
            .iter()
            .filter(|counts| !counts.is_open)
            .map(|counts| counts.interface.as_str())
            .collect();
        (!down.is_empty()).then(|| format!("gone, and waited for: {}", down.join(", ")))
    }
}

const NO_VIEW_YET: &str = "no figures yet: they come once a second";

/// The response to bytes that are not an acceptable request.
pub fn refuse(refusal: Refusal) -> Response {
    let (status, line) = match refusal {
        Refusal::Malformed => (Status::BadRequest, "this is no HTTP request that acsm understands"),
        Refusal::TooLong => (Status::HeadTooLong, "the head of a request has at most 8 KiB"),
        Refusal::Body => (Status::BodyRefused, "requests have no body here"),
        Refusal::Method => (Status::MethodNotAllowed, "one can only look: GET and HEAD"),
    };
    Response::text(status, line)
}

fn deny(denial: Denial) -> Response {
    match denial {
        Denial::ForeignHost => Response::text(
            Status::Misdirected,
            "on loopback acsm answers to localhost and to the address it listens on, to no other name",
        ),
        Denial::NoToken => Response::text(
            Status::Unauthorized,
            "a token is needed, that of --token-file: send `Authorization: Bearer TOKEN`, \
             or in a browser open this address with ?token=TOKEN",
        ),
    }
}

#[derive(Debug, Serialize)]
struct HistoryDocument<'a> {
    /// Names for `entered_per_second`.
    states: Vec<&'a str>,
    samples: Vec<&'a Sample>,
}

#[derive(Debug, Serialize)]
struct RecentDocument<'a> {
    /// With the last few of its alerts only.
    view: &'a View,
    samples: Vec<&'a Sample>,
}

fn build(resource: Resource, view: &View, reader: &mut SnapshotReader) -> Vec<u8> {
    match resource {
        Resource::Metrics => metrics(view).into_bytes(),
        Resource::Snapshot => json(view),
        Resource::History => {
            let history = reader.history();
            let states = view.entered.iter().map(|(state, _)| state).collect();
            json(&HistoryDocument { states, samples: history.samples().collect() })
        }
        Resource::Recent => {
            let history = reader.history();
            let mut view = view.clone();
            let old = view.latest_alerts.len().saturating_sub(RECENT_ALERTS);
            view.latest_alerts.drain(..old);
            let old = history.samples().len().saturating_sub(RECENT_SAMPLES);
            json(&RecentDocument { view: &view, samples: history.samples().skip(old).collect() })
        }
    }
}

/// Plain data: this cannot fail.
fn json(data: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(data).unwrap_or_default()
}

const HTML: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
/// Concatenated in this order: a later part may use an earlier one.
const SCRIPTS: [&str; 6] = [
    include_str!("page/format.js"),
    include_str!("page/plot.js"),
    include_str!("page/plots.js"),
    include_str!("page/alerts.js"),
    include_str!("page/tables.js"),
    include_str!("page/main.js"),
];

/// The page as it is sent: one document with style sheet and scripts inline.
#[derive(Debug)]
struct Page {
    html: Arc<[u8]>,
    /// Allows this style sheet, this script, requests to this server, and nothing else.
    policy: String,
}

impl Page {
    fn new() -> Page {
        let script = SCRIPTS.concat();
        let html = HTML.replace("PAGE_STYLE", STYLE).replace("PAGE_SCRIPT", &script);
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; \
             connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            base64(&Sha256::digest(STYLE)),
            base64(&Sha256::digest(script)),
        );
        Page { html: html.into_bytes().into(), policy }
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - three.len()));
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= three.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        let encoded = texts.map(|text| base64(text.as_bytes()));
        assert_eq!(encoded, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }

    #[test]
    fn the_page_is_self_contained() {
        let page = Page::new();
        let html = std::str::from_utf8(&page.html).unwrap();
        assert!(!html.contains("PAGE_STYLE") && !html.contains("PAGE_SCRIPT"));
        assert!(html.contains(&format!("<style>{STYLE}</style>")));
        assert!(html.contains(&format!("<script type=\"module\">{}</script>", SCRIPTS.concat())));
        assert_eq!(html.matches("</script").count(), 1, "no script ends early");
        for address in ["http://", "https://", "src=", "@import", "url("] {
            let found = html.replace("http://www.w3.org/2000/svg", "").contains(address);
            assert!(!found, "{address} would be a request to another server");
        }
        for unsafe_way in
            ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("]
        {
            assert!(!html.contains(unsafe_way), "{unsafe_way} would interpret text as markup");
        }
    }
}
