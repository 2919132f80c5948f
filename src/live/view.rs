//! The state of a live run at one moment: what `/api/snapshot` serves and every display reads.
//!
//! [`View::new`] translates the engine's snapshot into names. Field names and their order are the JSON
//! contract (`docs/json.md`).

use std::net::IpAddr;

use serde::{Serialize, Serializer};

use super::alerts::SeenAlert;
use super::theory::{PredictedError, is_overload};
use crate::capture::live::InterfaceCounts;
use crate::engine::top_talkers::Talker;
use crate::engine::{Incident, Snapshot};
use crate::machine::{Rule, RuleSet, Rules};
use crate::report::alert::IncidentFacts;
use crate::report::replay::{CurrentError, MeasuredReport, OverloadReport, PendingReport};
use acsm_filters::{Backend, Sizing, StoreSpec};

/// Length of the lists of busiest addresses.
const TOP_ADDRESSES: usize = 10;

/// A live run at one moment. Counts are totals since the start.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct View {
    /// The latest time, from a packet or from the clock of an idle capture.
    pub time: String,
    /// Wall-clock seconds since the start.
    pub uptime_seconds: f64,
    /// Frames of any kind.
    pub packets: u64,
    /// Frames with a usable TCP header.
    pub tcp_packets: u64,
    /// Bytes on the wire, of all frames.
    pub bytes: u64,
    /// Frames without a usable TCP header, by reason.
    pub skipped: Counts,
    /// Received and dropped frames of each interface.
    pub interfaces: Vec<InterfaceCounts>,
    /// Dropped frames of all interfaces.
    pub drops: DropCounts,
    /// Lookups in the store, by answer.
    pub lookups: LookupCounts,
    /// Flows that entered a state, by state name.
    pub entered: Counts,
    /// Every rule in force.
    pub rules: Vec<RuleView>,
    /// Alerts shown, by rule.
    pub alerts: Counts,
    /// Alerts of rules that are counted and not shown, by rule.
    pub only_counted: Counts,
    /// Alerts suppressed, by reason.
    pub left_out: Counts,
    /// Incidents: how many, and the latest.
    pub incidents: IncidentsView,
    /// The store.
    pub store: StoreView,
    /// The pending table, if there is one.
    pub pending: Option<PendingReport>,
    /// The error of the store, measured on a sample of flows.
    pub error: CurrentError,
    /// Times in which new flows were too many.
    pub overload: OverloadView,
    /// Whether nearly all flows, or all handshakes of late, show one direction only.
    pub one_way: bool,
    /// Whether "no session" rules are muted at the moment.
    pub no_session_muted: bool,
    /// Median and 99th percentile of a worker's time per batch, in seconds.
    pub batch_seconds: [f64; 2],
    /// Batches processed.
    pub batches: u64,
    /// Total time of all batches.
    pub batches_total_seconds: f64,
    /// The busiest sources; estimates.
    pub top_sources: Vec<TalkerView>,
    /// The busiest destinations; estimates.
    pub top_destinations: Vec<TalkerView>,
    /// The latest alerts, oldest first; at most 256.
    pub latest_alerts: Vec<SeenAlert>,
}

/// Counts by name, in a fixed order. Serialises as a JSON object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts(Vec<(String, u64)>);

impl Counts {
    /// The count of `name`; 0 if there is none.
    pub fn get(&self, name: &str) -> u64 {
        self.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| count)
    }

    /// The sum of all counts.
    pub fn total(&self) -> u64 {
        self.iter().map(|(_, count)| count).sum()
    }

    /// Names and counts, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }

    /// Adds to the count of `name`, which comes last if it is new.
    fn add(&mut self, name: &str, count: u64) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += count,
            None => self.0.push((name.to_owned(), count)),
        }
    }
}

impl<N: Into<String>> FromIterator<(N, u64)> for Counts {
    fn from_iter<I: IntoIterator<Item = (N, u64)>>(pairs: I) -> Counts {
        Counts(pairs.into_iter().map(|(name, count)| (name.into(), count)).collect())
    }
}

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

/// Dropped frames, by where they were dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct DropCounts {
    /// The kernel, its buffer being full.
    pub kernel: u64,
    /// The interface or its driver.
    pub interface: u64,
}

impl DropCounts {
    /// Names and counts, in the order of the JSON document.
    pub fn by_reason(self) -> [(&'static str, u64); 2] {
        [("kernel", self.kernel), ("interface", self.interface)]
    }

    /// The sum.
    pub fn total(self) -> u64 {
        self.kernel + self.interface
    }
}

/// Lookups in the store, by answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LookupCounts {
    /// The flow's state was found.
    pub known: u64,
    /// The flow was not found.
    pub absent: u64,
    /// The flow was found, its state could not be determined.
    pub dont_know: u64,
}

impl LookupCounts {
    /// Names and counts, in the order of the JSON document.
    pub fn by_answer(self) -> [(&'static str, u64); 3] {
        [("known", self.known), ("absent", self.absent), ("dont_know", self.dont_know)]
    }

    /// The sum.
    pub fn total(self) -> u64 {
        self.known + self.absent + self.dont_know
    }
}

/// Incidents so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct IncidentsView {
    /// How many are open.
    pub open: u64,
    /// How many there were, those that are open among them.
    pub total: u64,
    /// Those that are open, the gravest first, then the latest of the others; at most 50.
    pub latest: Vec<IncidentView>,
}

/// An incident in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IncidentView {
    /// Its name in EVE lines.
    pub id: String,
    /// Whether it goes on.
    pub is_open: bool,
    /// The rest, named as in EVE lines.
    #[serde(flatten)]
    pub facts: IncidentFacts,
}

impl IncidentsView {
    fn new(snapshot: &Snapshot) -> IncidentsView {
        let view = |incident: &Incident| IncidentView {
            id: incident.id.to_string(),
            is_open: !incident.is_over,
            facts: IncidentFacts::new(incident, |time| time.to_string()),
        };
        IncidentsView {
            open: snapshot.incidents_open,
            total: snapshot.incidents_total,
            latest: snapshot.incidents.iter().map(view).collect(),
        }
    }
}

/// Times in which new flows were too many for the pending table or the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OverloadView {
    /// How many there were, and for how long.
    #[serde(flatten)]
    pub totals: OverloadReport,
    /// When the present one began, if there is one.
    pub since: Option<String>,
}

/// A rule in force.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RuleView {
    /// Its name.
    pub name: String,
    /// 1 (most severe) to 4.
    pub severity: u8,
    /// Whether its alerts are shown; otherwise they are only counted.
    pub is_shown: bool,
}

/// The store at one moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoreView {
    /// Which structure; its name in JSON.
    #[serde(serialize_with = "backend_name")]
    pub backend: Backend,
    /// Allocated memory in bits.
    pub bits: u64,
    /// The fraction of its cells in use.
    pub fill_ratio: f64,
    /// Live flows.
    pub live_flows: u64,
    /// Whether `live_flows` is an estimate.
    pub live_estimated: bool,
    /// The number of live flows it was sized for.
    pub flows: u64,
    /// The fraction of answers that theory expects to be wrong at this load.
    pub predicted_error: PredictedError,
    /// Flows inserted.
    pub inserted: u64,
    /// Flows deleted.
    pub deleted: u64,
    /// Flows evicted to make room for others.
    pub evicted: u64,
    /// Insertions refused for lack of room.
    pub full: u64,
    /// Flows that the pending table did not let in, because it had as many as it was planned for.
    pub refused: u64,
}

impl StoreView {
    /// The number of live flows it is limited to; `None` for `exact`, which grows.
    pub fn planned_flows(&self) -> Option<u64> {
        (self.backend != Backend::Exact).then_some(self.flows)
    }

    /// Whether it holds clearly more flows than it was sized for.
    pub fn is_overloaded(&self) -> bool {
        self.planned_flows().is_some_and(|planned| is_overload(self.live_flows as f64, planned))
    }
}

fn backend_name<S: Serializer>(backend: &Backend, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(backend.name())
}

/// A busy address.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TalkerView {
    /// The address.
    pub address: IpAddr,
    /// An estimate of its TCP packets.
    pub packets: u64,
    /// An estimate of their bytes on the wire.
    pub bytes: u64,
    /// The maximum by which `packets` may be too high.
    pub at_most_over: u64,
}

/// What a view needs besides the engine's snapshot.
#[derive(Debug, Clone)]
pub struct ViewContext<'a> {
    /// The rules in force.
    pub rules: &'a Rules,
    /// The rules whose alerts are shown.
    pub shown: RuleSet,
    /// The store as specified.
    pub spec: &'a StoreSpec,
    /// Its dimensions.
    pub sizing: &'a Sizing,
    /// Received and dropped frames.
    pub interfaces: Vec<InterfaceCounts>,
    /// The latest alerts.
    pub latest_alerts: Vec<SeenAlert>,
    /// Seconds since the start.
    pub uptime_seconds: f64,
}

impl View {
    /// `snapshot`, with names for its numbers.
    pub fn new(snapshot: &Snapshot, context: ViewContext<'_>) -> View {
        let ViewContext { rules, interfaces, .. } = &context;
        let shards = &snapshot.shards;
        let sum = |of: fn(&InterfaceCounts) -> u64| -> u64 { interfaces.iter().map(of).sum() };
        let by_rule = |counts: &[u64]| -> Counts {
            let pairs = rules.list.iter().zip(counts.iter().copied());
            pairs.filter(|(_, n)| *n > 0).map(|(rule, n)| (rule.name.as_str(), n)).collect()
        };
        let top = snapshot.top.as_ref();
        let quantile = |share| snapshot.batch_nanos.quantile(share) as f64 / 1e9;
        View {
            time: snapshot.time.to_string(),
            uptime_seconds: context.uptime_seconds,
            packets: snapshot.frames.packets,
            tcp_packets: snapshot.frames.tcp_packets,
            bytes: sum(|counts| counts.bytes),
            skipped: snapshot.frames.skipped.iter().map(|(skip, n)| (skip.name(), n)).collect(),
            drops: DropCounts {
                kernel: sum(|counts| counts.kernel_drops),
                interface: sum(|counts| counts.interface_drops),
            },
            lookups: lookups(snapshot),
            entered: entered(rules, &shards.entered),
            rules: rules.list.iter().map(|rule| RuleView::new(rule, context.shown)).collect(),
            alerts: by_rule(&snapshot.shown),
            only_counted: by_rule(&shards.only_counted),
            left_out: snapshot.suppressed.by_reason().into_iter().collect(),
            incidents: IncidentsView::new(snapshot),
            store: StoreView::new(snapshot, context.spec, context.sizing),
            pending: snapshot
                .pending
                .map(|stats| PendingReport::new(stats, snapshot.pending_lifetime_seconds)),
            error: CurrentError { measured: snapshot.measured.map(MeasuredReport::from) },
            overload: OverloadView {
                totals: snapshot.overloads.into(),
                since: snapshot.overloads.since.map(|time| time.to_string()),
            },
            one_way: snapshot.one_way,
            no_session_muted: snapshot.no_session_muted,
            batch_seconds: [quantile(0.5), quantile(0.99)],
            batches: snapshot.batch_nanos.count(),
            batches_total_seconds: snapshot.batch_nanos.total() as f64 / 1e9,
            top_sources: top.map_or_else(Vec::new, |top| talkers(top.sources(TOP_ADDRESSES))),
            top_destinations: top
                .map_or_else(Vec::new, |top| talkers(top.destinations(TOP_ADDRESSES))),
            latest_alerts: context.latest_alerts,
            interfaces: context.interfaces,
        }
    }
}

impl StoreView {
    fn new(snapshot: &Snapshot, spec: &StoreSpec, sizing: &Sizing) -> StoreView {
        let (stats, lookups) = (&snapshot.store, lookups(snapshot));
        StoreView {
            backend: spec.backend,
            bits: sizing.bits,
            fill_ratio: stats.fill_ratio(),
            live_flows: stats.live.round() as u64,
            live_estimated: stats.live_estimated,
            flows: spec.flows,
            predicted_error: PredictedError::at_load(stats.live, lookups.absent, lookups.total()),
            inserted: stats.inserted,
            deleted: stats.deleted,
            evicted: stats.evicted,
            full: stats.full,
            refused: snapshot.shards.refused,
        }
    }
}

impl RuleView {
    fn new(rule: &Rule, shown: RuleSet) -> RuleView {
        let (name, severity) = (rule.name.clone(), rule.severity);
        RuleView { name, severity, is_shown: shown.contains(rule.id) }
    }
}

fn lookups(snapshot: &Snapshot) -> LookupCounts {
    let counts = snapshot.shards.lookups;
    LookupCounts { known: counts.known, absent: counts.absent, dont_know: counts.dont_know }
}

/// States that differ only in how their flow ends share a name: their counts are added.
fn entered(rules: &Rules, counts: &[u64]) -> Counts {
    let mut named = Counts::default();
    for (state, count) in rules.machine.states().iter().zip(counts) {
        named.add(&state.name, *count);
    }
    named
}

fn talkers(talkers: Vec<Talker>) -> Vec<TalkerView> {
    let view = |talker: Talker| TalkerView {
        address: talker.address,
        packets: talker.packets,
        bytes: talker.bytes,
        at_most_over: talker.at_most_over,
    };
    talkers.into_iter().map(view).collect()
}
